//! What interpreters do: the names of cache entries, their headers, source hashes and the verdict.
//!
//! Pure: bytes and stats in, states out. No I/O and no git.
#![forbid(unsafe_code)]

use serde::Serialize;

/// The state of a cache entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Accepted by the interpreter and compiled from what is on disk.
    Settled,
    /// The interpreter will not load it: other mtime, size, hash or magic.
    Rejected,
    /// Its source is gone.
    Orphan,
    /// Accepted, and nothing proves it was compiled from what is on disk.
    Racy,
    /// Accepted, and proved to differ.
    Stale,
}
