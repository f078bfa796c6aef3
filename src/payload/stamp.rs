//! What the stats of all sources were at one moment, kept small, and which of them are others at a
//! later one.
#![forbid(unsafe_code)]

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bstr::{BStr, BString, ByteSlice as _};

use crate::fsys::Stat;
use crate::fsys::relative::join;

/// The stat of a source at one moment, and of the file it leads to, where it is a symlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Of what a write changes: inode, size, mtime.
    written: u64,
    /// Of what everything changes: ctime.
    touched: u64,
}

impl Stamp {
    /// The stamp of a source by its `lstat`, and by its `stat` where it is a symlink.
    pub fn of(lstat: &Stat, followed: Option<&Stat>) -> Self {
        let (mut written, mut touched) = (DefaultHasher::new(), DefaultHasher::new());
        for stat in std::iter::once(lstat).chain(followed) {
            (stat.ino, stat.size, stat.mtime).hash(&mut written);
            stat.ctime.hash(&mut touched);
        }
        Self {
            written: written.finish(),
            touched: touched.finish(),
        }
    }
}

/// What can be told of a source by its stamps at two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// It was not there.
    Appeared,
    /// It is not there any more.
    Vanished,
    /// It was written, or replaced.
    Written,
    /// Only its ctime is another: its mode or its links have changed, or it was written and its mtime
    /// put back.
    Touched,
}

/// A source whose stamp is another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Number of the tree it lies in.
    pub tree: usize,
    /// Path relative to the root of that tree.
    pub path: BString,
    /// What can be told.
    pub how: Move,
}

/// One directory's part of the names and stamps.
#[derive(Clone, Debug)]
struct Directory {
    tree: usize,
    path: BString,
    /// Where its sources begin, and how many they are.
    first: usize,
    count: usize,
    /// Where the names of its sources begin.
    names: usize,
}

/// The stamps of all sources of some trees.
#[derive(Debug, Default)]
pub struct Stamps {
    directories: Vec<Directory>,
    /// The names, one after the other, directory by directory.
    names: Vec<u8>,
    /// The length of each name, and its stamp.
    stamps: Vec<(u16, Stamp)>,
}

impl Stamps {
    /// Adds the sources of one directory, sorted by name.
    pub fn add<'n>(
        &mut self,
        tree: usize,
        path: &BStr,
        sources: impl Iterator<Item = (&'n [u8], Stamp)>,
    ) {
        let (first, names) = (self.stamps.len(), self.names.len());
        for (name, stamp) in sources {
            self.names.extend_from_slice(name);
            // No file system has names longer than 65,535 bytes.
            self.stamps.push((name.len() as u16, stamp));
        }
        if self.stamps.len() > first {
            self.directories.push(Directory {
                tree,
                path: path.to_owned(),
                first,
                count: self.stamps.len() - first,
                names,
            });
        }
    }

    /// Adds those that another thread has gathered.
    pub fn merge(&mut self, other: Self) {
        if self.directories.is_empty() {
            *self = other;
            return;
        }
        let (first, names) = (self.stamps.len(), self.names.len());
        self.directories
            .extend(other.directories.into_iter().map(|directory| Directory {
                first: directory.first + first,
                names: directory.names + names,
                ..directory
            }));
        self.names.extend_from_slice(&other.names);
        self.stamps.extend_from_slice(&other.stamps);
    }

    /// Makes them ready to be compared with, once all are there.
    pub fn sort(&mut self) {
        self.directories
            .sort_unstable_by(|one, other| (one.tree, &one.path).cmp(&(other.tree, &other.path)));
    }

    /// The number of a directory, if any source was in it.
    pub fn directory(&self, tree: usize, path: &BStr) -> Option<usize> {
        self.directories
            .binary_search_by(|directory| {
                (directory.tree, directory.path.as_bstr()).cmp(&(tree, path))
            })
            .ok()
    }

    /// Names and stamps of the sources of a directory, sorted by name.
    pub fn sources(&self, number: usize) -> impl Iterator<Item = (&[u8], Stamp)> {
        let directory = &self.directories[number];
        let mut at = directory.names;
        let stamps = &self.stamps[directory.first..directory.first + directory.count];
        stamps.iter().map(move |&(length, stamp)| {
            let from = at;
            at += usize::from(length);
            (&self.names[from..at], stamp)
        })
    }

