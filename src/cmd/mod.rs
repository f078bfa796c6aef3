//! One file a command, thin: ask, judge, act, report.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

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

/// Prints a command's result to stdout, unless only errors are wanted. A reader that has gone
/// away (`| head`) is no error.
///
/// # Errors
/// Stdout cannot be written, because the disk is full, for instance.
fn print(global: &Global, text: &str) -> Result<()> {
    if global.quiet {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
