//! The walk: one queue of directories, worked off by as many threads as there are cores.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use bstr::{BString, ByteSlice};

use super::due::{Asked, Suspects};
use super::found::Found;
use super::ghosts::Hollow;
use super::names::Names;
use super::owner::{Compare, Owner, Realm, Realms};
use super::place::{self, Place};
use super::queue::Queue;
use super::venv::{MARK, Venv};
use super::{Options, Rules, Tree, TreeKind};
use crate::bytecode::outdates_until;
use crate::fsys::relative::{join, split, within};
use crate::fsys::{Dir, DirBuffer, FileType, Stat, WORTH_THREADS};
use crate::git::Repo;
use crate::payload::{Folders, Moved, OnDisk, Stamp, Stamps};

/// A directory to look at.
struct Item<'a> {
    path: BString,
    realm: Arc<Realm<'a>>,
    venv: Venv,
    /// Where the entries below it begin in the index, if that is known.
    at: Option<usize>,
}

/// Sources of a directory that was looked at before the index was read.
struct Later<'a> {
    path: BString,
    realm: Arc<Realm<'a>>,
    names: Names,
    files: Vec<(Vec<u8>, Stat)>,
    /// Whether sources that are not tracked can belong to the payload.
    untracked: bool,
}

/// What a walk is for.
#[derive(Clone, Copy)]
enum Purpose<'w> {
    /// To judge entries and find the payload.
    Judge {
        /// Whether the stamps of all sources are noted.
        stamp: bool,
    },
    /// To compare sources with their stamps of before.
    Compare(&'w Stamps),
}

/// One walk over one tree.
struct Walk<'w, 'a> {
    rules: Rules<'a>,
    progress: Option<&'a (dyn Fn(u64) + Sync)>,
    tree: usize,
    kind: TreeKind,
    root: &'w Path,
    handle: Dir,
    purpose: Purpose<'w>,
    realms: &'w Realms,
    seen: AtomicU64,
}

/// Walks the work tree and the trees added.
pub fn trees(options: &Options<'_>) -> Result<Found> {
    let stamp = options.stamp;
    let mut found = all(options, Purpose::Judge { stamp })?;
    found.stamps.sort();
    Ok(found)
}

/// Walks the same trees again, and names the sources that have moved since.
pub fn again(options: &Options<'_>, stamps: &Stamps) -> Result<Vec<Moved>> {
    let mut found = all(options, Purpose::Compare(stamps))?;
    stamps.unseen(&found.seen, &mut found.moved);
    Ok(found.moved)
}

fn all(options: &Options<'_>, purpose: Purpose<'_>) -> Result<Found> {
    let mut found = Found::default();
    for (tree, root) in super::roots(options).enumerate() {
        let kind = match tree {
            0 => TreeKind::Work,
            _ => TreeKind::Also,
        };
        found.trees.push(Tree {
            root: root.to_path_buf(),
            kind,
        });
        let realms = std::mem::take(&mut found.realms);
        let (owner, comparer) = match kind {
            TreeKind::Work => (Owner::Given, options.payload.map(Compare::Top)),
            _ => (Owner::Around(root.to_path_buf()), None),
        };
        let realm = Realm {
            number: realms.add(owner),
            comparer,
            prefix: BString::default(),
            foreign: false,
        };
        let result = one(options, tree, kind, root, &realms, realm, purpose);
        found.realms = realms;
        found.merge(result?);
    }
    Ok(found)
}

fn one<'a>(
    options: &Options<'a>,
    tree: usize,
    kind: TreeKind,
    root: &Path,
    realms: &Realms,
    realm: Realm<'a>,
    purpose: Purpose<'_>,
) -> Result<Found> {
    let handle =
        Dir::open(root).with_context(|| format!("cannot open the directory {}", root.display()))?;
    let walk = Walk {
        rules: options.rules(),
        progress: options.progress,
        tree,
        kind,
        root,
        handle,
        purpose,
        realms,
        seen: AtomicU64::new(0),
    };
    let read = || match (options.payload, options.repo) {
        (Some(base), Some(repo)) => base.read(repo),
        _ => Ok(()),
    };
    let beside = options.payload.is_some_and(|base| !base.is_read())
        && options.repo.is_some_and(Repo::has_large_index);
    let first = Item {
        path: BString::default(),
        realm: Arc::new(realm),
        venv: Venv::Outside,
        at: None,
    };
    walk.run(first, beside, read)
}