    /// Compares with the sources that a directory has now, sorted by name.
    pub fn compare<'n>(
        &self,
        tree: usize,
        path: &BStr,
        now: impl Iterator<Item = (&'n [u8], Stamp)>,
        moved: &mut Vec<Moved>,
    ) {
        let number = self.directory(tree, path);
        let mut before = number
            .into_iter()
            .flat_map(|number| self.sources(number))
            .peekable();
        let mut add = |name: &[u8], how| {
            moved.push(Moved {
                tree,
                path: join(path, name),
                how,
            });
        };
        for (name, stamp) in now {
            while let Some((gone, _)) = before.next_if(|(before, _)| *before < name) {
                add(gone, Move::Vanished);
            }
            match before.next_if(|(before, _)| *before == name) {
                None => add(name, Move::Appeared),
                Some((_, before)) if before.written != stamp.written => add(name, Move::Written),
                Some((_, before)) if before.touched != stamp.touched => add(name, Move::Touched),
                Some(_) => {}
            }
        }
        for (gone, _) in before {
            add(gone, Move::Vanished);
        }
    }

    /// Names the sources of the directories that are not among those `seen`, by number.
    pub fn unseen(&self, seen: &[usize], moved: &mut Vec<Moved>) {
        let mut there = vec![false; self.directories.len()];
        for &number in seen {
            there[number] = true;
        }
        for (number, directory) in self.directories.iter().enumerate() {
            if !there[number] {
                moved.extend(self.sources(number).map(|(name, _)| Moved {
                    tree: directory.tree,
                    path: join(directory.path.as_bstr(), name),
                    how: Move::Vanished,
                }));
            }
        }
    }

    /// The sources of one tree below a directory of it.
    pub fn below<'s>(
        &'s self,
        tree: usize,
        top: &'s BStr,
    ) -> impl Iterator<Item = (usize, BString)> + 's {
        let directories = self.directories.iter().enumerate();
        directories
            .filter(move |(_, directory)| {
                directory.tree == tree && crate::fsys::relative::is_below(&directory.path, top)
            })
            .flat_map(|(number, directory)| {
                self.sources(number)
                    .map(|(name, _)| (directory.tree, join(directory.path.as_bstr(), name)))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsys::Time;

    fn stamp(ino: u64, mtime: i64, ctime: i64) -> Stamp {
        let time = |sec| Time { sec, nsec: 0 };
        let stat = Stat {
            ino,
            mtime: time(mtime),
            ctime: time(ctime),
            ..Stat::default()
        };
        Stamp::of(&stat, None)
    }

    #[test]
    fn every_move_is_named() {
        let same = stamp(1, 1, 1);
        let mut before = Stamps::default();
        let mut other = Stamps::default();
        before.add(
            0,
            "b".into(),
            ["gone", "kept", "touched", "written"]
                .map(|name| (name.as_bytes(), same))
                .into_iter(),
        );
        other.add(0, "a".into(), [(&b"x"[..], same)].into_iter());
        other.add(1, "b".into(), [(&b"y"[..], same)].into_iter());
        before.merge(other);
        before.sort();
        let mut moved = Vec::new();
        let now = [
            (&b"kept"[..], same),
            (b"new", same),
            (b"touched", stamp(1, 1, 2)),
            (b"written", stamp(2, 1, 1)),
        ];
        before.compare(0, "b".into(), now.into_iter(), &mut moved);
        let seen = before.directory(0, "b".into()).expect("it has sources");
        before.unseen(&[seen], &mut moved);
        let moved: Vec<_> = moved
            .iter()
            .map(|moved| (moved.tree, moved.path.to_string(), moved.how))
            .collect();
        let expected = [
            (0, "b/gone", Move::Vanished),
            (0, "b/new", Move::Appeared),
            (0, "b/touched", Move::Touched),
            (0, "b/written", Move::Written),
            (0, "a/x", Move::Vanished),
            (1, "b/y", Move::Vanished),
        ];
        assert_eq!(
            moved,
            expected.map(|(tree, path, how)| (tree, path.to_owned(), how))
        );
        let below: Vec<_> = before.below(0, "".into()).map(|(_, path)| path).collect();
        assert_eq!(below.len(), 5);
    }
}
