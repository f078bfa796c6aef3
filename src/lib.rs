//! Keeps Python from running bytecode that no longer says what the source on disk says.
//!
//! The rooms, each with one concern; a room uses only the rooms below it:
//!
//! - [`cmd`]: one file a command: ask, judge, act, report
//! - [`hooks`]: git's hook files: where they are, putting ours in and taking them out
//! - [`report`]: text, JSON, timeline, progress
//! - [`prove`]: asks interpreters whether an entry holds what its source compiles to
//! - [`scan`]: walks the work tree and the prefix trees, pairs sources with entries, has them judged
//! - [`purge`]: the only code that removes anything
//! - [`worktree`]: what git says: root, references, index, change sets, payload
//! - [`bytecode`]: what interpreters do: names, headers, hashes, verdicts; no I/O
//! - [`fsys`]: stats and directory handles of the platform
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod bytecode;
pub mod cli;
pub mod cmd;
pub mod config;
pub mod fsys;
pub mod hooks;
pub mod prove;
pub mod purge;
pub mod report;
pub mod scan;
pub mod worktree;
