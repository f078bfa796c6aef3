//! Tree objects: reading them through libgit2, comparing two of them.
#![forbid(unsafe_code)]

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bstr::{BStr, BString, ByteSlice};
use git2::{ObjectType, Odb, OdbObject, Oid, Repository};
use gix_object::TreeRefIter;
use gix_object::tree::{EntryRef, name_order};

use super::staging::Staging;
use crate::git::change::{Change, ChangeKind, is_python};
use crate::git::index::Index;
use crate::git::repo::Repo;

/// Deepest nesting of trees that is followed; git itself stops at 2048 (core.maxTreeDepth).
const DEPTH: usize = 2048;

/// The trees of one repository. libgit2 finds and unpacks them; they are taken apart in place.
pub(super) struct Trees<'r> {
    repo: &'r Repo,
    odb: Odb<'r>,
    index: OnceCell<Option<&'r Index>>,
}

/// One tree object.
pub(super) struct Tree<'t> {
    id: Oid,
    object: OdbObject<'t>,
    hash_kind: gix_hash::Kind,
}

/// What a tree has under one name.
#[derive(Clone, Copy)]
pub(super) struct Item<'t>(EntryRef<'t>);

impl<'t> Item<'t> {
    /// The name.
    pub fn name(&self) -> &'t [u8] {
        self.0.filename
    }

    /// The id of what is there.
    pub fn id(&self) -> &'t [u8] {
        self.0.oid.as_bytes()
    }

    /// The mode. Old trees have more modes of files than two; git takes no notice either.
    pub fn mode(&self) -> u32 {
        self.0.mode.kind() as u32
    }

    /// Whether it is a directory.
    pub fn is_tree(&self) -> bool {
        self.0.mode.is_tree()
    }

    /// Whether it is a file or a symlink.
    pub fn is_blob(&self) -> bool {
        self.0.mode.is_blob_or_symlink()
    }

    /// Whether it is a symlink.
    pub fn is_link(&self) -> bool {
        self.0.mode.is_link()
    }

    /// Compares with a name of a file or a directory: git orders directories as if their names
    /// ended with a slash.
    pub fn order(&self, name: &[u8], is_tree: bool) -> Ordering {
        name_order(self.name(), self.is_tree(), name, is_tree)
    }
}

impl Tree<'_> {
    /// Its id.
    pub fn id(&self) -> &[u8] {
        self.id.as_bytes()
    }

    /// Everything in it, in git's order.
    fn all(&self) -> impl Iterator<Item = Result<Item<'_>>> {
        TreeRefIter::from_bytes(self.object.data(), self.hash_kind).map(|entry| {
            entry.map(Item).map_err(|_| {
                anyhow::anyhow!("the tree {} is broken: `git fsck` tells more", self.id)
            })
        })
    }
}

/// What can matter of a tree: all but the files that are no Python sources.
pub(super) fn items<'t>(tree: Option<&'t Tree<'_>>) -> Result<Vec<Item<'t>>> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let mut items = Vec::with_capacity(tree.object.len() / 32);
    for item in tree.all() {
        let item = item?;
        if !item.is_blob() || is_python(item.name()) {
            items.push(item);
        }
    }
    Ok(items)
}

impl<'r> Trees<'r> {
    /// Those of a repository.
    ///
    /// # Errors
    /// If its objects cannot be reached.
    pub fn of(repo: &'r Repo, repository: &'r Repository) -> Result<Self> {
        let odb = repository.odb().context("the objects cannot be reached")?;
        Ok(Self {
            repo,
            odb,
            index: OnceCell::new(),
        })
    }

