//! Asks interpreters whether an entry holds the code that its source compiles to.
//!
//! The source is compiled in memory and never executed. One process a tag answers for all entries
//! of that tag; one that hangs or dies leaves the rest of its entries unanswered.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// What an interpreter runs.
const SCRIPT: &str = include_str!("compare.py");

/// How long an interpreter may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

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
    let mut given = Vec::new();
    for python in pythons {
        // The interpreter is started in another directory.
        let path = if python.components().count() > 1 {
            &std::path::absolute(python)?
        } else {
            python
        };
        let tag = tag_of(path).with_context(|| {
            format!("--python {}: it does not work as a Python interpreter; name the interpreter's own file", python.display())
        })?;
        given.push((tag, path.clone()));
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
            .or_else(|| on_path(tag));
        let Some(python) = python else {
            for number in numbers {
                answers[number] = Answer::Unknown(format!(
                    "there is no interpreter for {tag}; name one with --python"
                ));
            }
            continue;
        };
        let asked: Vec<&Question> = numbers.iter().map(|&number| &questions[number]).collect();
        let got =
            ask(&python, &asked).with_context(|| format!("cannot ask {}", python.display()))?;
        for (number, answer) in numbers.into_iter().zip(got) {
            answers[number] = answer;
        }
    }
    Ok(answers)
}

/// An interpreter that looks at nothing of the user's: no environment, no site, no bytecode written.
fn command(python: &Path, script: &str, directory: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-E", "-s", "-S", "-B", "-c", script])
        .current_dir(directory)
        .stderr(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PYTHON") {
            command.env_remove(name);
        }
    }
    command
}

fn tag_of(python: &Path) -> Result<String> {
    let script = "import sys; print(getattr(getattr(sys, 'implementation', None), 'cache_tag', None) or 'cpython-%d%d' % sys.version_info[:2])";
    let nowhere = tempfile::tempdir()?;
    let mut child = command(python, script, nowhere.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = lines_of(&mut child)?;
    let tag = lines
        .recv_timeout(PATIENCE)
        .ok()
        .map(|line| line.trim().to_owned());
    end(&mut child);
    match tag {
        Some(tag) if !tag.is_empty() => Ok(tag),
        _ => bail!("it gave no cache tag"),
    }
}

/// The interpreter on `PATH` with this tag.
fn on_path(tag: &str) -> Option<PathBuf> {
    let digits = tag.trim_start_matches(|c: char| !c.is_ascii_digit());
    let version = digits
        .get(..1)
        .zip(digits.get(1..))
        .map(|(major, minor)| format!("{major}.{minor}"));
    let names = [
        version.as_ref().map(|version| format!("python{version}")),
        version.as_ref().map(|version| format!("pypy{version}")),
        Some("python3".to_owned()),
        Some("pypy3".to_owned()),
        Some("python2".to_owned()),
    ];
    names
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .find(|name| tag_of(name).is_ok_and(|known| known == tag))
}

fn ask(python: &Path, questions: &[&Question]) -> Result<Vec<Answer>> {
    let nowhere = tempfile::tempdir()?;
    let mut child = command(python, SCRIPT, nowhere.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = lines_of(&mut child)?;
    let mut stdin = child
        .stdin
        .take()
        .context("the interpreter has no standard input")?;
    let mut answers = Vec::new();
    for question in questions {
        let hex = |path: &Path| {
            path.as_os_str()
                .as_encoded_bytes()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let line = format!(
            "{} {} {}\n",
            hex(&question.source),
            hex(&question.entry),
            question.level
        );
        if stdin
            .write_all(line.as_bytes())
            .and_then(|()| stdin.flush())
            .is_err()
        {
            break;
        }
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => answers.push(parse(&line)),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                answers.push(Answer::Unknown(format!(
                    "its interpreter took longer than {} s",
                    PATIENCE.as_secs()
                )));
                break;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    drop(stdin);
    end(&mut child);
    answers.resize(
        questions.len(),
        Answer::Unknown("its interpreter ended before the answer".into()),
    );
    Ok(answers)
}

/// The lines a child prints, read in a thread of their own so that waiting for one can end.
fn lines_of(child: &mut Child) -> Result<mpsc::Receiver<String>> {
    let stdout = child
        .stdout
        .take()
        .context("the interpreter has no standard output")?;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { break };
            if send.send(line).is_err() {
                break;
            }
        }
    });
    Ok(receive)
}

/// Ends a child that has nothing left to say.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn parse(line: &str) -> Answer {
    let (word, hex) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let bytes: Option<Vec<u8>> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    let message = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
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
