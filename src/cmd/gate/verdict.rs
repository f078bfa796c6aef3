//! The verdict: what the gate says of a sweep.

use serde::Serialize;

use super::reasons;
use super::told::{Ending, Told};

/// The gate's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The sweep passed, and what it ran is what the sources say.
    Pass,
    /// The sweep failed.
    Block,
    /// Determinism is not certain, or the gate itself failed.
    Inconclusive,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Block => "BLOCK",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// The verdict over a sweep that ran, by its status (128+n for a signal).
pub fn of_status(status: u8) -> Verdict {
    match status {
        0 => Verdict::Pass,
        _ => Verdict::Block,
    }
}

/// The status and verdict over a run of pytest, and why where it is INCONCLUSIVE. `answer` is what pytest
/// itself has said of it: see [`crate::python::pytest`].
pub fn of_pytest(status: u8, answer: Option<&[u8]>) -> (u8, Verdict, Vec<String>) {
    let told = match answer {
        // Reached, and no session began: with this status the arguments were wrong.
        Some([]) => Some(Told::ending(status, (status == 4).then_some(Ending::Usage))),
        Some(answer) => Told::parse(answer)
            .ok()
            .map(|told| told.with_status(status)),
        None => None,
    };
    match (told, status) {
        (Some(told), _) => {
            let (verdict, reasons) = told.verdict("pytest");
            (told.status(), verdict, reasons)
        }
        (None, 2..=5) => (
            status,
            Verdict::Inconclusive,
            vec![reasons::not_asked(status)],
        ),
        (None, _) => (status, of_status(status), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_has_the_last_word_on_its_status() {
        let words = |answer: Option<&[u8]>| {
            let verdict = |status| of_pytest(status, answer).1.word();
            (0..=6).map(verdict).collect::<Vec<_>>()
        };
        let by_status = |inconclusive: &[usize]| {
            let word = |status| match status {
                _ if inconclusive.contains(&status) => "INCONCLUSIVE",
                0 => "PASS",
                _ => "BLOCK",
            };
            (0..=6).map(word).collect::<Vec<_>>()
        };
        assert_eq!(words(None), by_status(&[2, 3, 4, 5]));
        assert_eq!(words(Some(b"junk")), by_status(&[2, 3, 4, 5]));
        assert_eq!(words(Some(b"")), by_status(&[4]));
        let plain = br#"{"status": 0, "outcome": null}"#;
        assert_eq!(words(Some(plain)), by_status(&[]));
        let key = br#"{"status": 2, "outcome": "interrupted"}"#;
        assert_eq!(words(Some(key)), by_status(&[0, 1, 2, 3, 4, 5, 6]));
        // Not everything that was to run has run.
        let import = br#"{"status": 0, "outcome": "collection-error"}"#;
        assert_eq!(of_pytest(0, Some(import)), (1, Verdict::Block, vec![]));
        assert_eq!(of_pytest(4, Some(import)), (4, Verdict::Block, vec![]));
    }
}
