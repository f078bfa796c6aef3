//! The merge of two states of a directory, each a tree or a range of the index.
//!
//! Both list what they have in git's order, and name what lies below a directory by the id of its tree
//! where that is known: where both have the same id nothing below is looked at.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::mem;
use std::ops::Range;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice as _};
use gix_index::extension::Tree as Cached;
use gix_object::tree::{EntryRef, name_order};

use super::trees::{Tree, Trees, ensure_depth, within};
use crate::git::change::{Change, ChangeKind, is_python};
use crate::git::index::{Index, IndexEntry, child, safe, valid};

/// One state of a directory.
pub(super) enum Side<'s> {
    /// It is not there.
    Nothing,
    /// A tree.
    Tree(Tree<'s>),
    /// What the index has.
    Staged(Staged<'s>),
}

/// The entries of the index below a directory.
#[derive(Clone)]
pub(super) struct Staged<'s> {
    index: &'s Index,
    /// What git has written down of the tree that the entries make.
    cached: Option<&'s Cached>,
    range: Range<usize>,
}

/// What a side has under one name: nothing else matters than directories and Python sources.
struct Item<'s> {
    name: &'s [u8],
    what: What<'s>,
}

enum What<'s> {
    Folder(Folder<'s>),
    Source(Source<'s>),
}

/// A directory of a side.
enum Folder<'s> {
    /// A tree by its id, also where a sparse index keeps it folded.
    Tree(&'s [u8]),
    Staged(Staged<'s>),
}

/// A file or a symlink of a side. Old trees have more modes of files than two; git takes no notice
/// either.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Source<'s> {
    id: &'s [u8],
    mode: u32,
    is_link: bool,
    is_unmerged: bool,
}

impl<'s> Side<'s> {
    /// The id of its tree, where that is known.
    fn id(&self) -> Option<&[u8]> {
        match self {
            Self::Nothing => None,
            Self::Tree(tree) => Some(tree.id()),
            Self::Staged(staged) => staged.id(),
        }
    }

    /// What it has, in git's order. `skip` is how much of a path is the directory's own.
    fn items(&self, skip: usize) -> Items<'_, impl Iterator<Item = Result<EntryRef<'_>>>> {
        match self {
            Self::Nothing => Items::Nothing,
            Self::Tree(tree) => Items::Tree(tree.entries()),
            Self::Staged(staged) => Items::Staged {
                left: staged.clone(),
                skip,
            },
        }
    }
}

impl<'s> Staged<'s> {
    /// All that the index has.
    pub fn all(index: &'s Index) -> Self {
        Self {
            index,
            cached: index.trees(),
            range: 0..index.len(),
        }
    }

    fn id(&self) -> Option<&'s [u8]> {
        self.cached.and_then(valid)
    }

    /// Takes the entries from the front that are all below a directory, or all of one file.
    fn take(&mut self, belongs: impl Fn(&BStr) -> bool) -> Range<usize> {
        let count = self.index.run(self.range.clone(), belongs).max(1);
        let taken = self.range.start..self.range.start + count;
        self.range.start = taken.end;
        taken
    }

    /// The next thing directly in the directory. `skip` is how much of the paths is its own.
    fn next(&mut self, skip: usize) -> Option<Item<'s>> {
        while !self.range.is_empty() {
            let index = self.index;
            let path = index.at(self.range.start).path;
            // In an index that is not sorted, hostile or broken, anything may lie here.
            let rest = path.get(skip..).unwrap_or_default();
            if let Some(slash) = rest.find_byte(b'/') {
                let (name, head) = (&rest[..slash], &path[..=skip + slash]);
                let range = self.take(|path| path.starts_with(head));
                // No tree has a name that is empty.
                if !name.is_empty() {
                    let what = What::Folder(self.folder(name, range));
                    return Some(Item { name, what });
                }
            } else if is_python(rest) {
                // Of a conflict there is one entry for each stage.
                let mut entries = self.take(|other| other == path).map(|at| index.at(at));
                if let Some(source) = entries.find_map(|entry| Source::staged(&entry)) {
                    let what = What::Source(source);
                    return Some(Item { name: rest, what });
                }
            } else {
                self.range.start += 1;
            }
        }
        None
    }

    fn folder(&self, name: &[u8], range: Range<usize>) -> Folder<'s> {
        let first = self.index.at(range.start);
        if range.len() == 1 && first.is_folded_directory() {
            return Folder::Tree(first.id());
        }
        Folder::Staged(Self {
            cached: self.cached.and_then(|cached| child(cached, name)),
            range,
            ..*self
        })
    }
}

/// What a side has, one by one.
enum Items<'s, T> {
    Nothing,
    Tree(T),
    Staged { left: Staged<'s>, skip: usize },
}

impl<'s, T: Iterator<Item = Result<EntryRef<'s>>>> Items<'s, T> {
    fn next(&mut self) -> Result<Option<Item<'s>>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Tree(entries) => entries
                .find_map(|entry| entry.map(Item::of_tree).transpose())
                .transpose(),
            Self::Staged { left, skip } => Ok(left.next(*skip)),
        }
    }
}

