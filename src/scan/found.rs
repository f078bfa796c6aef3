//! What a walk gathers, and what is made of it in the end.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bstr::{BString, ByteSlice};

use super::ghosts::Hollow;
use super::owner::Realms;
use super::pair::{Judged, Pair, judge_entry};
use super::place::Place;
use super::{Counts, Entry, Options, Rules, Tree, Trouble};
use crate::bytecode::{Kind, State};
use crate::fsys::path::{below, to_git};
use crate::fsys::relative::join;
use crate::fsys::{Obstacle, in_threads};
use crate::payload::{Candidate, Moved, Payload, Stamps};

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
    /// The stamps of all sources, where they are asked for.
    pub stamps: Stamps,
    /// Sources whose content no index tells, by tree and path.
    pub unknown: Vec<(usize, BString)>,
    /// Sources whose stamps are others than before, and the directories that were looked at.
    pub moved: Vec<Moved>,
    pub seen: Vec<usize>,
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
        self.stamps.merge(other.stamps);
        self.unknown.extend(other.unknown);
        self.moved.extend(other.moved);
        self.seen.extend(other.seen);
        self.outdated = self.outdated.max(other.outdated);
    }

    /// Adds the entries that are due of sources that the payload names as deleted. Those that a walk
    /// has listed become due; `mod.pyc` beside a deleted source it has not.
    pub fn add_gone(&mut self, gone: Vec<Entry>) {
        let mut known: HashMap<(usize, BString), usize> = HashMap::new();
        if !gone.is_empty() {
            let entries = self.entries.iter().enumerate();
            known.extend(entries.map(|(at, entry)| ((entry.tree, entry.path.clone()), at)));
        }
        for mut entry in gone.into_iter().filter(|entry| entry.due) {
            match known.get(&(entry.tree, entry.path.clone())) {
                Some(&at) => self.entries[at].payload = true,
                None => {
                    self.counts.add(entry.state);
                    entry.payload = true;
                    self.entries.push(entry);
                }
            }
        }
    }

    /// Judges one entry, counts it, and lists it if it is noteworthy or `wanted`, which makes it due.
    pub fn take(
        &mut self,
        rules: Rules<'_>,
        pair: &Pair<'_>,
        wanted: &dyn Fn(&Judged<'_>) -> bool,
    ) -> Taken {
        let Some(judged) = judge_entry(pair, rules.read_every_header) else {
            return Taken::Nothing;
        };
        if !rules.exclude.is_empty() {
            let path = judged.source.map_or_else(
                || join(pair.cache.path, pair.name),
                |source| pair.place.relative(source),
            );
            if rules.exclude.file(path.as_bstr()) {
                return Taken::LeftOut;
            }
        }
        let state = judged.state;
        self.counts.add(state);
        let due = wanted(&judged);
        if due || !state.is_harmless() || rules.keep_all || pair.parsed.kind == Kind::Companion {
            let mut entry = judged.entry(pair);
            entry.due = due;
            if pair.place.root != rules.root {
                entry.source = entry
                    .source
                    .map(|source| absolute(pair.place.root, &source));
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
        let swapped = Obstacle::of(&error) == Some(Obstacle::Swapped);
        if error.kind() != io::ErrorKind::NotFound && !swapped {
            self.troubles.push(Trouble { path, doing, error });
        }
    }
}

/// Turns the candidates into the payload.
pub fn payload(options: &Options<'_>, candidates: Vec<Candidate>) -> Result<Payload> {
    match options.payload {
        None => Ok(Payload::default()),
        Some(base) => base.finish(options.root, options.repo, candidates, &|path| {
            options.exclude.path(path)
        }),
    }
}

fn absolute(root: &Path, relative: &BString) -> BString {
    to_git(&below(root, relative)).into_owned()
}
