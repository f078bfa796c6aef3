//! One file a command, thin: ask, judge, act, report.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::Global;

pub mod check;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod gate;
pub mod hook;
pub mod install;
pub mod man;
pub mod purge;
pub mod uninstall;

/// A command that can be run.
pub trait Run {
    /// Runs the command and tells the status to exit with.
    ///
    /// # Errors
    /// Whatever keeps the command from doing its work; `main` prints it to stderr and exits with
    /// the command's own status for errors (gate 125, hook 0, everything else 2).
    fn run(&self, global: &Global) -> Result<ExitCode>;
}
