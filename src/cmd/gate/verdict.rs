//! The verdict: what the gate says of a sweep.

use std::ffi::OsString;

use serde::Serialize;

use crate::python::command_line::is_pytest;

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
pub fn of_sweep(status: u8, argv: &[OsString]) -> Verdict {
    match status {
        0 => Verdict::Pass,
        // Interrupted, internal error, usage error, no tests: none of them says that the code is bad.
        2..=5 if is_pytest(argv) => Verdict::Inconclusive,
        _ => Verdict::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_their_verdicts() {
        let pytest = ["pytest".into()];
        let words: Vec<_> = (0..=6)
            .map(|status| of_sweep(status, &pytest).word())
            .collect();
        assert_eq!(
            words,
            [
                "PASS",
                "BLOCK",
                "INCONCLUSIVE",
                "INCONCLUSIVE",
                "INCONCLUSIVE",
                "INCONCLUSIVE",
                "BLOCK"
            ]
        );
        assert_eq!(of_sweep(137, &pytest), Verdict::Block);
        assert_eq!(of_sweep(5, &["tox".into()]), Verdict::Block);
    }
}
