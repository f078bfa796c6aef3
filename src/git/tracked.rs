//! What git tracks, so that it is never removed.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};

use super::diff::head_files;
use super::index::Index;
use super::repo::Repo;
use crate::fsys::path::{real, relative_to};
use crate::fsys::relative::join;

/// What one repository tracks. Where neither an index nor HEAD can say, everything counts as
/// tracked.
#[derive(Default)]
pub struct Tracked {
    indexes: Vec<Arc<Index>>,
    head: HashSet<BString>,
    unknown: bool,
    /// Where the paths that are asked about begin, below the root of the repository.
    prefix: BString,
}

impl Tracked {
    /// Nothing is tracked: outside a repository.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Nothing can say what is tracked.
    pub fn unknown() -> Self {
        Self {
            unknown: true,
            ..Self::default()
        }
    }

    /// What one repository tracks.
    pub fn of(repo: &Repo) -> Self {
        let mut tracked = Self::default();
        // The index of a partial commit holds less than the repository's own.
        let own = repo.git_dir().join("index");
        let mut read = vec![repo.index().map(Arc::clone)];
        if own != repo.index_path() {
            read.push(Index::read(&own, repo.is_sha256()).map(Arc::new));
        }
        // HEAD has what a sparse index folds away, and what a missing one held before.
        let says_all = |index: &Result<Arc<Index>>| {
            index
                .as_ref()
                .is_ok_and(|index| index.exists && index.folded.is_empty())
        };
        if !read.iter().all(says_all) {
            match head_files(repo, may_be_bytecode) {
                Ok(Some(files)) => tracked.head = files.into_iter().collect(),
                // Nothing is staged and nothing committed, unless there is an index and it is junk.
                Ok(None) => tracked.unknown = read.iter().any(Result::is_err),
                Err(_) => tracked.unknown = true,
            }
        }
        tracked.indexes = read.into_iter().flatten().collect();
        tracked
    }

    /// What the repository with its root at `directory` tracks (a submodule, a nested repository, a
    /// linked work tree), asked with paths relative to that directory. If its `.git` is none, git
    /// takes the directory for a part of the repository around it, and so does this.
    pub fn nested(directory: &Path) -> Self {
        let (Ok(repo), Ok(directory)) = (Repo::nested(directory), real(directory)) else {
            return Self::unknown();
        };
        match relative_to(&directory, repo.root()) {
            Some(prefix) => Self {
                prefix,
                ..Self::of(&repo)
            },
            // Its configuration puts the work tree elsewhere.
            None => Self::unknown(),
        }
    }

    /// Whether the file is tracked.
    pub fn contains(&self, path: &BStr) -> bool {
        let path = join(self.prefix.as_bstr(), path);
        let path = path.as_bstr();
        self.unknown
            || self.indexes.iter().any(|index| index.tracks(path))
            || self.head.contains(path)
    }

    /// Whether nothing can say what is tracked.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }
}

/// Whether a file could ever be taken for bytecode; only those are remembered of HEAD.
fn may_be_bytecode(path: &[u8]) -> bool {
    path.find(b".pyc").is_some() || path.ends_with(b".pyo") || path.find(b"__pycache__").is_some()
}
