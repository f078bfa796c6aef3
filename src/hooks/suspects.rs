//! What each git event changes: the sources to purge for certain, and those to judge.
//!
//! Every event has one shape. What git has rewritten for certain is purged; what may have changed
//! is judged; the entries of a source that is gone are purged.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};

use super::event::Event;
use crate::fsys::path::below;
use crate::fsys::{Stat, Time};
use crate::git::stat::stat_matches;
use crate::git::{Change, ChangeKind, Index, IndexEntry, Repo, diff, is_python, safe};
use crate::scan::Wanted;

/// The suspects of one event. Parts that cannot be had (a revision that names nothing, an index
/// that cannot be read) are left out and told in the second value: the others still count.
pub fn suspects(repo: &Repo, event: &Event) -> (Vec<Wanted>, Vec<anyhow::Error>) {
    let mut sets = Sets {
        repo,
        suspects: BTreeMap::new(),
        troubles: Vec::new(),
    };
    match event {
        Event::PreCommit { given } => {
            sets.add(diff::staged(repo), true, true);
            sets.judge(given);
        }
        Event::PostIndexChange => {
            sets.add(diff::staged(repo), false, true);
            sets.index(recent);
            sets.index(unmerged);
        }
        Event::SwitchedBranch { old, new } => {
            repo.read_index_ahead();
            sets.add(diff::between(repo, old, new), true, true);
            sets.index(recent);
        }
        Event::CheckedOutFiles => {
            sets.add(diff::staged(repo), false, true);
            sets.index(recent);
            sets.disk();
        }
        Event::PostMerge => {
            repo.read_index_ahead();
            if repo.resolve("ORIG_HEAD").is_some() {
                sets.add(diff::between(repo, "ORIG_HEAD", "HEAD"), true, true);
            }
            sets.add(diff::staged(repo), false, true);
            sets.index(recent);
        }
        Event::PostCommit => {
            sets.index(recent);
            sets.disk();
        }
        Event::Amended { pairs } => {
            sets.pairs(pairs);
            sets.index(recent);
        }
        Event::Rebased { pairs } => {
            sets.pairs(pairs);
            if repo.resolve("ORIG_HEAD").is_some() {
                sets.add(diff::between(repo, "ORIG_HEAD", "HEAD"), false, true);
            }
            sets.index(recent);
        }
        Event::FrameworkCommit { given } => {
            sets.add(diff::staged(repo), true, true);
            sets.judge(given);
            if repo.resolve("HEAD^").is_some() {
                sets.add(diff::between(repo, "HEAD^", "HEAD"), false, false);
            }
            sets.index(recent);
            sets.disk();
        }
    }
    sets.index(links);
    let suspects = sets.suspects.into_values().collect();
    (suspects, sets.troubles)
}

struct Sets<'r> {
    repo: &'r Repo,
    suspects: BTreeMap<BString, Wanted>,
    troubles: Vec<anyhow::Error>,
}

impl Sets<'_> {
    fn add(&mut self, changes: Result<Vec<Change>>, certain: bool, beside: bool) {
        match changes {
            Err(error) => self.troubles.push(error),
            Ok(changes) => {
                for change in changes {
                    let gone =
                        change.kind == ChangeKind::Deleted && self.is_gone(change.path.as_bstr());
                    self.note(Wanted {
                        path: change.path,
                        purge: certain,
                        gone,
                        beside: gone && beside,
                    });
                }
            }
        }
    }

    /// Adds a suspect, or makes one that is there more suspect.
    fn note(&mut self, suspect: Wanted) {
        if !safe(&suspect.path) {
            return;
        }
        let known = self
            .suspects
            .entry(suspect.path.clone())
            .or_insert_with(|| suspect.clone());
        known.purge |= suspect.purge;
        known.gone |= suspect.gone;
        known.beside |= suspect.beside;
    }

    fn judge(&mut self, paths: &[BString]) {
        for path in paths.iter().filter(|path| is_python(path)) {
            self.note(Wanted {
                path: path.clone(),
                purge: false,
                gone: false,
                beside: false,
            });
        }
    }

    fn pairs(&mut self, pairs: &[(String, String)]) {
        for (old, new) in pairs {
            self.add(diff::between(self.repo, old, new), false, true);
        }
    }

    fn index(&mut self, set: fn(&Index) -> Vec<BString>) {
        match self.repo.index() {
            Err(error) => self.troubles.push(error),
            Ok(index) => {
                let paths = set(index);
                self.judge(&paths);
            }
        }
    }

    fn disk(&mut self) {
        let Ok(index) = self.repo.index() else { return };
        let mut paths = Vec::new();
        for entry in index
            .entries()
            .filter(|entry| entry.is_blob() && is_python(entry.path))
        {
            let path = below(self.repo.root(), entry.path);
            if Stat::of(&path).is_ok_and(|stat| !stat_matches(&entry, &stat)) {
                paths.push(entry.path.to_owned());
            }
        }
        self.judge(&paths);
    }

    /// Gone: git names it as deleted, nothing is there, and no sparse checkout merely leaves it out
    /// of the work tree.
    fn is_gone(&self, path: &BStr) -> bool {
        absent(self.repo.root(), path)
            && self.repo.index().is_ok_and(|index| {
                let skipped = |entry: IndexEntry<'_>| entry.is_skip_worktree();
                !index.is_folded(path) && !index.get(path).is_some_and(skipped)
            })
    }
}

fn absent(root: &Path, path: &BStr) -> bool {
    match Stat::of(&below(root, path)) {
        Ok(_) => false,
        Err(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ),
    }
}

/// What git has just written: entries recorded not before the operation began that wrote the index,
/// or in the last minute. Where the index has no birth time every entry counts.
fn recent(index: &Index) -> Vec<BString> {
    let minute = SystemTime::now()
        .checked_sub(Duration::from_secs(60))
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map(|since| Time {
            sec: since.as_secs() as i64,
            nsec: since.subsec_nanos(),
        })
        .unwrap_or_default();
    let since = index
        .born
        .map_or_else(Time::default, |born| born.min(minute));
    // The recorded times may be of another clock than the birth: whole seconds are compared.
    pick(index, |entry| {
        entry.is_blob() && entry.mtime().max(entry.ctime()).sec >= since.sec
    })
}

fn unmerged(index: &Index) -> Vec<BString> {
    pick(index, |entry| entry.is_unmerged())
}

/// Sources that are symlinks: their entries go stale when what they point to is rewritten.
fn links(index: &Index) -> Vec<BString> {
    pick(index, |entry| entry.is_symlink())
}

/// The Python sources that `holds` is true of. It is asked first: for most it is not.
fn pick(index: &Index, holds: impl Fn(&IndexEntry<'_>) -> bool) -> Vec<BString> {
    (0..index.len())
        .map(|position| index.at(position))
        .filter(|entry| holds(entry) && is_python(entry.path) && safe(entry.path))
        .map(|entry| entry.path.to_owned())
        .collect()
}
