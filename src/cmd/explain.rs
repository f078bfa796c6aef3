//! `pycgate explain`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// A source or an entry
    #[arg(value_name = "PATH")]
    pub path: std::path::PathBuf,
}

impl Run for Explain {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("explain: not built yet")
    }
}
