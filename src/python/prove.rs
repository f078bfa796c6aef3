//! Asks interpreters whether an entry holds the code that its source compiles to.
//!
//! The source is compiled in memory and never executed. One process a tag answers for all entries
//! of that tag; one that hangs or dies leaves the rest of its entries unanswered.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;

use anyhow::{Context, Result};
use data_encoding::HEXLOWER;

use super::interpreters::{Interpreter, Process, of_tag};

/// What an interpreter runs.
const SCRIPT: &str = include_str!("compare.py");

/// An entry to be proved right or wrong.
#[derive(Clone, Debug)]
pub struct Question {
    /// The source, absolute.
    pub source: PathBuf,
    /// The entry, absolute.
    pub entry: PathBuf,
    /// Cache tag, or `cpython-27` for an entry of Python 2 beside its source.
    pub tag: String,
    /// Optimisation level: 0, or the number of `.opt-N`.
    pub level: u8,
}

/// What an interpreter says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The source compiles to the entry's code.
    Same,
    /// It compiles to other code, or not at all; what differs first.
    Differs(String),
    /// Nobody can say, and why.
    Unknown(String),
}

/// Has every question answered, in order. `pythons` are tried before what is on `PATH`.
///
/// # Errors
/// If an interpreter of `pythons` does not work.
pub fn prove(questions: &[Question], pythons: &[PathBuf]) -> Result<Vec<Answer>> {
    // Outside the work tree: nothing of it decides which interpreter a shim starts.
    let nowhere = tempfile::tempdir()?;
    let nowhere = nowhere.path();
    let mut given = Vec::new();
    for python in pythons {
        // The interpreter is started in another directory.
        let path = if python.components().count() > 1 {
            &std::path::absolute(python)?
        } else {
            python
        };
        let known = Interpreter::ask(path, nowhere).with_context(|| {
            format!("--python {}: it does not work as a Python interpreter; name the interpreter's own file", python.display())
        })?;
        given.push((known.tag, path.clone()));
    }
    let mut answers =
        vec![Answer::Unknown("its interpreter gave no answer".into()); questions.len()];
    let mut tags: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, question) in questions.iter().enumerate() {
        tags.entry(&question.tag).or_default().push(number);
    }
    for (tag, numbers) in tags {
        let python = given
            .iter()
            .find(|(known, _)| known == tag)
            .map(|(_, path)| path.clone())
            .or_else(|| of_tag(tag, nowhere));
        let Some(python) = python else {
            for number in numbers {
                answers[number] = Answer::Unknown(format!(
                    "there is no interpreter for {tag}; name one with --python"
                ));
            }
            continue;
        };
        let asked: Vec<&Question> = numbers.iter().map(|&number| &questions[number]).collect();
        let got = ask(&python, nowhere, &asked)
            .with_context(|| format!("cannot ask {}", python.display()))?;
        for (number, answer) in numbers.into_iter().zip(got) {
            answers[number] = answer;
        }
    }
    Ok(answers)
}

fn ask(python: &Path, directory: &Path, questions: &[&Question]) -> Result<Vec<Answer>> {
    let mut process = Process::start(python, SCRIPT, directory)?;
    let hex = |path: &Path| HEXLOWER.encode(path.as_os_str().as_encoded_bytes());
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        let (source, entry) = (hex(&question.source), hex(&question.entry));
        match process.ask(&format!("{source} {entry} {}", question.level)) {
            Ok(line) => answers.push(parse(&line)),
            Err(error) => {
                answers.push(Answer::Unknown(Process::failure(error)));
                break;
            }
        }
    }
    let left = Answer::Unknown(Process::failure(RecvTimeoutError::Disconnected));
    answers.resize(questions.len(), left);
    Ok(answers)
}

fn parse(line: &str) -> Answer {
    let (word, hex) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let bytes = HEXLOWER.decode(hex.as_bytes()).unwrap_or_default();
    let message = String::from_utf8_lossy(&bytes).into_owned();
    match word {
        "same" => Answer::Same,
        "differs" => Answer::Differs(message),
        _ => Answer::Unknown(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_apart() {
        assert_eq!(parse("same "), Answer::Same);
        assert_eq!(
            parse("differs 6c696e652033"),
            Answer::Differs("line 3".into())
        );
        assert_eq!(parse("unknown zz"), Answer::Unknown(String::new()));
        assert_eq!(parse("é"), Answer::Unknown(String::new()));
    }
}
