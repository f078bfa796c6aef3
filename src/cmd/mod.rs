//! One file a command, thin: ask, judge, act, report.
#![forbid(unsafe_code)]

use anyhow::Result;

use crate::options::Global;
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
mod session;
pub mod uninstall;

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
