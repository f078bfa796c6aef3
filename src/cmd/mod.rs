//! One file a command, thin: ask, judge, act, report.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::Global;
use crate::fsys::relative;
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

/// Leaves of a scan only what belongs to the paths a user names: sources, entries, or directories
/// with all below.
///
/// # Errors
/// If a path lies outside the work tree, or does not exist.
fn narrow(
    session: &session::Session,
    scan: &mut crate::scan::Scan,
    paths: &[std::path::PathBuf],
) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut wanted = Vec::new();
    for path in paths {
        let relative = session.relative(path)?;
        let known = scan
            .entries
            .iter()
            .any(|entry| entry.source.as_ref() == Some(&relative));
        if !known && session.directory.join(path).symlink_metadata().is_err() {
            anyhow::bail!("{}: there is no such file or directory", path.display());
        }
        wanted.push(relative);
    }
    keep_below(scan, &wanted);
    Ok(())
}

/// Leaves of a scan only what lies below some paths, or has its source there.
fn keep_below(scan: &mut crate::scan::Scan, paths: &[bstr::BString]) {
    let is_below = |path: &[u8]| paths.iter().any(|top| relative::is_below(path, top));
    scan.entries.retain(|entry| {
        entry.source.as_ref().is_some_and(|source| is_below(source))
            || entry.tree == 0 && is_below(&entry.path)
    });
    scan.ghosts.retain(|ghost| is_below(ghost));
}
