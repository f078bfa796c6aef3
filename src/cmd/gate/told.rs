//! What a runner tells of its sweep: one JSON object, from a runner beside `gate --wait` or from the
//! plugin `src/python/pytest_outcome.py`. docs/runners.md describes it.

use std::io::BufRead;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::verdict::Verdict;

/// More than any runner has to tell, in bytes.
const LONGEST: u64 = 1 << 20;

/// What a runner knows when its sweep has ended.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The sweep's exit status; -n where signal n ended it.
    status: i64,
    /// How it ended, where that was no plain pass or failure.
    #[serde(default)]
    outcome: Option<Ending>,
    /// The sweep's words, for the report.
    #[serde(default)]
    pub argv: Vec<String>,
    /// What else makes the runner doubt that the sweep ran what is on disk, one line each.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// An end that an exit status does not tell, or not for certain.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Stopped by a key, a signal or a call, before everything had run.
    Interrupted,
    /// Called with wrong arguments.
    Usage,
    /// The runner itself failed.
    InternalError,
    /// Nothing was there to run.
    NoTests,
    /// A test module, or what configures the tests, could not be imported.
    CollectionError,
}

impl Ending {
    /// What the runner did, where that says nothing of the code.
    fn says_nothing(self) -> Option<&'static str> {
        match self {
            Self::Interrupted => Some("was interrupted"),
            Self::Usage => Some("was called with wrong arguments"),
            Self::InternalError => Some("failed itself"),
            Self::NoTests => Some("ran no tests"),
            Self::CollectionError => None,
        }
    }
}

impl Told {
    /// Reads the line of a runner; `None` where its output ends without one.
    ///
    /// # Errors
    /// If it cannot be read, or is not of the form.
    pub fn read(from: impl BufRead) -> Result<Option<Self>> {
        let mut from = from.take(LONGEST);
        let mut line = Vec::new();
        while line.trim_ascii().is_empty() {
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
        }
        Self::parse(&line).map(Some)
    }

    /// Parses one object.
    ///
    /// # Errors
    /// If it is not of the form.
    pub fn parse(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text).with_context(|| {
            format!(
                "{:?} is not what a runner tells (see docs/runners.md)",
                String::from_utf8_lossy(text).trim()
            )
        })
    }

    /// The same of a sweep whose exit status the gate itself has seen.
    pub fn with_status(self, status: u8) -> Self {
        Self {
            status: status.into(),
            ..self
        }
    }

    /// That nothing but an ending is told.
    pub fn ending(status: u8, outcome: Option<Ending>) -> Self {
        Self {
            status: status.into(),
            outcome,
            argv: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// The exit status as a shell has it: 128+n where signal n ended the sweep.
    pub fn status(&self) -> u8 {
        let code = match self.status {
            signal @ ..0 => signal.saturating_neg().saturating_add(128),
            code => code,
        };
        let code = u8::try_from(code).unwrap_or(u8::MAX);
        match (code, self.outcome) {
            // Not everything that was to run has run.
            (0, Some(Ending::CollectionError)) => 1,
            (code, _) => code,
        }
    }

    /// The verdict over the sweep of `runner` by itself, and why where it is INCONCLUSIVE.
    pub fn verdict(&self, runner: &str) -> (Verdict, Vec<String>) {
        let mut reasons = self.reasons.clone();
        if let Some(what) = self.outcome.and_then(Ending::says_nothing) {
            let status = self.status();
            reasons.push(format!(
                "{runner} {what} (exit status {status}): that says nothing of the code"
            ));
        }
        let verdict = match self.status() {
            _ if !reasons.is_empty() => Verdict::Inconclusive,
            0 => Verdict::Pass,
            _ => Verdict::Block,
        };
        (verdict, reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> (u8, &'static str, usize) {
        let told = Told::read(text.as_bytes())
            .expect(text)
            .expect("there is a line");
        let (verdict, reasons) = told.verdict("the runner");
        (told.status(), verdict.word(), reasons.len())
    }

    #[test]
    fn what_is_told_has_its_verdict() {
        for (text, expected) in [
            (r#"{"status": 0}"#, (0, "PASS", 0)),
            ("\n {\"status\": 0, \"outcome\": null}\n{", (0, "PASS", 0)),
            (r#"{"status": 3}"#, (3, "BLOCK", 0)),
            (r#"{"status": -15}"#, (143, "BLOCK", 0)),
            (r#"{"status": 256}"#, (255, "BLOCK", 0)),
            (r#"{"status": -9223372036854775808}"#, (255, "BLOCK", 0)),
            (
                r#"{"status": 0, "outcome": "internal-error"}"#,
                (0, "INCONCLUSIVE", 1),
            ),
            (
                r#"{"status": 2, "outcome": "interrupted", "reasons": ["so"]}"#,
                (2, "INCONCLUSIVE", 2),
            ),
            (
                r#"{"status": 0, "outcome": "collection-error"}"#,
                (1, "BLOCK", 0),
            ),
            (
                r#"{"status": 0, "reasons": ["so"]}"#,
                (0, "INCONCLUSIVE", 1),
            ),
        ] {
            assert_eq!(verdict(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for text in [
            "{}",
            "0",
            r#"{"status": "0"}"#,
            r#"{"status": 0, "outcome": "pasd"}"#,
            r#"{"status": 0, "outcom": "usage"}"#,
            "\u{fffd}\n",
        ] {
            assert!(Told::read(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(Told::read(&b"\n \n"[..]).expect("an end"), None);
    }
}
