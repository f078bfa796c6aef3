//! Walks the work tree and the prefix trees, pairs sources with entries and has them judged.
//!
//! Three ways in: [`whole`] for everything (gate, check), [`sources`] for what an event or a user
//! names (hooks, purge), [`again`] for what has become of the sources (after a sweep).
#![forbid(unsafe_code)]

mod due;
mod found;
mod ghosts;
mod named;
mod names;
mod owner;
mod pair;
mod place;
mod prefix;
mod queue;
mod venv;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};

use crate::bytecode::{EntryName, Kind, Reason, State, Timeline, parse_beside, parse_in_pycache};
use crate::exclude::Exclude;
use crate::fsys::path::below;
use crate::fsys::{Dir, DirBuffer, relative};
use crate::git::Repo;
use crate::payload::{Base, Certificate, Difference, Payload, Reference};

use self::venv::Venv;

pub use due::Wanted;
pub use named::sources;

/// What a scan looks at, and how.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Root of the work tree, absolute and without symlinks; outside git the directory looked at.
    pub root: &'a Path,
    /// The repository, where there is one.
    pub repo: Option<&'a Repo>,
    /// Bytecode prefixes, absolute.
    pub prefixes: &'a [PathBuf],
    /// Further trees with sources of their own, absolute.
    pub also: &'a [PathBuf],
    /// What is left out.
    pub exclude: &'a Exclude,
    /// Whether headers are read even where times settle, so that a rejected entry is called so.
    pub read_every_header: bool,
    /// Whether settled and rejected entries are listed as well.
    pub keep_all: bool,
    /// Whether any source newer than an index of machine code makes it racy.
    pub numba_all: bool,
    /// What the payload is measured against, where it is asked for.
    pub payload: Option<&'a Base>,
    /// Whether [`again`] is going to ask what has become of the sources.
    pub stamp: bool,
    /// Told the number of directories seen so far.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// What judging a single entry needs of the options: all but the repository, whose handle is one
/// thread's.
#[derive(Clone, Copy)]
struct Rules<'a> {
    root: &'a Path,
    exclude: &'a Exclude,
    read_every_header: bool,
    keep_all: bool,
    numba_all: bool,
}

impl<'a> Options<'a> {
    fn rules(&self) -> Rules<'a> {
        Rules {
            root: self.root,
            exclude: self.exclude,
            read_every_header: self.read_every_header,
            keep_all: self.keep_all,
            numba_all: self.numba_all,
        }
    }
}

/// The names of the files in a directory that can be sources of an entry.
pub fn owners(directory: &Path, parsed: &EntryName<'_>) -> Vec<Vec<u8>> {
    let listed = Dir::open(directory).and_then(|directory| {
        let names = names::Names::of(&directory, &mut DirBuffer::default())?;
        let names = names.iter().map(|(name, _)| name);
        Ok(names
            .filter(|name| parsed.belongs_to(name))
            .map(<[u8]>::to_vec)
            .collect())
    });
    listed.unwrap_or_default()
}

/// What kind of tree entries lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// The work tree.
    Work,
    /// A bytecode prefix.
    Prefix,
    /// A tree added by the user.
    Also,
}

/// A tree that was walked.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Its root, absolute.
    pub root: PathBuf,
    /// What it is.
    pub kind: TreeKind,
}

/// Why an entry is never removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untouchable {
    /// git tracks it.
    Tracked,
    /// It lies behind a symlinked `__pycache__`, or a symlink in a prefix.
    Symlinked,
    /// Neither an index nor HEAD can say what is tracked.
    Unknown,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is still there.
    Kept,
    /// It is removed.
    Purged,
    /// It would be, were this no dry run.
    WouldPurge,
    /// It could not be removed, and why.
    Failed(String),
}

/// One judged entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which of [`Scan::trees`] it lies in.
    pub tree: usize,
    /// Path relative to the root of its tree.
    pub path: BString,
    /// Its source: relative to the work tree, or absolute outside it. `None` for an orphan.
    pub source: Option<BString>,
    /// Cache tag; empty beside a source.
    pub tag: BString,
    /// Kind of file.
    pub kind: Kind,
    /// State as judged before the purge.
    pub state: State,
    /// Why.
    pub reason: Reason,
    /// Why it is never removed, where that is so.
    pub untouchable: Option<Untouchable>,
    /// Whether its source belongs to the payload.
    pub payload: bool,
    /// Whether it is to be purged.
    pub due: bool,
    /// What became of it.
    pub action: Action,
    /// Which repository it lies in.
    pub(crate) realm: usize,
    /// The times that the rule compares, where there is a source.
    pub times: Option<Timeline>,
    /// When its inode last changed, which cannot be set back: not before it was written.
    pub(crate) changed: crate::fsys::Time,
}

impl Entry {
    /// Whether a scan lists it by itself.
    fn is_noteworthy(&self) -> bool {
        self.due || !self.state.is_harmless()
    }

    /// The parts of its name.
    pub fn parsed(&self) -> Option<EntryName<'_>> {
        let (_, name) = self.split();
        match self.kind {
            Kind::Beside => parse_beside(name),
            _ => parse_in_pycache(name),
        }
    }

    /// Its directory within its tree, and its file name.
    pub fn split(&self) -> (&BStr, &BStr) {
        relative::split(self.path.as_bstr())
    }
}

/// Something that could not be looked at.
#[derive(Debug)]
pub struct Trouble {
    /// Where.
    pub path: PathBuf,
    /// What was tried.
    pub doing: &'static str,
    /// What the operating system says.
    pub error: io::Error,
}

