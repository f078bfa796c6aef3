//! The sweep of a runner that is not the gate's child: `gate --wait`.

use std::io;
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::outcome::Outcome;
use super::sweep::Sweep;
use super::told::Told;
use super::verdict::Verdict;
use crate::exit::Exit;
use crate::fsys::process::leave_keys_to_others;
use crate::report::json::Report;
use crate::report::style::output;

/// Says that the sweep may begin, and waits for the runner's word, or for the end of standard
/// input.
///
/// # Errors
/// If standard output cannot be written to.
pub fn sweep(ready: &Report) -> Result<Outcome> {
    // A key at the terminal reaches the runner as well, and its end is what ends the waiting.
    leave_keys_to_others().context("cannot handle signals")?;
    output(&ready.line())?;
    let started = Instant::now();
    let told = Told::read(io::stdin().lock());
    let took = started.elapsed();
    Ok(match told {
        Ok(Some(told)) => {
            let (verdict, reasons) = told.verdict("the runner");
            let status = told.status();
            Outcome {
                verdict,
                exit: match verdict {
                    Verdict::Inconclusive => Exit::INCONCLUSIVE,
                    _ => Exit::of_sweep(status),
                },
                reasons,
                notes: Vec::new(),
                sweep: Some(Sweep {
                    argv: told.argv,
                    status,
                    took,
                }),
            }
        }
        Ok(None) => {
            unknown("the runner ended without telling the exit status of its sweep".to_owned())
        }
        Err(error) => unknown(format!("the runner's word is not understood: {error:#}")),
    })
}

fn unknown(reason: String) -> Outcome {
    Outcome {
        verdict: Verdict::Inconclusive,
        exit: Exit::INCONCLUSIVE,
        reasons: vec![reason],
        notes: Vec::new(),
        sweep: None,
    }
}
