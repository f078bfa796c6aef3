//! `pycgate purge`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `purge`.
#[derive(Args, Debug)]
pub struct Purge {
    /// Sources or directories
    #[arg(value_name = "PATH")]
    pub paths: Vec<std::path::PathBuf>,
}

impl Run for Purge {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("purge: not built yet")
    }
}