    /// The index, if it can be read: whoever compares trees does without otherwise.
    fn index(&self) -> Option<&'r Index> {
        let read = || self.repo.index().ok().map(Arc::as_ref);
        *self.index.get_or_init(read)
    }

    /// Reads the tree of a directory.
    ///
    /// # Errors
    /// If there is no such tree, or it cannot be read.
    pub fn read(&self, id: &[u8], path: &BStr) -> Result<Tree<'_>> {
        let id = Oid::from_bytes(id).with_context(|| format!("`{path}` has no id of a tree"))?;
        let object = self.odb.read(id).with_context(|| {
            format!("the tree of `{path}` ({id}) cannot be read: `git fsck` tells more")
        })?;
        ensure!(
            object.kind() == ObjectType::Tree,
            "{id}, the tree of `{path}`, is no tree: `git fsck` tells more"
        );
        Ok(Tree {
            id,
            object,
            hash_kind: self.repo.hash_kind(),
        })
    }

    /// Adds the differences of Python sources between two trees of the directory `path`.
    ///
    /// # Errors
    /// If a tree below cannot be read.
    pub fn diff(
        &self,
        path: &mut BString,
        old: Option<&Tree<'_>>,
        new: Option<&Tree<'_>>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        ensure_depth(path)?;
        let (old, new) = (items(old)?, items(new)?);
        let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.order(b.name(), b.is_tree()),
            };
            let a = if order.is_le() { left.next() } else { None };
            let b = if order.is_ge() { right.next() } else { None };
            if let (Some(a), Some(b)) = (a, b)
                && a.id() == b.id()
                && a.mode() == b.mode()
            {
                continue;
            }
            let Some(name) = a.or(b).map(Item::name) else {
                continue;
            };
            within(path, name, |path| self.differ(path, a, b, changes))?;
        }
    }

    /// Adds what the difference between two things of the same name amounts to.
    fn differ(
        &self,
        path: &mut BString,
        a: Option<&Item<'_>>,
        b: Option<&Item<'_>>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let [old, new] = [a, b].map(|item| item.filter(|item| item.is_tree()).map(Item::id));
        if old.is_some() || new.is_some() {
            self.below(path, old, new, changes)?;
        }
        let blob = |item: Option<&Item<'_>>| item.is_some_and(Item::is_blob);
        let kind = match (blob(a), blob(b)) {
            (false, false) => return Ok(()),
            (false, true) => ChangeKind::Added,
            (true, false) => ChangeKind::Deleted,
            (true, true) if a.map(Item::is_link) != b.map(Item::is_link) => ChangeKind::TypeChanged,
            (true, true) => ChangeKind::Modified,
        };
        changes.push(Change {
            path: path.clone(),
            kind,
        });
        Ok(())
    }

    /// Adds the differences of Python sources between two trees, given by their ids. A new one that
    /// the index is known to hold, as after a checkout, need not be unpacked.
    fn below(
        &self,
        path: &mut BString,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let read = |id: Option<&[u8]>, path: &BString| {
            id.map(|id| self.read(id, path.as_bstr())).transpose()
        };
        let old = read(old, path)?;
        if let (Some(id), Some(index)) = (new, self.index())
            && let Some((cached, range)) = index.holding(path.as_bstr(), id)
        {
            let staging = Staging { trees: self, index };
            return staging.against(path, old.as_ref(), Some(cached), range, changes);
        }
        let new = read(new, path)?;
        self.diff(path, old.as_ref(), new.as_ref(), changes)
    }

    /// Adds the files below a tree that `wanted` takes by their names.
    ///
    /// # Errors
    /// If a tree below cannot be read.
    pub fn collect(
        &self,
        path: &mut BString,
        tree: &Tree<'_>,
        wanted: fn(&[u8]) -> bool,
        files: &mut Vec<BString>,
    ) -> Result<()> {
        ensure_depth(path)?;
        for item in tree.all() {
            let item = item?;
            within(path, item.name(), |path| {
                if item.is_tree() {
                    let tree = self.read(item.id(), path.as_bstr())?;
                    return self.collect(path, &tree, wanted, files);
                }
                if item.is_blob() && wanted(path) {
                    files.push(path.clone());
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Runs `work` with `name` appended to `path`.
pub(super) fn within<T>(
    path: &mut BString,
    name: &[u8],
    work: impl FnOnce(&mut BString) -> T,
) -> T {
    let length = path.len();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    let result = work(path);
    path.truncate(length);
    result
}

pub(super) fn ensure_depth(path: &BString) -> Result<()> {
    ensure!(
        path.find_iter("/").count() < DEPTH,
        "a tree is nested deeper than {DEPTH} directories"
    );
    Ok(())
}
