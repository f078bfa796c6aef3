//! The index, read by gix-index.
#![forbid(unsafe_code)]

use std::io;
use std::ops::Range;
use std::path::Path;

use anyhow::{Result, anyhow};
use bstr::{BStr, BString, ByteSlice};
use gix_index::entry::{Flags, Mode};
use gix_index::extension::Tree as Cached;

use crate::fsys::Time;
use crate::fsys::relative::join;

/// The index of one repository.
pub struct Index {
    state: gix_index::File,
    /// Whether there is a file: a missing one tells nothing of what is tracked.
    pub exists: bool,
    /// When git last wrote it: entries touched since may be racily clean.
    pub written: Time,
    /// When the file was made, which is when the git operation that wrote it began.
    pub born: Option<Time>,
    /// The directories a sparse index keeps folded.
    pub folded: Vec<BString>,
}

/// One entry of the index.
#[derive(Clone, Copy)]
pub struct IndexEntry<'a> {
    /// Path relative to the root.
    pub path: &'a BStr,
    entry: &'a gix_index::Entry,
}

/// What the index has directly in a directory, by name.
pub enum Child<'a> {
    /// A file, a symlink, a submodule; of a conflict one for every stage.
    File(&'a [u8], IndexEntry<'a>),
    /// A subdirectory, and the position of the first entry below it.
    Folder(&'a [u8], usize),
}

