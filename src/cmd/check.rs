//! `pycgate check`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Sources, entries or directories; without any, the whole work tree
    #[arg(value_name = "PATH")]
    pub paths: Vec<std::path::PathBuf>,
}

impl Run for Check {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("check: not built yet")
    }
}
