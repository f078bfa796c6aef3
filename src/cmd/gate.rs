//! `pycgate gate`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `gate`.
#[derive(Args, Debug)]
pub struct Gate {
    /// The sweep: a command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

impl Run for Gate {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("gate: not built yet")
    }
}