/// Whether a path of an index can be one below its root: a hostile one is not looked at.
pub fn safe(path: &[u8]) -> bool {
    !path.is_empty()
        && !path.contains(&0)
        && path
            .split(|&byte| byte == b'/')
            .all(|part| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git"))
}

impl Index {
    /// Reads the index file `path`; a missing one is empty, as it is after `git init`.
    ///
    /// # Errors
    /// If it cannot be read or is no index.
    pub fn read(path: &Path, sha256: bool) -> Result<Self> {
        let kind = if sha256 {
            gix_hash::Kind::Sha256
        } else {
            gix_hash::Kind::Sha1
        };
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(path, &error)),
        };
        let options = gix_index::decode::Options {
            thread_limit: Some(1),
            ..Default::default()
        };
        let state = gix_index::File::at_or_default(path, kind, true, options)
            .map_err(|error| unreadable(path, &error))?;
        let time = |time: io::Result<std::time::SystemTime>| {
            let since = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(Time {
                sec: since.as_secs() as i64,
                nsec: since.subsec_nanos(),
            })
        };
        let folded = if state.is_sparse() {
            let folded = state
                .entries()
                .iter()
                .filter(|entry| entry.mode == Mode::DIR);
            folded.map(|entry| entry.path(&state).to_owned()).collect()
        } else {
            Vec::new()
        };
        Ok(Self {
            exists: metadata.is_some(),
            written: metadata
                .as_ref()
                .and_then(|data| time(data.modified()))
                .unwrap_or_default(),
            born: metadata.as_ref().and_then(|data| time(data.created())),
            folded,
            state,
        })
    }

    /// Every entry, in git's order, those with paths that lead elsewhere left out.
    pub fn entries(&self) -> impl Iterator<Item = IndexEntry<'_>> {
        self.state
            .entries()
            .iter()
            .map(|entry| self.wrap(entry))
            .filter(|entry| safe(entry.path))
    }

    fn wrap<'a>(&'a self, entry: &'a gix_index::Entry) -> IndexEntry<'a> {
        IndexEntry {
            path: entry.path(&self.state),
            entry,
        }
    }

    /// The entry of a file; of a conflict the one of the lowest stage.
    pub fn get(&self, path: &BStr) -> Option<IndexEntry<'_>> {
        let entries = self.state.entries();
        let at = entries.partition_point(|entry| entry.path(&self.state) < path);
        let entry = entries.get(at)?;
        (entry.path(&self.state) == path).then(|| self.wrap(entry))
    }

    /// Whether there is an entry of any stage for this file.
    pub fn tracks(&self, path: &BStr) -> bool {
        self.get(path).is_some()
    }

    /// All entries, hostile ones too: for those who go by position.
    pub(crate) fn len(&self) -> usize {
        self.state.entries().len()
    }

    /// The entry at a position below [`Index::len`], hostile or not.
    pub(crate) fn at(&self, position: usize) -> IndexEntry<'_> {
        self.wrap(&self.state.entries()[position])
    }

    /// How many of the entries in a range that is sorted by it satisfy `holds`. They are few mostly:
    /// the search goes on in growing steps.
    pub(super) fn run(&self, range: Range<usize>, holds: impl Fn(&BStr) -> bool) -> usize {
        let entries = &self.state.entries()[range];
        let holds = |entry: &gix_index::Entry| holds(entry.path(&self.state));
        let (mut count, mut step) = (0, 1);
        while entries.get(count + step - 1).is_some_and(&holds) {
            count += step;
            step *= 2;
        }
        let end = entries.len().min(count + step - 1);
        count + entries[count..end].partition_point(holds)
    }

    /// Whether the path is a submodule.
    pub fn is_submodule(&self, path: &BStr) -> bool {
        self.state
            .entry_by_path(path)
            .is_some_and(|entry| entry.mode == Mode::COMMIT)
    }

    /// Whether the path lies below a directory that a sparse index keeps folded.
    pub fn is_folded(&self, path: &BStr) -> bool {
        // Folded directories are sorted and do not nest.
        let after = self
            .folded
            .partition_point(|folder| folder.as_bstr() <= path);
        after > 0 && path.starts_with(&self.folded[after - 1])
    }

    /// What the index has directly in a directory, in git's order: its files and its
    /// subdirectories, whose own entries are skipped. `at` is where its entries begin, if that is
    /// known from its parent.
    pub fn directory(
        &self,
        directory: &BStr,
        at: Option<usize>,
    ) -> impl Iterator<Item = Child<'_>> {
        let entries = self.state.entries();
        let head = join(directory, b"");
        let begins = |&at: &usize| {
            let before = at.checked_sub(1).and_then(|before| entries.get(before));
            entries
                .get(at)
                .is_some_and(|entry| self.is_below(entry, &head))
                && before.is_none_or(|entry| !self.is_below(entry, &head))
        };
        let mut at = at.filter(begins).unwrap_or_else(|| {
            entries.partition_point(|entry| entry.path(&self.state) < head.as_bstr())
        });
        std::iter::from_fn(move || {
            let entry = entries.get(at)?;
            let path = entry.path(&self.state).as_bytes();
            let rest = path.strip_prefix(head.as_slice())?;
            let here = at;
            // File names are short: a search with a start-up cost would take longer.
            let Some(slash) = rest.iter().position(|&byte| byte == b'/') else {
                at += 1;
                return Some(Child::File(rest, self.wrap(entry)));
            };
            let folder = &path[..=head.len() + slash];
            at += self.run(at..entries.len(), |path| path.starts_with(folder));
            Some(Child::Folder(&rest[..slash], here))
        })
    }

    fn is_below(&self, entry: &gix_index::Entry, head: &[u8]) -> bool {
        entry.path(&self.state).starts_with(head)
    }

    /// The entries below a directory, at any depth.
    pub fn below(&self, directory: &BStr) -> impl Iterator<Item = IndexEntry<'_>> {
        let below = self.state.entries()[self.span(directory)].iter();
        below
            .map(|entry| self.wrap(entry))
            .filter(|entry| safe(entry.path))
    }

    /// Where the entries below a directory are.
    fn span(&self, directory: &BStr) -> Range<usize> {
        let head = join(directory, b"");
        let entries = self.state.entries();
        let from = entries.partition_point(|entry| entry.path(&self.state) < head.as_bstr());
        from..from + self.run(from..entries.len(), |path| path.starts_with(&head))
    }

    /// The trees this index would commit, as far as git has written them down.
    pub(super) fn trees(&self) -> Option<&Cached> {
        self.state.tree()
    }

    /// Where the entries below a directory are, with the trees they make, if those are known to be
    /// the tree `id`.
    pub(super) fn holding(&self, directory: &BStr, id: &[u8]) -> Option<(&Cached, Range<usize>)> {
        let mut names = directory.split(|&byte| byte == b'/');
        let cached = names.try_fold(self.trees()?, child)?;
        if valid(cached)? != id {
            return None;
        }
        let span = self.span(directory);
        let folded = span.len() == 1 && self.at(span.start).is_folded_directory();
        // Where another program wrote down a count that is not so, the id need not be so either.
        let counted = cached
            .num_entries
            .is_some_and(|count| count as usize == span.len());
        (counted && !folded).then_some((cached, span))
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow!(
        "the index {} cannot be read: {error}; `git fsck` tells more, and `rm {} && git reset` makes it anew",
        path.display(),
        path.display()
    )
}

