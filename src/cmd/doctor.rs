//! `pycgate doctor`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::cmd::Run;

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct Doctor {}

impl Run for Doctor {
    fn run(&self, _global: &Global) -> Result<ExitCode> {
        anyhow::bail!("doctor: not built yet")
    }
}