impl<'s> Item<'s> {
    fn of_tree(entry: EntryRef<'s>) -> Option<Self> {
        let name: &[u8] = entry.filename;
        let id = entry.oid.as_bytes();
        let what = if entry.mode.is_tree() {
            What::Folder(Folder::Tree(id))
        } else if entry.mode.is_blob_or_symlink() && is_python(name) {
            What::Source(Source {
                id,
                mode: entry.mode.kind() as u32,
                is_link: entry.mode.is_link(),
                is_unmerged: false,
            })
        } else {
            return None;
        };
        Some(Self { name, what })
    }

    /// git orders directories as if their names ended with a slash.
    fn order(&self, other: &Self) -> Ordering {
        let is_folder = |item: &Self| matches!(item.what, What::Folder(_));
        name_order(self.name, is_folder(self), other.name, is_folder(other))
    }
}

impl Folder<'_> {
    fn id(&self) -> Option<&[u8]> {
        match self {
            Self::Tree(id) => Some(id),
            Self::Staged(staged) => staged.id(),
        }
    }
}

impl<'s> Source<'s> {
    /// `None` for a submodule, and for what `git add -N` has announced: nothing is added yet.
    fn staged(entry: &IndexEntry<'s>) -> Option<Self> {
        let is_unmerged = entry.is_unmerged();
        let is_there = is_unmerged || !entry.is_intent_to_add();
        (entry.is_blob() && is_there).then(|| Self {
            id: entry.id(),
            mode: entry.mode(),
            is_link: entry.is_symlink(),
            is_unmerged,
        })
    }

    /// What happened to a source, if anything.
    fn change(old: Option<Self>, new: Option<Self>) -> Option<ChangeKind> {
        Some(match (old, new) {
            (None, None) => return None,
            (_, Some(new)) if new.is_unmerged => ChangeKind::Modified,
            (Some(old), Some(new)) if old == new => return None,
            (Some(old), Some(new)) if old.is_link != new.is_link => ChangeKind::TypeChanged,
            (Some(_), Some(_)) => ChangeKind::Modified,
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
        })
    }
}

/// Adds the differences of Python sources between two states of the directory `path`.
///
/// # Errors
/// If a tree below cannot be read.
pub(super) fn diff(
    trees: &Trees<'_>,
    path: &mut BString,
    old: &Side<'_>,
    new: &Side<'_>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    ensure_depth(path)?;
    if old.id().is_some() && old.id() == new.id() {
        return Ok(());
    }
    let skip = if path.is_empty() { 0 } else { path.len() + 1 };
    let (mut left, mut right) = (old.items(skip), new.items(skip));
    let (mut a, mut b) = (left.next()?, right.next()?);
    loop {
        let order = match (&a, &b) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.order(b),
        };
        let mut old = None;
        if order.is_le() {
            old = mem::replace(&mut a, left.next()?);
        }
        let mut new = None;
        if order.is_ge() {
            new = mem::replace(&mut b, right.next()?);
        }
        let Some(name) = old.as_ref().or(new.as_ref()).map(|item| item.name) else {
            continue;
        };
        let ((old_folder, old_source), (new_folder, new_source)) = (parts(old), parts(new));
        within(path, name, |path| {
            if let Some(kind) = Source::change(old_source, new_source)
                && safe(path)
            {
                let path = path.clone();
                changes.push(Change { path, kind });
            }
            if is_same(old_folder.as_ref(), new_folder.as_ref()) {
                return Ok(());
            }
            let [old, new] =
                [old_folder, new_folder].map(|folder| side(trees, path.as_bstr(), folder));
            diff(trees, path, &old?, &new?, changes)
        })?;
    }
}

fn parts<'s>(item: Option<Item<'s>>) -> (Option<Folder<'s>>, Option<Source<'s>>) {
    match item.map(|item| item.what) {
        None => (None, None),
        Some(What::Folder(folder)) => (Some(folder), None),
        Some(What::Source(source)) => (None, Some(source)),
    }
}

/// Whether two directories are known to hold the same; so do two that are not there.
fn is_same(old: Option<&Folder<'_>>, new: Option<&Folder<'_>>) -> bool {
    match (old, new) {
        (None, None) => true,
        (Some(old), Some(new)) => old.id().is_some() && old.id() == new.id(),
        _ => false,
    }
}

/// What there is below a directory. A tree that the index is known to hold, as after a checkout, need
/// not be unpacked.
fn side<'s>(trees: &'s Trees<'_>, path: &BStr, folder: Option<Folder<'s>>) -> Result<Side<'s>> {
    Ok(match folder {
        None => Side::Nothing,
        Some(Folder::Staged(staged)) => Side::Staged(staged),
        Some(Folder::Tree(id)) => {
            let held = trees.index().and_then(|index| {
                let (cached, range) = index.holding(path, id)?;
                let cached = Some(cached);
                Some(Staged {
                    index,
                    cached,
                    range,
                })
            });
            match held {
                Some(staged) => Side::Staged(staged),
                None => Side::Tree(trees.read(id, path)?),
            }
        }
    })
}