impl<'a> Walk<'_, 'a> {
    /// Works off the queue. `read` reads what sources are compared with: before all else, or
    /// `beside` it.
    fn run(
        &self,
        first: Item<'a>,
        beside: bool,
        read: impl FnOnce() -> Result<()>,
    ) -> Result<Found> {
        let mut found = Found::default();
        let mut waiting = vec![first];
        let mut read = Some(read);
        let mut result = Ok(());
        if !beside {
            if let Some(read) = read.take() {
                read()?;
            }
            let mut buffer = DirBuffer::default();
            while let Some(item) = waiting.pop() {
                waiting.extend(self.visit(&item, &mut buffer, &mut found, &mut Vec::new()));
                if waiting.len() >= WORTH_THREADS {
                    break;
                }
            }
        }
        if !waiting.is_empty() {
            let directories = if beside { usize::MAX } else { waiting.len() };
            let queue = Queue::new(waiting);
            let first = || {
                if let Some(read) = read {
                    result = read();
                }
            };
            found.merge(Found::in_threads(directories, first, || {
                let mut found = Found::default();
                let mut buffer = DirBuffer::default();
                let mut later = Vec::new();
                while let Some(item) = queue.next() {
                    let below = self.visit(&item, &mut buffer, &mut found, &mut later);
                    queue.done(below);
                }
                for sources in later {
                    self.compare_later(&sources, &mut found);
                }
                found
            }));
        }
        result.map(|()| found)
    }

    fn visit(
        &self,
        item: &Item<'a>,
        buffer: &mut DirBuffer,
        found: &mut Found,
        later: &mut Vec<Later<'a>>,
    ) -> Vec<Item<'a>> {
        if let Some(progress) = self.progress {
            progress(self.seen.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let path = item.path.as_bstr();
        let Some((directory, names)) =
            place::open((self.root, &self.handle), path, None, buffer, found)
        else {
            return Vec::new();
        };
        let realm = if !path.is_empty() && names.find(b".git").is_some() {
            self.realms.nested(self.root, path, &item.realm)
        } else {
            Arc::clone(&item.realm)
        };
        let venv = item.venv.marked(names.find(MARK).is_some());
        let untracked = !realm.foreign && !venv.is_own();
        let place = Place::new(self.root, path, &directory, &names);
        let compare = realm.comparer.as_ref();
        let mut folders = Vec::new();
        let suspects = match compare {
            None => Suspects::Named(HashSet::new()),
            Some(compare) if compare.is_ready() => {
                let suspects;
                (suspects, folders) = self.candidates(&place, &realm, item.at, untracked, found);
                Suspects::Named(suspects)
            }
            Some(_) => Suspects::All,
        };
        match self.purpose {
            Purpose::Judge { stamp } => {
                self.judge(&place, &realm, &suspects, buffer, found);
                if stamp {
                    self.stamp(&place, &realm, found);
                }
            }
            Purpose::Compare(stamps) => self.compare(&place, stamps, found),
        }
        let files = match suspects {
            Suspects::All => {
                let files = place.python_files().into_iter();
                files.map(|(name, stat)| (name.to_vec(), stat)).collect()
            }
            Suspects::Named(_) => Vec::new(),
        };
        found.failed(&place);
        let mut below = Vec::new();
        for (name, file_type) in names.iter() {
            if file_type != FileType::Directory || matches!(name, b".git" | b"__pycache__") {
                continue;
            }
            let path = join(path, name);
            let Some(venv) = venv.descend(name) else {
                continue;
            };
            if !self.rules.exclude.directory(path.as_bstr()) {
                let known = folders.binary_search_by_key(&name, |&(folder, _)| folder);
                below.push(Item {
                    path,
                    realm: Arc::clone(&realm),
                    venv,
                    at: known.ok().map(|known| folders[known].1),
                });
            }
        }
        if matches!(suspects, Suspects::All) {
            later.push(Later {
                path: item.path.clone(),
                realm,
                names,
                files,
                untracked,
            });
        }
        below
    }

    /// Names the payload's candidates of a directory that was looked at before the index was read.
    fn compare_later(&self, sources: &Later<'a>, found: &mut Found) {
        let Some(comparer) = sources.realm.comparer.as_ref().and_then(Compare::get) else {
            return;
        };
        let directory = within(sources.path.as_bstr(), sources.realm.prefix.as_bstr());
        let files: Vec<(&[u8], Stat)> = sources
            .files
            .iter()
            .map(|(name, stat)| (name.as_slice(), *stat))
            .collect();
        let below = |name: &[u8]| sources.names.find(name) == Some(FileType::Directory);
        let read =
            |name: &[u8], link: bool| read(&self.handle.open_below(&sources.path)?, name, link);
        let on_disk = OnDisk {
            files: &files,
            untracked: sources.untracked,
            below: &below,
            read: &read,
        };
        comparer.directory(directory, None, on_disk, &mut found.candidates);
    }

    /// Names the payload's candidates of a directory; gives the names of those sources, and where
    /// the entries below its subdirectories begin in the index.
    fn candidates<'r>(
        &self,
        place: &Place<'_>,
        realm: &'r Realm<'a>,
        at: Option<usize>,
        untracked: bool,
        found: &mut Found,
    ) -> (HashSet<Vec<u8>>, Folders<'r>) {
        let Some(comparer) = realm.comparer.as_ref().and_then(Compare::get) else {
            return (HashSet::new(), Vec::new());
        };
        let directory = within(place.path, realm.prefix.as_bstr());
        let files = place.python_files();
        let before = found.candidates.len();
        let below = |name: &[u8]| place.names.find(name) == Some(FileType::Directory);
        let read = |name: &[u8], link: bool| read(place.directory, name, link);
        let candidates = &mut found.candidates;
        let on_disk = OnDisk {
            files: &files,
            untracked,
            below: &below,
            read: &read,
        };
        let folders = comparer.directory(directory, at, on_disk, candidates);
        let mut names: HashSet<Vec<u8>> = HashSet::new();
        for candidate in &found.candidates[before..] {
            names.insert(split(candidate.path.as_bstr()).1.to_vec());
        }
        if comparer.knows_any() {
            let known = files
                .iter()
                .filter(|(name, _)| comparer.is_known(join(directory, name).as_bstr()));
            names.extend(known.map(|(name, _)| name.to_vec()));
        }
        (names, folders)
    }

    /// Notes the stamps of the sources of a directory, and which of them have content that no index
    /// tells.
    fn stamp(&self, place: &Place<'_>, realm: &Realm<'a>, found: &mut Found) {
        let sources = self.stamps_of(place);
        // An index that is being read yet will be there.
        let index = |compare: &Compare<'_>| !compare.is_ready() || compare.get().is_some();
        if realm.foreign || !realm.comparer.as_ref().is_some_and(index) {
            let all = sources.iter().map(|(name, ..)| place.relative(name));
            found.unknown.extend(all.map(|path| (self.tree, path)));
        } else {
            let links = sources.iter().filter(|(_, _, link)| *link);
            let links = links.map(|(name, ..)| (self.tree, place.relative(name)));
            found.unknown.extend(links);
        }
        let stamps = sources.into_iter().map(|(name, stamp, _)| (name, stamp));
        found.stamps.add(self.tree, place.path, stamps);
    }

    /// Names the sources of a directory whose stamps are others than before.
    fn compare(&self, place: &Place<'_>, stamps: &Stamps, found: &mut Found) {
        found.seen.extend(stamps.directory(self.tree, place.path));
        let sources = self.stamps_of(place).into_iter();
        let now = sources.map(|(name, stamp, _)| (name, stamp));
        stamps.compare(self.tree, place.path, now, &mut found.moved);
    }

    /// The sources of a directory, sorted by name, with their stamps, and whether they are symlinks.
    fn stamps_of<'p>(&self, place: &Place<'p>) -> Vec<(&'p [u8], Stamp, bool)> {
        let exclude = self.rules.exclude;
        let mut files = place.python_files();
        if !exclude.is_empty() {
            files.retain(|(name, _)| !exclude.file(place.relative(name).as_bstr()));
        }
        let files = files.into_iter();
        files
            .map(|(name, lstat)| {
                let link = lstat.file_type() == FileType::Symlink;
                let followed = link.then(|| place.directory.stat(name).ok()).flatten();
                (name, Stamp::of(&lstat, followed.as_ref()), link)
            })
            .collect()
    }

    fn judge(
        &self,
        place: &Place<'_>,
        realm: &Realm<'a>,
        suspects: &Suspects,
        buffer: &mut DirBuffer,
        found: &mut Found,
    ) {
        let mut hollow = Hollow {
            path: place.path.to_owned(),
            caches: false,
            below: 0,
        };
        let mut only_caches = self.kind == TreeKind::Work;
        for (name, file_type) in place.names.iter() {
            match file_type {
                FileType::Directory if name == b"__pycache__" => {}
                FileType::Directory if name != b".git" => hollow.below += 1,
                _ => only_caches = false,
            }
        }
        if self.rules.numba_all {
            let files = place.names.iter().enumerate();
            for (at, _) in files.filter(|(_, (name, _))| name.ends_with(b".py")) {
                if let Some(facts) = place.facts(at) {
                    found.outdated = found.outdated.max(outdates_until(&facts));
                }
            }
        }
        let asked = Asked::Every(suspects);
        let here = (self.tree, realm.number);
        let looked = place.look(here, self.rules, &asked, buffer, found);
        hollow.caches = looked.entries > 0;
        only_caches &= looked.only_orphans;
        if only_caches {
            found.hollow.push(hollow);
        }
    }
}

/// The bytes of a file of a directory, or where it points if it is a symlink.
fn read(directory: &Dir, name: &[u8], link: bool) -> io::Result<Vec<u8>> {
    if link {
        directory.read_link(name)
    } else {
        directory.read(name, u64::MAX)
    }
}
