//! What interpreters do: the names of cache entries, their headers, source hashes and the verdict.
//!
//! Pure: bytes and stats in, states out. No I/O and no git.
#![forbid(unsafe_code)]

use serde::Serialize;

mod dialect;
mod hash;
mod header;
mod judge;
mod name;
mod reason;

pub use dialect::{Dialect, Layout, Loader, Sip};
pub use hash::source_hash;
pub use header::{Header, Mismatch, Validation, float_seconds};
pub use judge::{
    EntryFacts, Evidence, SourceFacts, Timeline, Verdict, judge, outdates_until, settled_by_times,
    timeline,
};
pub use name::{EntryName, Kind, Listing, parse_beside, parse_in_pycache};
pub use reason::{Reason, Span};

/// The state of a cache entry. Ordered: where an entry has several sources the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its source is gone.
    Orphan,
    /// The interpreter will not load it: other mtime, size or hash, or no bytecode.
    Rejected,
    /// Accepted by the interpreter and compiled from what is on disk.
    Settled,
    /// Accepted, and nothing proves it was compiled from what is on disk.
    Racy,
    /// Accepted, and proved to differ.
    Stale,
}

impl State {
    /// Whether the entry is right, or not loaded at all.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::Settled | Self::Rejected)
    }

    /// The word for it, in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Orphan => "orphan",
            Self::Rejected => "rejected",
            Self::Settled => "settled",
            Self::Racy => "racy",
            Self::Stale => "stale",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}
