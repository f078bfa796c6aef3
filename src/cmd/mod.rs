//! One file a command, thin: ask, judge, act, report.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::Global;
use crate::report::style::{output, plain};

pub mod check;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod gate;
pub mod hook;
pub mod install;
pub mod man;
pub mod prove;
pub mod purge;
mod reasons;
mod session;
mod sweep;
pub mod uninstall;
mod verdict;

/// A command that can be run.
pub trait Run {
    /// Runs the command and tells the status to exit with.
    ///
    /// # Errors
    /// Whatever keeps the command from doing its work; `main` prints it to stderr and exits with
    /// the command's own status for errors (gate 125, hook 0, everything else 2).
    fn run(&self, global: &Global) -> Result<ExitCode>;
}

/// Prints a command's result, in plain text, unless only errors are wanted.
///
/// # Errors
/// Stdout cannot be written, because the disk is full, for instance.
fn print(global: &Global, text: &str) -> Result<()> {
    if global.quiet {
        return Ok(());
    }
    output(&plain(text))
}
