//! What has become of all sources that a scan has seen: not only the payload's.
//!
//! The scan notes the stamp of every source. What has the same stamp later is the same; of the others
//! the content decides, as far as anything tells what it was: the payload and what no index knows
//! are hashed before, of everything else the index holds the id.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice as _};

use super::base::{content_hash, ignored};
use super::stamp::{Move, Moved, Stamps};
use super::{Base, Comparer, Payload};
use crate::fsys::path::{below, real, relative_to};
use crate::fsys::relative::{is_below, within};
use crate::fsys::{Shared, in_threads};
use crate::git::Repo;

/// Up to so many sources that no index knows are hashed; of more the stamps decide alone.
const HASHED: usize = 5_000;

/// The sources of a scan at its moment.
#[derive(Default)]
pub struct Certificate {
    stamps: Stamps,
    /// Content of what no index knows, by tree and path.
    contents: HashMap<(usize, BString), Option<[u8; 32]>>,
    submodules: Vec<Arc<Comparer>>,
    /// Directories of the work tree that tracked links lead to.
    reached: Vec<BString>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").finish_non_exhaustive()
    }
}

/// What has become of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceChange {
    /// It has other content, or nothing tells what it had.
    Changed,
    /// It was not there.
    Appeared,
    /// It is not there any more.
    Vanished,
    /// It was written or replaced, and has the content it had.
    Rewritten,
    /// Only its ctime is another.
    Touched,
}

impl SourceChange {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Appeared => "appeared",
            Self::Vanished => "vanished",
            Self::Rewritten => "rewritten",
            Self::Touched => "touched",
        }
    }
}

/// A source that something has become of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the tree it lies in.
    pub tree: usize,
    /// Path relative to the root of that tree.
    pub path: BString,
    /// What it is.
    pub change: SourceChange,
}

/// What sources were compared with.
#[derive(Clone, Copy)]
pub struct Reference<'r> {
    /// The repository, where there is one.
    pub repo: Option<&'r Repo>,
    /// The base, which has read the index of before.
    pub base: &'r Base,
    /// The payload of before.
    pub payload: &'r Payload,
}

impl Certificate {
    /// The certificate of a scan. `roots` are the roots of its trees, the work tree's first; `unknown`
    /// the sources, by tree and path, whose content no index tells.
    pub fn of(
        stamps: Stamps,
        unknown: Vec<(usize, BString)>,
        submodules: Vec<Arc<Comparer>>,
        base: Option<&Base>,
        roots: &[PathBuf],
    ) -> Self {
        let top = base.and_then(Base::top);
        let comparers = submodules.iter().map(AsRef::as_ref).chain(top);
        let reached = comparers
            .flat_map(|comparer| reached(comparer, &roots[0]))
            .collect();
        let mut certificate = Self {
            stamps,
            contents: HashMap::new(),
            submodules,
            reached,
        };
        let linked = certificate.reached.iter();
        let linked = linked.flat_map(|top| certificate.stamps.below(0, top.as_bstr()));
        let unknown: HashSet<(usize, BString)> = unknown.into_iter().chain(linked).collect();
        if unknown.len() <= HASHED {
            let unknown: Vec<(usize, BString)> = unknown.into_iter().collect();
            certificate.contents = hash_all(unknown, roots);
        }
        certificate
    }

    /// The stamps to compare with.
    pub fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// What has become of the sources that have `moved`, sorted. Those of the work tree that git
    /// ignores do not count, unless a tracked link leads to them; nor do those that `own` says are an
    /// environment's, unless git tracks them.
    ///
    /// # Errors
    /// If neither libgit2 nor git can tell what is ignored.
    pub fn differences(
        &self,
        moved: Vec<Moved>,
        reference: Reference<'_>,
        roots: &[PathBuf],
        own: &dyn Fn(&BStr) -> bool,
    ) -> Result<Vec<Difference>> {
        let (mut counts, doubtful): (Vec<Moved>, Vec<Moved>) = moved
            .into_iter()
            .partition(|moved| moved.tree != 0 || self.is_known(moved.path.as_bstr(), reference));
        let doubtful: Vec<Moved> = doubtful
            .into_iter()
            .filter(|moved| !own(moved.path.as_bstr()))
            .collect();
        match reference.repo {
            Some(repo) => counts.extend(not_ignored(repo, reference.base, doubtful, &roots[0])?),
            None => counts.extend(doubtful),
        }
        let mut differences = counts
            .into_iter()
            .map(|moved| {
                let change = match moved.how {
                    Move::Appeared => SourceChange::Appeared,
                    Move::Vanished => SourceChange::Vanished,
                    Move::Written | Move::Touched => {
                        match (self.is_same(&moved, reference, roots)?, moved.how) {
                            (false, _) => SourceChange::Changed,
                            (true, Move::Touched) => SourceChange::Touched,
                            (true, _) => SourceChange::Rewritten,
                        }
                    }
                };
                Ok(Difference {
                    tree: moved.tree,
                    path: moved.path,
                    change,
                })
            })
            .collect::<Result<Vec<Difference>>>()?;
        differences.sort_by(|one, other| (one.tree, &one.path).cmp(&(other.tree, &other.path)));
        Ok(differences)
    }

    /// Whether a source of the work tree counts without git being asked: it belongs to the payload,
    /// is tracked, or is reached by a tracked link.
    fn is_known(&self, path: &BStr, reference: Reference<'_>) -> bool {
        reference.payload.content(path).is_some()
            || self.reached.iter().any(|top| is_below(path, top))
            || self
                .comparers(path, reference.base)
                .any(|(comparer, path)| comparer.tracks(path))
    }

