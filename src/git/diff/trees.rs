//! Tree objects: libgit2 finds and unpacks them, and they are taken apart in place.
#![forbid(unsafe_code)]

use std::cell::OnceCell;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bstr::{BStr, BString, ByteSlice};
use git2::{ObjectType, Odb, OdbObject, Oid, Repository};
use gix_object::TreeRefIter;
use gix_object::tree::EntryRef;

use crate::git::index::Index;
use crate::git::repo::Repo;

/// Deepest nesting of trees that is followed; git itself stops at 2048 (core.maxTreeDepth).
const DEPTH: usize = 2048;

/// The trees of one repository.
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

impl Tree<'_> {
    /// Its id.
    pub fn id(&self) -> &[u8] {
        self.id.as_bytes()
    }

    /// Everything in it, in git's order.
    pub fn entries(&self) -> impl Iterator<Item = Result<EntryRef<'_>>> {
        TreeRefIter::from_bytes(self.object.data(), self.hash_kind).map(|entry| {
            entry.map_err(|_| {
                anyhow::anyhow!("the tree {} is broken: `git fsck` tells more", self.id)
            })
        })
    }
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
    pub fn index(&self) -> Option<&'r Index> {
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
        for entry in tree.entries() {
            let entry = entry?;
            within(path, entry.filename, |path| {
                if entry.mode.is_tree() {
                    let tree = self.read(entry.oid.as_bytes(), path.as_bstr())?;
                    return self.collect(path, &tree, wanted, files);
                }
                if entry.mode.is_blob_or_symlink() && wanted(path) {
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
