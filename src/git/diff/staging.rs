//! The index against a tree: what is staged.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::ops::Range;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};
use gix_index::extension::Tree as Cached;

use super::trees::{Item, Tree, Trees, ensure_depth, items, within};
use crate::git::change::{Change, ChangeKind, is_python};
use crate::git::index::{Index, IndexEntry, child, safe, valid};

/// The index against a tree.
pub(super) struct Staging<'s, 'r> {
    /// The repository's trees.
    pub trees: &'s Trees<'r>,
    /// Its index.
    pub index: &'s Index,
}

impl Staging<'_, '_> {
    /// Compares the entries at `range`, which are all those below `path`, with a tree. `cached` is
    /// what git has written down of the tree these entries make: where that is the same tree,
    /// nothing below is looked at.
    ///
    /// # Errors
    /// If a tree below cannot be read.
    pub fn against(
        &self,
        path: &mut BString,
        tree: Option<&Tree<'_>>,
        cached: Option<&Cached>,
        range: Range<usize>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        ensure_depth(path)?;
        if let (Some(tree), Some(id)) = (tree, cached.and_then(valid))
            && tree.id() == id
        {
            return Ok(());
        }
        let items = items(tree)?;
        let mut items = items.iter().peekable();
        let skip = if path.is_empty() { 0 } else { path.len() + 1 };
        let mut at = range.start;
        loop {
            // The next name directly below `path`, and the entries that belong to it.
            let next = (at < range.end).then(|| {
                let rest = rest(self.index.at(at).path, skip);
                match rest.find_byte(b'/') {
                    Some(slash) => (&rest[..slash], true),
                    None => (rest, false),
                }
            });
            let order = match (items.peek(), next) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(item), Some((name, folder))) => item.order(name, folder),
            };
            let item = if order.is_le() { items.next() } else { None };
            let mut group = at..at;
            let mut folder = item.is_some_and(Item::is_tree);
            if let Some((name, is_folder)) = next
                && order.is_ge()
            {
                folder = is_folder;
                let count = self.index.run(at..range.end, |path| {
                    self::rest(path, skip)
                        .strip_prefix(name)
                        .is_some_and(|rest| {
                            rest.starts_with(b"/") == folder && (folder || rest.is_empty())
                        })
                });
                group = at..at + count.max(1);
                at = group.end;
            }
            let name = match (item, next) {
                (Some(item), _) => item.name(),
                (None, Some((name, _))) => name,
                (None, None) => return Ok(()),
            };
            if name.is_empty() {
                // A hostile index: no tree has such a name.
                continue;
            }
            if folder {
                let cached = cached.and_then(|cached| child(cached, name));
                within(path, name, |path| {
                    self.folder(path, item, cached, group, changes)
                })?;
            } else {
                within(path, name, |path| self.leaf(path, item, group, changes));
            }
        }
    }

    /// Compares the entries below a directory with what the tree has there.
    fn folder(
        &self,
        path: &mut BString,
        item: Option<&Item<'_>>,
        cached: Option<&Cached>,
        group: Range<usize>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let item = item.filter(|item| item.is_tree());
        if let (Some(item), Some(id)) = (item, cached.and_then(valid))
            && item.id() == id
        {
            return Ok(());
        }
        let tree = item
            .map(|item| self.trees.read(item.id(), path.as_bstr()))
            .transpose()?;
        // A folded directory of a sparse index is one entry with the id of its tree.
        if group.len() == 1
            && let entry = self.index.at(group.start)
            && entry.is_folded_directory()
        {
            if tree.as_ref().map(Tree::id) == Some(entry.id()) {
                return Ok(());
            }
            let folded = self.trees.read(entry.id(), path.as_bstr())?;
            return self.trees.diff(path, tree.as_ref(), Some(&folded), changes);
        }
        self.against(path, tree.as_ref(), cached, group, changes)
    }

    /// One file: what the tree has and what the index has, conflicts included.
    fn leaf(
        &self,
        path: &BString,
        item: Option<&Item<'_>>,
        group: Range<usize>,
        changes: &mut Vec<Change>,
    ) {
        if is_python(path) && safe(path) {
            let item = item.filter(|item| item.is_blob());
            let entry = group
                .map(|position| self.index.at(position))
                .find(IndexEntry::is_blob);
            changes.extend(staged_kind(item, entry).map(|kind| Change {
                path: path.clone(),
                kind,
            }));
        }
    }
}

fn rest(path: &BStr, skip: usize) -> &[u8] {
    &path[skip.min(path.len())..]
}

/// What happened to a file, given what the tree has and what the index has.
fn staged_kind(item: Option<&Item<'_>>, entry: Option<IndexEntry<'_>>) -> Option<ChangeKind> {
    Some(match (item, entry) {
        (None, None) => return None,
        (_, Some(entry)) if entry.is_unmerged() => ChangeKind::Modified,
        (Some(_), None) => ChangeKind::Deleted,
        // `git add -N` has added nothing yet.
        (None, Some(entry)) if entry.is_intent_to_add() => return None,
        (Some(_), Some(entry)) if entry.is_intent_to_add() => ChangeKind::Deleted,
        (None, Some(_)) => ChangeKind::Added,
        (Some(item), Some(entry)) if item.is_link() != entry.is_symlink() => {
            ChangeKind::TypeChanged
        }
        (Some(item), Some(entry)) if item.id() == entry.id() && item.mode() == entry.mode() => {
            return None;
        }
        (Some(_), Some(_)) => ChangeKind::Modified,
    })
}
