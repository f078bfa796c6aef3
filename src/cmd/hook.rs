//! `pycgate hook`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `hook`.
#[derive(Args, Debug)]
pub struct Hook {
    /// The event and what git passes with it
    #[arg(value_name = "EVENT", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub event: Vec<std::ffi::OsString>,
}

impl Run for Hook {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("hook: not built yet")
    }
}
