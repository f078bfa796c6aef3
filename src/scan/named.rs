//! The entries of sources that an event, a user or the payload names: only their directories are
//! looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use bstr::{BStr, BString, ByteSlice};

use super::due::{Asked, InDirectory, Owners, Wanted, finish};
use super::found::Found;
use super::owner::{Owner, Realms};
use super::place::{Place, open, other_way};
use super::prefix::{self, Prefix};
use super::{Options, Rules, Scan, Tree, TreeKind};
use crate::fsys::path::below;
use crate::fsys::relative::split;
use crate::fsys::{Dir, DirBuffer, Shared};
use crate::payload::Payload;

/// Up to so many sources are asked for one by one.
const FEW: usize = 4;

/// A directory to look at.
struct Job<'w> {
    path: &'w BStr,
    realm: usize,
    sources: &'w InDirectory<'w>,
}

/// Judges the entries of the sources that are wanted.
///
/// # Errors
/// If the root cannot be opened. What fails below is a [`super::Trouble`].
pub fn sources(options: &Options<'_>, wanted: &[Wanted]) -> Result<Scan> {
    let mut found = Found {
        trees: vec![Tree {
            root: options.root.to_path_buf(),
            kind: TreeKind::Work,
        }],
        ..Found::default()
    };
    let mut left = BTreeSet::new();
    if !wanted.is_empty() {
        let prefixes = prefix::open_all(options, &mut found);
        left = look_for(options, &prefixes, wanted, &mut found)?;
    }
    Ok(finish(options, found, left, Payload::default()))
}

/// Looks at the directories of the sources that the payload names as deleted, and adds their
/// entries to those that a walk has found. Gives the directories that may have become ghosts.
///
/// # Errors
/// As [`sources`].
pub fn gone(
    options: &Options<'_>,
    prefixes: &[Prefix],
    payload: &Payload,
    found: &mut Found,
) -> Result<BTreeSet<BString>> {
    // With another base than HEAD a deletion can lie long back, and `mod.pyc` be meant to stay.
    let known = |path: &BString| options.repo.is_some_and(|repo| repo.knows(path.as_bstr()));
    let gone: Vec<Wanted> = payload
        .sources
        .iter()
        .filter(|(_, content)| content.is_none())
        .map(|(path, _)| Wanted {
            path: path.clone(),
            purge: true,
            gone: true,
            beside: known(path),
        })
        .collect();
    if gone.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut again = Found {
        realms: std::mem::take(&mut found.realms),
        ..Found::default()
    };
    let left = look_for(options, prefixes, &gone, &mut again);
    found.realms = std::mem::take(&mut again.realms);
    found.add_gone(again.entries);
    left
}

/// Looks at the directories of the sources that are wanted. Gives those that may have become ghosts.
fn look_for(
    options: &Options<'_>,
    prefixes: &[Prefix],
    wanted: &[Wanted],
    found: &mut Found,
) -> Result<BTreeSet<BString>> {
    let given = found.realms.add(match options.repo {
        Some(_) => Owner::Given,
        None => Owner::Around(options.root.to_path_buf()),
    });
    let root = Dir::open(options.root)
        .with_context(|| format!("cannot open the directory {}", options.root.display()))?;
    let mut directories: BTreeMap<&BStr, InDirectory<'_>> = BTreeMap::new();
    for source in wanted
        .iter()
        .filter(|source| !options.exclude.path(source.path.as_bstr()))
    {
        let (directory, name) = split(source.path.as_bstr());
        directories
            .entry(directory)
            .or_default()
            .insert(name, source);
    }
    let mut known: BTreeMap<BString, Option<usize>> = BTreeMap::new();
    let jobs: Vec<Job<'_>> = directories
        .iter()
        .map(|(&path, sources)| Job {
            path,
            realm: realm_of(options, &found.realms, &mut known, path, given),
            sources,
        })
        .collect();
    let gone = jobs
        .iter()
        .filter(|job| job.sources.values().any(|source| source.gone));
    let left = gone.flat_map(|job| above(job.path)).collect();
    let (rules, waiting) = (options.rules(), Shared::new(&jobs));
    found.merge(Found::in_threads(
        jobs.len(),
        || (),
        || {
            let mut found = Found::default();
            let mut buffer = DirBuffer::default();
            while let Some((_, job)) = waiting.next() {
                in_work_tree(rules, &root, job, &mut buffer, &mut found);
            }
            found
        },
    ));
    let mut buffer = DirBuffer::default();
    for prefix in prefixes {
        in_prefix(options, prefix, &directories, &mut buffer, found);
    }
    Ok(left)
}

/// A directory and all above it but the root, where it or one of them may have become a ghost.
fn above(path: &BStr) -> impl Iterator<Item = BString> + '_ {
    let parents = path.find_iter("/").map(|slash| path[..slash].into());
    parents.chain((!path.is_empty()).then(|| path.to_owned()))
}

/// The repository a directory lies in: the given one, or one nested in it. `known` is what is known
/// so far: for a directory the repository it is the root of.
fn realm_of(
    options: &Options<'_>,
    realms: &Realms,
    known: &mut BTreeMap<BString, Option<usize>>,
    path: &BStr,
    given: usize,
) -> usize {
    let mut directories: Vec<BString> = above(path).collect();
    directories.reverse();
    for directory in directories {
        let nested = *known.entry(directory).or_insert_with_key(|directory| {
            let absolute = below(options.root, directory);
            let is_root = absolute.join(".git").symlink_metadata().is_ok();
            is_root.then(|| realms.add(Owner::Nested(absolute)))
        });
        if let Some(nested) = nested {
            return nested;
        }
    }
    given
}

/// What of a directory's names matters: all (`None`), unless the entries of a few sources are purged
/// whatever else is there.
fn few(sources: &InDirectory<'_>) -> Option<BTreeSet<Vec<u8>>> {
    let few = sources.len() <= FEW && sources.values().all(|source| source.purge);
    few.then(|| {
        let of_sources = sources
            .keys()
            .flat_map(|name| [&b""[..], b"c", b"o"].map(|end| [name.as_bytes(), end].concat()));
        of_sources.chain([b"__pycache__".to_vec()]).collect()
    })
}

fn in_work_tree(
    rules: Rules<'_>,
    root: &Dir,
    job: &Job<'_>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let few = few(job.sources);
    let opened = open((rules.root, root), job.path, few.as_ref(), buffer, found);
    if let Some((directory, names)) = opened {
        let owners = Owners::of(job.sources);
        let place = Place::new(rules.root, job.path, &directory, &names);
        let asked = Asked::Named(&owners);
        place.look((0, job.realm), rules, &asked, buffer, found);
    }
}

fn in_prefix(
    options: &Options<'_>,
    prefix: &Prefix,
    directories: &BTreeMap<&BStr, InDirectory<'_>>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let roots: Vec<PathBuf> = std::iter::once(options.root.to_path_buf())
        .chain(other_way(options.root))
        .collect();
    for root in &roots {
        for (&path, sources) in directories {
            let owners = Owners::of(sources);
            let asked = Asked::Named(&owners);
            prefix::look_at(options, prefix, &below(root, path), &asked, buffer, found);
        }
    }
}
