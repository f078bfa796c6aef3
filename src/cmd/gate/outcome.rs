//! What becomes of the command: started or not, its status, and the verdict by itself.

use std::ffi::OsString;
use std::io;

use anyhow::{Context, Result};

use super::reasons;
use super::sweep::{self, Sweep};
use super::verdict::{self, Verdict};
use crate::config::Isolation;
use crate::exit::Exit;

/// What the gate ends with.
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// How the gate ends.
    pub exit: Exit,
    /// Why the verdict is INCONCLUSIVE, one line each.
    pub reasons: Vec<String>,
    /// The sweep; `None` if it was not started.
    pub sweep: Option<Sweep>,
}

impl Outcome {
    /// Runs the command. What it says of the code is one half of the verdict; whether the sources
    /// stayed the same meanwhile is the other, and the caller's.
    ///
    /// # Errors
    /// If there is no place for a fresh prefix.
    pub fn of_running(command: &[OsString], isolation: Isolation) -> Result<Self> {
        let prefix = match isolation {
            Isolation::Purge => None,
            Isolation::Fresh => Some(
                tempfile::Builder::new()
                    .prefix("pycgate-")
                    .tempdir()
                    .context(
                        "cannot make a directory for a fresh bytecode prefix: is TMPDIR writable?",
                    )?,
            ),
        };
        let sweep = match sweep::run(command, prefix.as_ref().map(tempfile::TempDir::path)) {
            Ok(sweep) => sweep,
            Err(error) => {
                let exit = if error.kind() == io::ErrorKind::NotFound {
                    Exit::NOT_FOUND
                } else {
                    Exit::NOT_EXECUTABLE
                };
                return Ok(Self {
                    verdict: Verdict::Inconclusive,
                    exit,
                    reasons: vec![reasons::not_started(&command[0], &error)],
                    sweep: None,
                });
            }
        };
        let verdict = verdict::of_sweep(sweep.status, command);
        let mut reasons = Vec::new();
        if verdict == Verdict::Inconclusive {
            reasons.push(reasons::of_pytest(sweep.status));
        }
        Ok(Self {
            verdict,
            exit: Exit::of_sweep(sweep.status),
            reasons,
            sweep: Some(sweep),
        })
    }
}
