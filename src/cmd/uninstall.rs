//! `pycgate uninstall`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `uninstall`.
#[derive(Args, Debug)]
pub struct Uninstall {}

impl Run for Uninstall {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("uninstall: not built yet")
    }
}
