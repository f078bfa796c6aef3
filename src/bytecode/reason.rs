//! Why an entry is judged as it is, in one sentence.

use std::fmt;

use super::header::Mismatch;

/// A length of time in nanoseconds, printed for people: `0.21 s`, `3 min`, `2 days`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub i128);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 as f64 / 1e9;
        match seconds.abs() {
            s if s < 0.0995 => write!(f, "{:.1} ms", seconds * 1e3),
            s if s < 10.0 => write!(f, "{seconds:.2} s"),
            s if s < 120.0 => write!(f, "{seconds:.0} s"),
            s if s < 7_200.0 => write!(f, "{:.0} min", seconds / 60.0),
            s if s < 172_800.0 => write!(f, "{:.0} h", seconds / 3_600.0),
            _ => write!(f, "{:.0} days", seconds / 86_400.0),
        }
    }
}

/// Why an entry is judged as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Written longer after its source was last touched than compiling takes.
    WrittenLater {
        /// Time from touching the source to writing the entry, in ns.
        after: i128,
    },
    /// Written after its source was touched, but so soon that it may hold what was there before.
    WithinMargin {
        /// Time from touching the source to writing the entry, in ns.
        after: i128,
        /// How long compiling can have taken, in ns.
        margin: i128,
    },
    /// Written before its source was last touched, and accepted all the same.
    TouchedLater {
        /// Time from writing the entry to touching the source, in ns.
        after: i128,
    },
    /// The interpreter will not load it.
    Mismatch(Mismatch),
    /// The hash in the entry is that of the source.
    HashEqual,
    /// An unchecked hash that is not that of the source: accepted all the same.
    HashDiffers,
    /// Compiled for another path, which the test runner does not correct on load.
    OtherPath,
    /// The file cannot be read.
    Unreadable {
        /// `entry` or `source`.
        what: &'static str,
        /// What the operating system says.
        error: String,
    },
    /// Its source is gone.
    SourceGone,
    /// Beside the place of a source that is not there: Python imports it as it is.
    Sourceless,
    /// Beside a symlink that leads to no source: Python imports it instead.
    Dangling,
    /// The code of a package, beside no source, that hides a module of the same name.
    Shadows {
        /// The module's name.
        source: String,
    },
    /// The interpreter itself was asked, and its code is the same.
    ProvedSame,
    /// The interpreter itself was asked, and its code differs.
    ProvedDifferent {
        /// What differs first.
        what: String,
    },
    /// Another source of the work tree may have changed after what this machine code holds of it.
    OtherSourceNewer,
    /// Left as it was, with a reason of its own.
    Unproved {
        /// Why the interpreter could not be asked.
        why: String,
        /// The reason without it.
        otherwise: Box<Reason>,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrittenLater { after } => {
                write!(
                    f,
                    "written {} after its source was last touched",
                    Span(*after)
                )
            }
            Self::WithinMargin { after, margin } => write!(
                f,
                "written {} after its source was touched, within the margin of {}",
                Span(*after),
                Span(*margin)
            ),
            Self::TouchedLater { after } => write!(
                f,
                "its source was touched {} after it was written, and its header still matches",
                Span(*after)
            ),
            Self::Mismatch(mismatch) => f.write_str(match mismatch {
                Mismatch::Garbage => "it is no bytecode: the interpreter compiles anew",
                Mismatch::Magic => "its magic number is Python 3's, which reads nothing beside a source that exists",
                Mismatch::Flags => "its flags are not known to the interpreter",
                Mismatch::Mtime => "its recorded mtime is not its source's",
                Mismatch::Size => "its recorded size is not its source's",
                Mismatch::Hash => "its recorded hash is not its source's",
            }),
            Self::HashEqual => f.write_str("its recorded hash is that of its source"),
            Self::HashDiffers => f.write_str(
                "its hash is not that of its source, and the interpreter does not check it",
            ),
            Self::OtherPath => {
                f.write_str("it was compiled for another path than its source has now")
            }
            Self::Unreadable { what, error } => write!(f, "the {what} cannot be read: {error}"),
            Self::SourceGone => f.write_str("its source is gone"),
            Self::Sourceless => f.write_str("importable without a source"),
            Self::Dangling => {
                f.write_str("imported in the place of its source, a symlink that leads nowhere")
            }
            Self::Shadows { source } => write!(f, "imported in the place of ../{source}"),
            Self::ProvedSame => f.write_str("the interpreter compiles its source to the same code"),
            Self::ProvedDifferent { what } => {
                write!(
                    f,
                    "the interpreter compiles its source to other code: {what}"
                )
            }
            Self::OtherSourceNewer => {
                f.write_str("it may hold code of another module as it was before")
            }
            Self::Unproved { why, otherwise } => write!(f, "{otherwise}; not proved: {why}"),
        }
    }
}
