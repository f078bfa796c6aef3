//! What becomes of the command: started or not, its status, and the verdict by itself.

use std::ffi::OsString;
use std::io;

use anyhow::{Context, Result};

use super::reasons;
use super::sweep::{self, Sweep};
use super::verdict::{self, Verdict};
use crate::config::Isolation;
use crate::exit::Exit;
use crate::python::command_line::CommandLine;
use crate::python::pytest::Question;

/// What the gate ends with.
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// How the gate ends.
    pub exit: Exit,
    /// Why the verdict is INCONCLUSIVE, one line each.
    pub reasons: Vec<String>,
    /// What is worth knowing and decides nothing, one line each.
    pub notes: Vec<String>,
    /// The sweep; `None` if it was not started.
    pub sweep: Option<Sweep>,
}

impl Outcome {
    /// Runs the command. What it says of the code is one half of the verdict; whether the sources
    /// stayed the same meanwhile is the other, and the caller's.
    ///
    /// # Errors
    /// If there is no place for a fresh prefix.
    pub fn of_running(argv: &[OsString], isolation: Isolation) -> Result<Self> {
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
        let mut environment: Vec<(&str, OsString)> = Vec::new();
        if let Some(prefix) = &prefix {
            environment.push(("PYTHONPYCACHEPREFIX", prefix.path().into()));
        }
        let line = CommandLine::of(argv);
        // Where there is no room for the question the sweep runs all the same.
        let question = line.is_pytest.then(Question::new).and_then(Result::ok);
        let mut words = argv.to_vec();
        if let Some(question) = &question {
            environment.push(question.variable());
            match line.python_path.map(|at| &mut words[at]) {
                Some(word) => question.add_to(word),
                None => environment.push(question.python_path()),
            }
        }
        let sweep = match sweep::run(&words, &environment) {
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
                    reasons: vec![reasons::not_started(&argv[0], &error)],
                    notes: Vec::new(),
                    sweep: None,
                });
            }
        };
        let (status, verdict, reasons) = if line.is_pytest {
            let answer = question.and_then(|question| question.answer());
            verdict::of_pytest(sweep.status, answer.as_deref())
        } else {
            (sweep.status, verdict::of_status(sweep.status), Vec::new())
        };
        Ok(Self {
            verdict,
            exit: match verdict {
                Verdict::Inconclusive => Exit::INCONCLUSIVE,
                _ => Exit::of_sweep(status),
            },
            reasons,
            notes: Vec::new(),
            sweep: Some(Sweep {
                argv: argv
                    .iter()
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect(),
                ..sweep
            }),
        })
    }
}
