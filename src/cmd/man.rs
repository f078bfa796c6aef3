//! `pycgate man`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct Man {}

impl Run for Man {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("man: not built yet")
    }
}
