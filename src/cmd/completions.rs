//! `pycgate completions`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct Completions {}

impl Run for Completions {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("completions: not built yet")
    }
}
