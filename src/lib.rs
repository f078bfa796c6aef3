//! Keeps Python from running bytecode that no longer says what the source on disk says.
//!
//! CPython takes a cached entry when the second of its source's mtime and the source's size are as
//! recorded, so that a rewrite of the same size within one second leaves the old bytecode valid. The
//! rule that finds such entries is git's for its index (racy-git), applied to bytecode: an entry
//! that its interpreter accepts is *settled* if it was written later than its source was last
//! touched (by ctime, which nothing sets back) by more than compiling can have taken, and *racy*
//! otherwise.
//!
//! ```
//! use pycgate::bytecode::{EntryFacts, SourceFacts, parse_in_pycache, settled_by_times};
//! use pycgate::fsys::{Stat, Time};
//!
//! let at = |sec| Time { sec, nsec: 1 };
//! let stat = |sec| Stat { size: 900, mtime: at(sec), ctime: at(sec), ..Stat::default() };
//! let source = SourceFacts { stat: stat(1_700_000_000), way_touched: None };
//! let entry = |sec| EntryFacts { lstat: stat(sec), stat: None };
//!
//! let name = parse_in_pycache(b"models.cpython-313.pyc").expect("a cache entry");
//! assert!(name.belongs_to(b"models.py"));
//! // One second is within the margin of a compile, three are not.
//! assert!(!settled_by_times(&name, &entry(1_700_000_001), &source));
//! assert!(settled_by_times(&name, &entry(1_700_000_003), &source));
//! ```
//!
//! The rooms, each with one concern; a room uses only the rooms below it:
//!
//! - [`cli`], [`options`], [`config`], [`exclude`], [`exit`]: what the user says and how it ends
//! - [`cmd`]: one file a command: ask, judge, act, report
//! - [`report`]: text, JSON, timeline, progress
//! - [`hooks`]: git's events, what each changes, and the hook files
//! - [`python`]: interpreters: asked whether an entry holds what its source compiles to
//! - [`purge`]: the only code that removes anything
//! - [`scan`]: walks the work tree and the prefix trees, pairs sources with entries, has them judged
//! - [`payload`]: the sources that differ from the base
//! - [`git`]: what git says: root, references, index, differences, what is tracked
//! - [`bytecode`]: what interpreters do: names, headers, hashes, states; no I/O
//! - [`fsys`]: stats and directory handles of the platform, and threads to use them in
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod bytecode;
pub mod cli;
pub mod cmd;
pub mod config;
pub mod exclude;
pub mod exit;
pub mod fsys;
pub mod git;
pub mod hooks;
pub mod options;
pub mod payload;
pub mod purge;
pub mod python;
pub mod report;
pub mod scan;
