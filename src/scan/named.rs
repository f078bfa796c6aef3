//! The entries of sources that an event or a user names: only their directories are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use bstr::{BStr, BString, ByteSlice};

use super::found::{Found, finish};
use super::names::Names;
use super::owner::Owner;
use super::place::{Cache, One, Place, entries_beside, entries_in, other_way};
use super::{Options, Rules, Scan, Tree, TreeKind};
use crate::bytecode::{Listing, State};
use crate::fsys::relative::{join, split};
use crate::fsys::{Dir, DirBuffer, Shared};
use crate::payload::Payload;

/// A source whose entries are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Path relative to the root.
    pub path: BString,
    /// Whether its entries are purged; else they are judged.
    pub purge: bool,
    /// Whether it is known to be gone: its left-over entries are purged.
    pub gone: bool,
    /// Whether `mod.pyc` beside a source that is gone may go too.
    pub beside: bool,
}

/// The wanted sources of one directory, by file name.
type InDirectory<'w> = BTreeMap<&'w BStr, &'w Wanted>;

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
    let mut ghosts: Vec<BString> = Vec::new();
    if !wanted.is_empty() {
        let given = found.realms.add(Owner::Given);
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
        let mut realms: BTreeMap<BString, Option<usize>> = BTreeMap::new();
        let jobs: Vec<Job<'_>> = directories
            .iter()
            .map(|(&path, sources)| Job {
                path,
                realm: realm_of(options, &found, &mut realms, path, given),
                sources,
            })
            .collect();
        let gone = jobs
            .iter()
            .filter(|job| job.sources.values().any(|source| source.gone));
        ghosts.extend(gone.flat_map(|job| above(job.path)));
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
        for prefix in options.prefixes {
            in_prefix(options, prefix, &directories, &mut buffer, &mut found);
        }
    }
    ghosts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    ghosts.dedup();
    Ok(finish(options, found, ghosts, Payload::default()))
}

/// A directory and all above it but the root, where it or one of them may have become a ghost.
fn above(path: &BStr) -> impl Iterator<Item = BString> + '_ {
    let parents = path.find_iter("/").map(|slash| path[..slash].into());
    parents.chain((!path.is_empty()).then(|| path.to_owned()))
}

/// The repository a directory lies in: the given one, or one nested in it. `realms` is what is known
/// so far: for a directory the repository it is the root of.
fn realm_of(
    options: &Options<'_>,
    found: &Found,
    realms: &mut BTreeMap<BString, Option<usize>>,
    path: &BStr,
    given: usize,
) -> usize {
    let mut directories: Vec<BString> = above(path).collect();
    directories.reverse();
    for directory in directories {
        let nested = *realms.entry(directory).or_insert_with_key(|directory| {
            let absolute = options.root.join(directory.to_path_lossy());
            let is_root = absolute.join(".git").symlink_metadata().is_ok();
            is_root.then(|| found.realms.add(Owner::Nested(absolute)))
        });
        if let Some(nested) = nested {
            return nested;
        }
    }
    given
}

/// The wanted sources of one directory, to be found by their entries.
struct Owners<'w> {
    sources: &'w InDirectory<'w>,
    listing: Listing<'w>,
}

impl<'w> Owners<'w> {
    fn of(sources: &'w InDirectory<'w>) -> Self {
        let names = sources.keys().map(|name| name.as_bytes()).collect();
        Self {
            sources,
            listing: Listing::sorted(names),
        }
    }

    /// Judges an entry if one of the wanted sources owns it, and says whether it is due.
    fn note(&self, rules: Rules<'_>, one: &One<'_>, found: &mut Found) {
        let names = one.parsed.sources(&self.listing).into_iter();
        let owners: Vec<&Wanted> = names
            .filter_map(|name| self.sources.get(name.as_bstr()).copied())
            .collect();
        if !owners.is_empty() {
            found.take(rules, one, &|judged| is_due(judged.state, &owners));
        }
    }
}

/// Opens a directory and looks what of its names matters: all, unless the entries of a few sources
/// are purged whatever else is there.
fn open(root: &Dir, job: &Job<'_>, buffer: &mut DirBuffer) -> io::Result<(Dir, Names)> {
    let few = job.sources.len() <= FEW && job.sources.values().all(|source| source.purge);
    if !few {
        return Names::below(root, job.path, buffer);
    }
    let directory = root.open_below(job.path)?;
    let of_sources = job
        .sources
        .keys()
        .flat_map(|name| [&b""[..], b"c", b"o"].map(|end| [name.as_bytes(), end].concat()));
    let names: BTreeSet<Vec<u8>> = of_sources.chain([b"__pycache__".to_vec()]).collect();
    let names = Names::asked(&directory, &names)?;
    Ok((directory, names))
}

fn in_work_tree(
    rules: Rules<'_>,
    root: &Dir,
    job: &Job<'_>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let Job {
        path,
        realm,
        sources,
    } = *job;
    let (directory, names) = match open(root, job, buffer) {
        Ok(opened) => opened,
        Err(error) => {
            return found.trouble(
                rules.root.join(path.to_path_lossy()),
                "reading the directory",
                error,
            );
        }
    };
    let owners = Owners::of(sources);
    let place = Place::new(rules.root, path, &directory, &names);
    let gone_beside = |name: &[u8]| {
        sources
            .get(name.as_bstr())
            .is_some_and(|source| source.gone && source.beside)
    };
    let cache = Cache {
        tree: 0,
        root: rules.root,
        path,
        directory: &directory,
        realm,
        symlinked: false,
    };
    for one in cache.each(&place, entries_beside(&names, &gone_beside)) {
        owners.note(rules, &one, found);
    }
    let cache_path = join(path, b"__pycache__");
    match place.open_cache(buffer) {
        None => {}
        Some(Err(error)) => found.trouble(
            rules.root.join(cache_path.to_path_lossy()),
            "reading the directory",
            error,
        ),
        Some(Ok(open)) => {
            let cache = Cache {
                tree: 0,
                root: rules.root,
                path: cache_path.as_bstr(),
                directory: &open.directory,
                realm,
                symlinked: open.symlinked,
            };
            for one in cache.each(&place, entries_in(&open.names)) {
                owners.note(rules, &one, found);
            }
        }
    }
    found.failed(&place);
}

fn is_due(state: State, owners: &[&Wanted]) -> bool {
    if state == State::Orphan {
        return owners.iter().any(|owner| owner.gone || owner.purge);
    }
    state >= State::Racy || owners.iter().any(|owner| owner.purge)
}

fn in_prefix(
    options: &Options<'_>,
    prefix: &std::path::Path,
    directories: &BTreeMap<&BStr, InDirectory<'_>>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let Some(tree) = super::prefix::open(options, prefix, found) else {
        return;
    };
    let roots: Vec<PathBuf> = std::iter::once(options.root.to_path_buf())
        .chain(other_way(options.root))
        .collect();
    for root in &roots {
        for (&path, sources) in directories {
            let owners = Owners::of(sources);
            let absolute = root.join(path.to_path_lossy());
            let inside: BString = absolute
                .as_os_str()
                .as_bytes()
                .trim_start_with(|c| c == '/')
                .into();
            match Names::below(&tree.handle, inside.as_bstr(), buffer) {
                Err(error) => found.trouble(
                    prefix.join(inside.to_path_lossy()),
                    "reading the directory",
                    error,
                ),
                Ok(listed) => super::prefix::directory(
                    options,
                    &tree,
                    inside.as_bstr(),
                    &listed,
                    buffer,
                    found,
                    &|found, one| owners.note(options.rules(), one, found),
                ),
            }
        }
    }
}
