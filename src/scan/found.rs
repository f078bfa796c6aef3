//! What a walk gathers, and what is made of it in the end.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};

use super::ghosts::{Hollow, ghosts};
use super::owner::Realms;
use super::place::{Judged, One, Place, is_companion, judge_entry};
use super::venv::Venv;
use super::{Counts, Entry, Options, Rules, Scan, Tree, Trouble};
use crate::bytecode::{Kind, Reason, State};
use crate::fsys::in_threads;
use crate::fsys::relative::{join, split};
use crate::payload::{Candidate, Payload};

/// What became of a name that looked like an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is no file, or has vanished.
    Nothing,
    /// The user leaves it out.
    LeftOut,
    /// It is judged and counted.
    Judged(State),
}

/// What a scan has gathered so far.
#[derive(Default)]
pub struct Found {
    pub entries: Vec<Entry>,
    pub hollow: Vec<Hollow>,
    pub troubles: Vec<Trouble>,
    pub counts: Counts,
    pub candidates: Vec<Candidate>,
    /// What of machine code is not written later than this may hold other content of some source,
    /// in ns since 1970.
    pub outdated: i128,
    pub trees: Vec<Tree>,
    pub realms: Realms,
}

impl Found {
    /// What `work` gathers in [`in_threads`].
    pub fn in_threads(
        directories: usize,
        first: impl FnOnce(),
        work: impl Fn() -> Self + Sync,
    ) -> Self {
        let mut found = Self::default();
        for part in in_threads(directories, first, work) {
            found.merge(part);
        }
        found
    }

    /// Adds what another thread has gathered.
    pub fn merge(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.hollow.extend(other.hollow);
        self.troubles.extend(other.troubles);
        self.counts.merge(other.counts);
        self.candidates.extend(other.candidates);
        self.outdated = self.outdated.max(other.outdated);
    }

    /// Judges one entry, counts it, and lists it if it is noteworthy or `wanted`, which makes it due.
    pub fn take(
        &mut self,
        rules: Rules<'_>,
        one: &One<'_>,
        wanted: &dyn Fn(&Judged<'_>) -> bool,
    ) -> Taken {
        let Some(judged) = judge_entry(one, rules.read_every_header) else {
            return Taken::Nothing;
        };
        if !rules.exclude.is_empty() {
            let path = judged.source.map_or_else(
                || join(one.cache.path, one.name),
                |source| one.place.relative(source),
            );
            if rules.exclude.file(path.as_bstr()) {
                return Taken::LeftOut;
            }
        }
        let state = judged.state;
        self.counts.add(state);
        let due = wanted(&judged);
        if due || !state.is_harmless() || rules.keep_all || one.parsed.kind == Kind::Companion {
            let mut entry = judged.entry(one);
            entry.due = due;
            if one.place.root != rules.root {
                entry.source = entry.source.map(|source| absolute(one.place.root, &source));
            }
            self.entries.push(entry);
        }
        Taken::Judged(state)
    }

    /// Notes what could not be looked at in a directory.
    pub fn failed(&mut self, place: &Place<'_>) {
        for (path, error) in place.failures() {
            self.trouble(path, "looking at it", error);
        }
    }

    /// Notes a failure, unless the thing has merely vanished or become a symlink in the meantime.
    pub fn trouble(&mut self, path: PathBuf, doing: &'static str, error: io::Error) {
        let raced = [rustix::io::Errno::LOOP, rustix::io::Errno::NOTDIR]
            .map(rustix::io::Errno::raw_os_error);
        if error.kind() != io::ErrorKind::NotFound
            && !raced.contains(&error.raw_os_error().unwrap_or(0))
        {
            self.troubles.push(Trouble { path, doing, error });
        }
    }
}

/// Turns the candidates into the payload.
pub fn payload(options: &Options<'_>, candidates: Vec<Candidate>) -> Result<Payload> {
    match options.payload {
        None => Ok(Payload::default()),
        Some(base) => base.finish(options.root, options.repo, candidates, &|path| {
            options.exclude.path(path) || in_venv(options.root, path)
        }),
    }
}

fn in_venv(root: &Path, path: &BStr) -> bool {
    Venv::of(root, split(path).0) != Some(Venv::Outside)
}

fn absolute(root: &Path, relative: &BString) -> BString {
    use std::os::unix::ffi::OsStrExt;
    let path = root.join(relative.to_path_lossy());
    path.as_os_str().as_bytes().into()
}

/// Says which entries are due, once the payload is known.
pub fn conclude(options: &Options<'_>, mut found: Found, payload: Payload) -> Scan {
    let ghosts = ghosts(std::mem::take(&mut found.hollow));
    let haunted: HashSet<&BString> = ghosts.iter().collect();
    // A run that loads stale bytecode of one module can write machine code of another at any time.
    let misled = found
        .entries
        .iter()
        .any(|entry| entry.state >= State::Racy && !is_companion(entry));
    for entry in &mut found.entries {
        entry.payload = entry
            .source
            .as_ref()
            .is_some_and(|source| payload.sources.contains_key(source));
        if options.numba_all
            && is_companion(entry)
            && entry.state == State::Settled
            && (misled || entry.written.as_nanos() <= found.outdated)
        {
            found.counts.settled -= 1;
            found.counts.racy += 1;
            entry.state = State::Racy;
            entry.reason = Reason::OtherSourceNewer;
        }
        let in_ghost = || {
            let (directory, _) = entry.split();
            let owner = directory.strip_suffix(b"/__pycache__").unwrap_or(b"");
            entry.tree == 0 && haunted.contains(&BString::from(owner))
        };
        entry.due = entry.payload
            || entry.state >= State::Racy
            || entry.state == State::Orphan && in_ghost();
    }
    finish(options, found, ghosts, payload)
}

/// What every way into the scan ends with: companions go with the entries of their source, and what
/// git tracks is left alone.
pub fn finish(
    options: &Options<'_>,
    mut found: Found,
    ghosts: Vec<BString>,
    payload: Payload,
) -> Scan {
    let changed: HashSet<BString> = found
        .entries
        .iter()
        .filter(|entry| entry.due)
        .filter_map(|entry| entry.source.clone())
        .collect();
    for entry in found.entries.iter_mut().filter(|entry| is_companion(entry)) {
        entry.due |= entry
            .source
            .as_ref()
            .is_some_and(|source| changed.contains(source));
    }
    if !options.keep_all {
        found.entries.retain(Entry::is_noteworthy);
    }
    found.realms.mark(options, &found.trees, &mut found.entries);
    for entry in &mut found.entries {
        entry.due &= entry.untouchable.is_none();
    }
    found
        .entries
        .sort_by(|one, other| (one.tree, &one.path).cmp(&(other.tree, &other.path)));
    found
        .troubles
        .sort_by(|one, other| one.path.cmp(&other.path));
    Scan {
        entries: found.entries,
        ghosts,
        troubles: found.troubles,
        counts: found.counts,
        payload,
        trees: found.trees,
    }
}