impl<'a> IndexEntry<'a> {
    /// Recorded mtime.
    pub fn mtime(&self) -> Time {
        time(self.entry.stat.mtime)
    }

    /// Recorded ctime.
    pub fn ctime(&self) -> Time {
        time(self.entry.stat.ctime)
    }

    /// Recorded size in bytes, cut to 32 bits.
    pub fn size(&self) -> u32 {
        self.entry.stat.size
    }

    /// Recorded inode number, cut to 32 bits.
    pub fn ino(&self) -> u32 {
        self.entry.stat.ino
    }

    /// Recorded owner and group.
    pub fn owner(&self) -> (u32, u32) {
        (self.entry.stat.uid, self.entry.stat.gid)
    }

    /// Content id.
    pub fn id(&self) -> &'a [u8] {
        self.entry.id.as_bytes()
    }

    /// Kind of hash its id is of.
    pub(super) fn hash_kind(&self) -> gix_hash::Kind {
        self.entry.id.kind()
    }

    /// Mode as git writes it (octal 100644, 100755, 120000, 160000, 40000).
    pub fn mode(&self) -> u32 {
        self.entry.mode.bits()
    }

    /// Whether it stands for a directory that a sparse index keeps folded.
    pub(super) fn is_folded_directory(&self) -> bool {
        self.entry.mode == Mode::DIR
    }

    /// Whether it is a symlink.
    pub fn is_symlink(&self) -> bool {
        self.entry.mode == Mode::SYMLINK
    }

    /// Whether it is a file or a symlink.
    pub fn is_blob(&self) -> bool {
        matches!(
            self.entry.mode,
            Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK
        )
    }

    /// Whether it is part of a conflict.
    pub fn is_unmerged(&self) -> bool {
        self.entry.stage_raw() != 0
    }

    /// Whether git is told to leave the file out of the work tree.
    pub fn is_skip_worktree(&self) -> bool {
        self.entry.flags.contains(Flags::SKIP_WORKTREE)
    }

    /// Whether `git add -N` made it: it has no content yet.
    pub fn is_intent_to_add(&self) -> bool {
        self.entry.flags.contains(Flags::INTENT_TO_ADD)
    }
}

/// What git has written down of a tree in another.
pub(super) fn child<'c>(cached: &'c Cached, name: &[u8]) -> Option<&'c Cached> {
    let children = &cached.children;
    let found = children.binary_search_by(|child| child.name.as_slice().cmp(name));
    found.ok().map(|at| &children[at])
}

/// The id that git has written down of a tree, unless entries below have changed since.
pub(super) fn valid(cached: &Cached) -> Option<&[u8]> {
    cached.num_entries?;
    Some(cached.id.as_bytes())
}

fn time(time: gix_index::entry::stat::Time) -> Time {
    Time {
        sec: i64::from(time.secs),
        nsec: time.nsecs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_paths_are_not_safe() {
        for path in [
            "",
            "/etc/x.py",
            "a/../../x.py",
            "..",
            ".git/x.py",
            "a/.GIT/x.py",
            "a//b.py",
            "./a.py",
        ] {
            assert!(!safe(path.as_bytes()), "{path}");
        }
        for path in ["a.py", "a/b.py", "..a/b.py", "a/.gitx/b.py", "-x.py"] {
            assert!(safe(path.as_bytes()), "{path}");
        }
    }
}