    /// Everything that may know a source of the work tree, with its path there.
    fn comparers<'c>(
        &'c self,
        path: &'c BStr,
        base: &'c Base,
    ) -> impl Iterator<Item = (&'c Comparer, &'c BStr)> {
        let submodules = self.submodules.iter().map(AsRef::as_ref);
        submodules
            .chain(base.top())
            .filter(|comparer| is_below(path, comparer.prefix()))
            .map(|comparer| (comparer, within(path, comparer.prefix())))
    }

    /// Whether a source has the content it had. What cannot be told is not the same.
    fn is_same(&self, moved: &Moved, reference: Reference<'_>, roots: &[PathBuf]) -> Result<bool> {
        let path = below(&roots[moved.tree], &moved.path);
        let hashed = self.contents.get(&(moved.tree, moved.path.clone()));
        let in_payload = || {
            let of_work_tree = (moved.tree == 0).then_some(moved.path.as_bstr());
            of_work_tree.and_then(|path| reference.payload.content(path))
        };
        if let Some(before) = hashed.or_else(in_payload) {
            return Ok(before.is_some() && *before == content_hash(&path));
        }
        if moved.tree != 0 {
            return Ok(false);
        }
        for (comparer, inside) in self.comparers(moved.path.as_bstr(), reference.base) {
            if comparer.tracks(inside) {
                return comparer.has_content_of(inside, &path, reference.repo);
            }
        }
        Ok(false)
    }
}

/// The directories of the work tree that tracked symlinks lead to.
fn reached(comparer: &Comparer, root: &Path) -> Vec<BString> {
    let Ok(whole) = real(root) else {
        return Vec::new();
    };
    let links = comparer.links().into_iter();
    links
        .filter_map(|link| real(&below(root, &link)).ok())
        .filter(|target| target.is_dir())
        .filter_map(|target| relative_to(&target, &whole))
        // A link to the root, or to what is around the link, leads to nothing of its own.
        .filter(|target| !target.is_empty())
        .collect()
}

fn hash_all(
    sources: Vec<(usize, BString)>,
    roots: &[PathBuf],
) -> HashMap<(usize, BString), Option<[u8; 32]>> {
    let waiting = Shared::new(&sources);
    let hashed = in_threads(
        sources.len(),
        || (),
        || {
            let mut hashed = Vec::new();
            while let Some((at, (tree, path))) = waiting.next() {
                hashed.push((at, content_hash(&below(&roots[*tree], path))));
            }
            hashed
        },
    );
    let hashed: BTreeMap<usize, Option<[u8; 32]>> = hashed.into_iter().flatten().collect();
    sources.into_iter().zip(hashed.into_values()).collect()
}

/// Those sources of the work tree that are not ignored: neither by the repository they lie in, nor
/// with the whole of it by the one around that.
fn not_ignored(repo: &Repo, base: &Base, asked: Vec<Moved>, root: &Path) -> Result<Vec<Moved>> {
    let mut roots: HashMap<BString, bool> = HashMap::new();
    let mut homes: BTreeMap<BString, Vec<Moved>> = BTreeMap::new();
    for moved in asked {
        let home = home(root, moved.path.as_bstr(), &mut roots);
        homes.entry(home).or_default().push(moved);
    }
    let mut counts = Vec::new();
    for (home, asked) in homes {
        let directory = below(root, &home);
        let nested = if home.is_empty() {
            None
        } else {
            // Where there is no repository behind the name, git takes it for a part of the one around.
            let nested = Repo::nested(&directory).ok();
            nested.filter(|nested| real(&directory).is_ok_and(|real| nested.root() == real))
        };
        let Some(nested) = nested else {
            let paths: Vec<BString> = asked.iter().map(|moved| moved.path.clone()).collect();
            let ignored = ignored(repo, &paths)?;
            counts.extend(
                asked
                    .into_iter()
                    .filter(|moved| !ignored.contains(&moved.path)),
            );
            continue;
        };
        let submodule = base
            .top()
            .is_some_and(|top| top.is_submodule(home.as_bstr()));
        if !submodule && !repo.ignored(std::slice::from_ref(&home))?.is_empty() {
            continue;
        }
        let index = nested.index().ok();
        let inside = |moved: &Moved| within(moved.path.as_bstr(), home.as_bstr()).to_owned();
        let (tracked, asked): (Vec<Moved>, Vec<Moved>) = asked
            .into_iter()
            .partition(|moved| index.is_none_or(|index| index.tracks(inside(moved).as_bstr())));
        counts.extend(tracked);
        let paths: Vec<BString> = asked.iter().map(inside).collect();
        let ignored = ignored(&nested, &paths)?;
        counts.extend(
            asked
                .into_iter()
                .filter(|moved| !ignored.contains(&inside(moved))),
        );
    }
    Ok(counts)
}

/// The nearest directory above a path that has a `.git`; empty for the root. `known` is what was
/// found out so far.
fn home(root: &Path, path: &BStr, known: &mut HashMap<BString, bool>) -> BString {
    let mut above = path;
    while let Some(slash) = above.rfind_byte(b'/') {
        above = above[..slash].as_bstr();
        let has_git = *known
            .entry(above.to_owned())
            .or_insert_with_key(|directory| {
                below(root, directory)
                    .join(".git")
                    .symlink_metadata()
                    .is_ok()
            });
        if has_git {
            return above.to_owned();
        }
    }
    BString::default()
}
