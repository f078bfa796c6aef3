//! `pycgate install`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `install`.
#[derive(Args, Debug)]
pub struct Install {}

impl Run for Install {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("install: not built yet")
    }
}
