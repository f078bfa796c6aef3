//! The repositories that a walk meets: each has its own index, and so its own tracked files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bstr::{BStr, BString, ByteSlice};

use super::{Entry, Options, Tree, Untouchable};
use crate::fsys::path::{below, real, relative_to};
use crate::fsys::relative::within;
use crate::git::{Repo, Tracked};
use crate::payload::{Base, Comparer};

/// A repository on the way.
pub struct Realm<'a> {
    /// Its number; entries remember it.
    pub number: usize,
    /// Compares files with the index that they may be tracked in.
    pub comparer: Option<Compare<'a>>,
    /// Where the root of the comparer's repository lies below the root of the tree that is walked.
    pub prefix: BString,
    /// Whether this is a repository within the comparer's: what that does not track is not its own.
    pub foreign: bool,
}

/// Where the comparer comes from.
#[derive(Clone)]
pub enum Compare<'a> {
    /// The work tree's own, which may still be reading the index.
    Top(&'a Base),
    /// A submodule's.
    Submodule(Arc<Comparer>),
}

impl Compare<'_> {
    /// Whether there is no need to wait for it.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Top(base) => base.is_read(),
            Self::Submodule(_) => true,
        }
    }

    /// The comparer, as soon as it is there; `None` if there is nothing to compare with.
    pub fn get(&self) -> Option<&Comparer> {
        match self {
            Self::Top(base) => base.top(),
            Self::Submodule(comparer) => Some(comparer),
        }
    }
}

/// Which repository that is.
pub enum Owner {
    /// The one the scan was given, or none.
    Given,
    /// The one whose root is this directory.
    Nested(PathBuf),
    /// The one this directory lies in, if any.
    Around(PathBuf),
}

/// All repositories met so far.
#[derive(Default)]
pub struct Realms {
    owners: Mutex<Vec<Owner>>,
    submodules: Mutex<Vec<Arc<Comparer>>>,
}

impl Realms {
    /// Adds a repository and gives its number.
    pub fn add(&self, owner: Owner) -> usize {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.push(owner);
        owners.len() - 1
    }

    /// What compares with the indexes of the submodules met so far.
    pub fn submodules(&mut self) -> Vec<Arc<Comparer>> {
        let submodules = self.submodules.get_mut();
        std::mem::take(submodules.unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the repository whose root the walk has met.
    pub fn nested<'a>(&self, root: &Path, path: &BStr, around: &Realm<'a>) -> Arc<Realm<'a>> {
        let directory = below(root, path);
        let outer = around.comparer.as_ref().and_then(Compare::get);
        let within = within(path, around.prefix.as_bstr());
        let submodule = outer
            .filter(|comparer| comparer.is_submodule(within))
            .and_then(|_| Comparer::submodule(root, path).ok());
        let (comparer, prefix, foreign) = match submodule {
            Some(comparer) => {
                let comparer = Arc::new(comparer);
                let mut submodules = self
                    .submodules
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                submodules.push(Arc::clone(&comparer));
                (Some(Compare::Submodule(comparer)), path.to_owned(), false)
            }
            None => {
                // What the repository around it tracks stays that one's; and all stays that one's
                // where there is no repository behind the name, as for git.
                let foreign = around.foreign || outer.is_some() && is_repository(&directory);
                (around.comparer.clone(), around.prefix.clone(), foreign)
            }
        };
        Arc::new(Realm {
            number: self.add(Owner::Nested(directory)),
            comparer,
            prefix,
            foreign,
        })
    }

    /// Marks the entries that git tracks. Only the repositories that have an entry here are asked.
    pub fn mark(self, options: &Options<'_>, trees: &[Tree], entries: &mut [Entry]) {
        let owners = self
            .owners
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut known: Vec<Option<(Option<PathBuf>, Tracked)>> =
            owners.iter().map(|_| None).collect();
        for entry in entries
            .iter_mut()
            .filter(|entry| entry.untouchable.is_none())
        {
            let Some(owner) = owners.get(entry.realm) else {
                continue;
            };
            let (root, tracked) =
                known[entry.realm].get_or_insert_with(|| tracked_by(owner, options));
            let Some(root) = root else { continue };
            let absolute = below(&trees[entry.tree].root, &entry.path);
            let Some(relative) = relative_to(&absolute, root) else {
                // Reached by another way than its repository knows: nothing can say.
                entry.untouchable = Some(Untouchable::Unknown);
                continue;
            };
            // The outer repository may track files of a directory that became a repository later.
            let outer = || {
                options.repo.is_some_and(|repo| {
                    entry.tree == 0
                        && repo
                            .index()
                            .is_ok_and(|index| index.tracks(entry.path.as_bstr()))
                })
            };
            if tracked.is_unknown() {
                entry.untouchable = Some(Untouchable::Unknown);
            } else if tracked.contains(relative.as_bstr()) || outer() {
                entry.untouchable = Some(Untouchable::Tracked);
            }
        }
    }
}

/// Whether there is a repository with its root at `directory`, whose `.git` can be anything.
fn is_repository(directory: &Path) -> bool {
    match (Repo::nested(directory), real(directory)) {
        (Ok(repo), Ok(directory)) => repo.root() == directory,
        _ => false,
    }
}

fn tracked_by(owner: &Owner, options: &Options<'_>) -> (Option<PathBuf>, Tracked) {
    match owner {
        Owner::Given => match options.repo {
            Some(repo) => (Some(repo.root().to_path_buf()), Tracked::of(repo)),
            None => (None, Tracked::nothing()),
        },
        Owner::Nested(directory) => (Some(directory.clone()), Tracked::nested(directory)),
        Owner::Around(directory) => match Repo::around(directory) {
            Ok(Some(repo)) => (Some(repo.root().to_path_buf()), Tracked::of(&repo)),
            Ok(None) => (None, Tracked::nothing()),
            Err(_) => (Some(directory.clone()), Tracked::unknown()),
        },
    }
}