impl Trouble {
    /// What was tried and what came of it, to follow a path.
    pub fn what(&self) -> String {
        format!("{} failed: {}", self.doing, self.error)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what())
    }
}

/// Numbers of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Accepted and right.
    pub settled: u64,
    /// Not loaded by the interpreter.
    pub rejected: u64,
    /// Accepted, and nothing proves it right.
    pub racy: u64,
    /// Accepted, and proved to differ.
    pub stale: u64,
    /// Without a source.
    pub orphan: u64,
    /// All that were judged.
    pub scanned: u64,
    /// Removed.
    pub purged: u64,
    /// Due and still there.
    pub failed: u64,
}

impl Counts {
    fn add(&mut self, state: State) {
        self.scanned += 1;
        *match state {
            State::Settled => &mut self.settled,
            State::Rejected => &mut self.rejected,
            State::Racy => &mut self.racy,
            State::Stale => &mut self.stale,
            State::Orphan => &mut self.orphan,
        } += 1;
    }

    fn merge(&mut self, other: Self) {
        self.settled += other.settled;
        self.rejected += other.rejected;
        self.racy += other.racy;
        self.stale += other.stale;
        self.orphan += other.orphan;
        self.scanned += other.scanned;
        self.purged += other.purged;
        self.failed += other.failed;
    }
}

/// What a scan found.
#[derive(Debug, Default)]
pub struct Scan {
    /// Noteworthy entries (racy, stale, orphan, due), or all of them.
    pub entries: Vec<Entry>,
    /// Ghost directories of the work tree, children before their parents.
    pub ghosts: Vec<BString>,
    /// What could not be looked at.
    pub troubles: Vec<Trouble>,
    /// Numbers of all entries, listed or not.
    pub counts: Counts,
    /// The payload, where it was asked for.
    pub payload: Payload,
    /// What [`again`] compares with, where it was asked for.
    pub certificate: Certificate,
    /// The trees that were walked; the first is the work tree.
    pub trees: Vec<Tree>,
}

impl Scan {
    /// The absolute path of an entry.
    pub fn absolute(&self, entry: &Entry) -> PathBuf {
        below(&self.trees[entry.tree].root, &entry.path)
    }

    /// Leaves only what lies below some paths, or has its source there, and counts anew. The scan
    /// must have kept everything ([`Options::keep_all`]).
    pub fn keep_below(&mut self, paths: &[BString]) {
        let is_below = |path: &[u8]| paths.iter().any(|top| relative::is_below(path, top));
        self.entries.retain(|entry| {
            entry.source.as_ref().is_some_and(|source| is_below(source))
                || entry.tree == 0 && is_below(&entry.path)
        });
        self.ghosts.retain(|ghost| is_below(ghost));
        self.counts = Counts::default();
        for entry in &self.entries {
            self.counts.add(entry.state);
        }
    }

    /// Leaves only noteworthy entries: what a scan lists by itself.
    pub fn keep_noteworthy(&mut self) {
        self.entries.retain(Entry::is_noteworthy);
    }

    /// Adds what another scan of the same work tree has found elsewhere in it.
    pub fn join(&mut self, other: Self) {
        let shift = self.trees.len();
        self.trees.extend(other.trees);
        self.entries
            .extend(other.entries.into_iter().map(|mut entry| {
                entry.tree += shift;
                entry
            }));
        self.ghosts.extend(other.ghosts);
        self.troubles.extend(other.troubles);
        self.counts.merge(other.counts);
    }

    /// Entries that are racy or stale: what can lie.
    pub fn lying(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.state >= State::Racy)
    }
}

/// Judges every entry of the work tree, the prefix trees and the trees added.
///
/// # Errors
/// If the root cannot be opened, or what is ignored cannot be told. What fails below is a
/// [`Trouble`].
pub fn whole(options: &Options<'_>) -> Result<Scan> {
    let mut found = walk::trees(options)?;
    let payload = found::payload(options, std::mem::take(&mut found.candidates))?;
    let prefixes = prefix::open_all(options, &mut found);
    prefix::walk(options, &prefixes, &payload, &mut found);
    let left = named::gone(options, &prefixes, &payload, &mut found)?;
    let certificate = if options.stamp {
        let roots: Vec<PathBuf> = roots(options).map(Path::to_path_buf).collect();
        Certificate::of(
            std::mem::take(&mut found.stamps),
            std::mem::take(&mut found.unknown),
            found.realms.submodules(),
            options.payload,
            &roots,
        )
    } else {
        Certificate::default()
    };
    Ok(Scan {
        certificate,
        ..due::conclude(options, found, left, payload)
    })
}

/// The roots of the trees that have sources, the work tree's first.
fn roots<'a>(options: &Options<'a>) -> impl Iterator<Item = &'a Path> {
    let also = options.also.iter().map(PathBuf::as_path);
    std::iter::once(options.root).chain(also)
}

/// What has become of the sources since a scan with [`Options::stamp`]: the same walk without looking
/// at entries, by the same options.
///
/// # Errors
/// If the root cannot be opened, or what is ignored cannot be told.
pub fn again(options: &Options<'_>, scan: &Scan, base: &Base) -> Result<Vec<Difference>> {
    let moved = walk::again(options, scan.certificate.stamps())?;
    let reference = Reference {
        repo: options.repo,
        base,
        payload: &scan.payload,
    };
    let roots: Vec<PathBuf> = roots(options).map(Path::to_path_buf).collect();
    scan.certificate
        .differences(moved, reference, &roots, &|path| {
            Venv::of(options.root, relative::split(path).0).is_none_or(Venv::is_own)
        })
}
