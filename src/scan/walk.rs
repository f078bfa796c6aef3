//! The walk: one queue of directories, worked off by as many threads as there are cores.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use bstr::{BString, ByteSlice};

use super::directory::{Cache, Names, Place, entries_beside, entries_in, judge_entry};
use super::found::Found;
use super::ghosts::Hollow;
use super::realm::{Compare, Owner, Realm, Realms};
use super::{Options, Tree, TreeKind};
use crate::bytecode::{EntryName, Kind, Listing, State, outdates_until};
use crate::fsys::relative::{join, split, within};
use crate::fsys::{Dir, DirBuffer, FileType};

/// So many directories must wait before threads are worth their start.
const WORTH_THREADS: usize = 24;

/// Where in a virtual environment a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Venv {
    /// In none.
    Outside,
    /// In one, but not on the way to its packages.
    Inside,
    /// `lib`, `lib64`, `Lib`.
    Lib,
    /// `lib/python3.11` and its like.
    Python,
}

/// A directory to look at.
struct Item<'a> {
    path: BString,
    realm: Arc<Realm<'a>>,
    venv: Venv,
}

/// What the threads need of the options: all but the repository, whose handle is one thread's.
#[derive(Clone, Copy)]
struct Shared<'a> {
    exclude: &'a super::Exclude,
    read_every_header: bool,
    keep_all: bool,
    numba_all: bool,
    progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// One walk over one tree.
struct Walk<'w, 'a> {
    options: Shared<'a>,
    tree: usize,
    kind: TreeKind,
    root: &'w Path,
    handle: Dir,
    /// Whether entries are judged, or only the payload's candidates named.
    judging: bool,
    realms: &'w Realms,
    seen: AtomicU64,
}

/// Walks the work tree and the trees added.
pub fn trees(options: &Options<'_>) -> Result<Found> {
    let mut found = sources_or_all(options, true)?;
    for directory in options.also {
        let tree = found.trees.len();
        found.trees.push(Tree {
            root: directory.clone(),
            kind: TreeKind::Also,
        });
        let realms = std::mem::take(&mut found.realms);
        let realm = Realm {
            number: realms.add(Owner::Around(directory.clone())),
            prefix: BString::default(),
            comparer: None,
        };
        let result = one(
            options,
            tree,
            TreeKind::Also,
            directory,
            &realms,
            realm,
            true,
        );
        found.realms = realms;
        found.merge(result?);
    }
    Ok(found)
}

/// Walks the work tree for the payload's candidates alone.
pub fn sources_only(options: &Options<'_>) -> Result<Found> {
    sources_or_all(options, false)
}

fn sources_or_all(options: &Options<'_>, judging: bool) -> Result<Found> {
    let realms = Realms::default();
    let comparer = options
        .payload
        .and_then(|base| base.top())
        .map(Compare::Top);
    let realm = Realm {
        number: realms.add(Owner::Given),
        prefix: BString::default(),
        comparer,
    };
    let mut found = one(
        options,
        0,
        TreeKind::Work,
        options.root,
        &realms,
        realm,
        judging,
    )?;
    found.realms = realms;
    found.trees = vec![Tree {
        root: options.root.to_path_buf(),
        kind: TreeKind::Work,
    }];
    Ok(found)
}

fn one<'a>(
    options: &Options<'a>,
    tree: usize,
    kind: TreeKind,
    root: &Path,
    realms: &Realms,
    realm: Realm<'a>,
    judging: bool,
) -> Result<Found> {
    let handle =
        Dir::open(root).with_context(|| format!("cannot open the directory {}", root.display()))?;
    let shared = Shared {
        exclude: options.exclude,
        read_every_header: options.read_every_header,
        keep_all: options.keep_all,
        numba_all: options.numba_all,
        progress: options.progress,
    };
    let walk = Walk {
        options: shared,
        tree,
        kind,
        root,
        handle,
        judging,
        realms,
        seen: AtomicU64::new(0),
    };
    Ok(walk.run(Item {
        path: BString::default(),
        realm: Arc::new(realm),
        venv: Venv::Outside,
    }))
}

/// What the threads share: directories to look at, and how many are being looked at.
struct Queue<'a> {
    waiting: Mutex<(Vec<Item<'a>>, usize)>,
    more: Condvar,
}

impl<'a> Queue<'a> {
    fn lock(&self) -> MutexGuard<'_, (Vec<Item<'a>>, usize)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next directory, or `None` when there is nothing left to do for anybody.
    fn next(&self) -> Option<Item<'a>> {
        let mut waiting = self.lock();
        loop {
            if let Some(item) = waiting.0.pop() {
                waiting.1 += 1;
                return Some(item);
            }
            if waiting.1 == 0 {
                self.more.notify_all();
                return None;
            }
            waiting = self
                .more
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, below: Vec<Item<'a>>) {
        let mut waiting = self.lock();
        let several = below.len() > 1;
        waiting.0.extend(below);
        waiting.1 -= 1;
        if several || waiting.1 == 0 {
            self.more.notify_all();
        } else {
            self.more.notify_one();
        }
    }
}

impl<'a> Walk<'_, 'a> {
    fn run(&self, first: Item<'a>) -> Found {
        let mut found = Found::default();
        let mut buffer = DirBuffer::default();
        let mut waiting = vec![first];
        while let Some(item) = waiting.pop() {
            waiting.extend(self.visit(&item, &mut buffer, &mut found));
            if waiting.len() >= WORTH_THREADS {
                break;
            }
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let queue = Queue {
            waiting: Mutex::new((waiting, 0)),
            more: Condvar::new(),
        };
        let idle = queue.lock().0.is_empty();
        if !idle {
            std::thread::scope(|scope| {
                let work = || {
                    let mut found = Found::default();
                    let mut buffer = DirBuffer::default();
                    while let Some(item) = queue.next() {
                        let below = self.visit(&item, &mut buffer, &mut found);
                        queue.done(below);
                    }
                    found
                };
                let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
                found.merge(work());
                for other in others {
                    match other.join() {
                        Ok(part) => found.merge(part),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
            });
        }
        found
    }

    fn visit(&self, item: &Item<'a>, buffer: &mut DirBuffer, found: &mut Found) -> Vec<Item<'a>> {
        if let Some(progress) = self.options.progress {
            progress(self.seen.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let path = item.path.as_bstr();
        let listed = self.handle.open_below(path).and_then(|directory| {
            let names = Names::of(&directory, buffer)?;
            Ok((directory, names))
        });
        let (directory, names) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                found.trouble(
                    self.root.join(path.to_path_lossy()),
                    "reading the directory",
                    error,
                );
                return Vec::new();
            }
        };
        let realm = if !path.is_empty() && names.find(b".git").is_some() {
            self.realms.nested(self.root, path, &item.realm)
        } else {
            Arc::clone(&item.realm)
        };
        let venv = if names.find(b"pyvenv.cfg").is_some() {
            Venv::Inside
        } else {
            item.venv
        };
        let place = Place::new(self.root, path, &directory, &names);
        let suspects = if venv == Venv::Outside {
            self.candidates(&place, &realm, found)
        } else {
            HashSet::new()
        };
        if self.judging {
            self.judge(&place, &realm, &suspects, buffer, found);
        }
        found.failed(&place);
        let root_of_venv = names.find(b"pyvenv.cfg").is_some();
        let mut below = Vec::new();
        for (name, file_type) in names.iter() {
            if file_type != FileType::Directory || matches!(name, b".git" | b"__pycache__") {
                continue;
            }
            let path = join(path, name);
            let Some(venv) = descend(venv, root_of_venv, name) else {
                continue;
            };
            if !self.options.exclude.directory(path.as_bstr()) {
                below.push(Item {
                    path,
                    realm: Arc::clone(&realm),
                    venv,
                });
            }
        }
        below
    }

    /// Names the payload's candidates of a directory; gives the names of those sources.
    fn candidates(
        &self,
        place: &Place<'_>,
        realm: &Realm<'a>,
        found: &mut Found,
    ) -> HashSet<Vec<u8>> {
        let Some(comparer) = &realm.comparer else {
            return HashSet::new();
        };
        let directory = within(place.path, realm.prefix.as_bstr());
        let files = place.python_files();
        let before = found.candidates.len();
        let below = |name: &[u8]| place.names.find(name) == Some(FileType::Directory);
        let read = |name: &[u8], link: bool| {
            if link {
                place.directory.read_link(name)
            } else {
                place.directory.read(name, u64::MAX)
            }
        };
        comparer.directory(directory, &files, &below, &read, &mut found.candidates);
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
        names
    }

    fn judge(
        &self,
        place: &Place<'_>,
        realm: &Realm<'a>,
        suspects: &HashSet<Vec<u8>>,
        buffer: &mut DirBuffer,
        found: &mut Found,
    ) {
        let listing = place.listing();
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
        if self.options.numba_all {
            for (name, _) in place
                .names
                .iter()
                .filter(|(name, _)| name.ends_with(b".py"))
            {
                if let Some(facts) = place.facts(name) {
                    found.outdated = found.outdated.max(outdates_until(&facts));
                }
            }
        }
        let name = b"__pycache__";
        let file_type = place.names.find(name);
        if let Some(file_type) = file_type
            .filter(|file_type| matches!(file_type, FileType::Directory | FileType::Symlink))
        {
            let symlinked = file_type == FileType::Symlink;
            let path = join(place.path, name);
            let opened = if symlinked {
                place.directory.open_followed(name)
            } else {
                place.directory.open_child(name)
            };
            match opened.and_then(|directory| Ok((Names::of(&directory, buffer)?, directory))) {
                Err(error) => {
                    only_caches = false;
                    found.trouble(
                        self.root.join(path.to_path_lossy()),
                        "reading the directory",
                        error,
                    );
                }
                Ok((names, directory)) => {
                    let cache = Cache {
                        tree: self.tree,
                        root: self.root,
                        path: path.as_bstr(),
                        directory: &directory,
                        realm: realm.number,
                        symlinked,
                    };
                    let mut entries = 0;
                    for (name, parsed) in entries_in(&names) {
                        entries += 1;
                        let one = One {
                            place,
                            listing: &listing,
                            cache: &cache,
                            parsed,
                            name,
                        };
                        only_caches &= self.one(&one, suspects, found) == State::Orphan;
                    }
                    hollow.caches = entries > 0;
                    only_caches &= entries == names.iter().count() && !symlinked;
                }
            }
        }
        for (name, parsed) in entries_beside(place.names, &|_| false) {
            let cache = Cache {
                tree: self.tree,
                root: self.root,
                path: place.path,
                directory: place.directory,
                realm: realm.number,
                symlinked: false,
            };
            let one = One {
                place,
                listing: &listing,
                cache: &cache,
                parsed,
                name,
            };
            self.one(&one, suspects, found);
        }
        if only_caches {
            found.hollow.push(hollow);
        }
    }

    /// Judges one entry, counts it, and lists it if it is noteworthy. What has vanished counts as
    /// an orphan: it keeps no directory from being a ghost.
    fn one(&self, one: &One<'_>, suspects: &HashSet<Vec<u8>>, found: &mut Found) -> State {
        let One {
            place,
            cache,
            parsed,
            name,
            ..
        } = one;
        let options = &self.options;
        let judged = judge_entry(
            place,
            one.listing,
            cache,
            parsed,
            name,
            options.read_every_header,
        );
        let Some(judged) = judged else {
            return State::Orphan;
        };
        let state = judged.state;
        if !options.exclude.is_empty() {
            let path = judged
                .source
                .map_or_else(|| join(cache.path, name), |source| place.relative(source));
            if options.exclude.file(path.as_bstr()) {
                return State::Settled;
            }
        }
        found.counts.add(state);
        let noteworthy = !matches!(state, State::Settled | State::Rejected)
            || options.keep_all
            || parsed.kind == Kind::Companion
            || judged
                .source
                .is_some_and(|source| suspects.contains(source));
        if noteworthy {
            let mut entry = judged.entry(place, cache, parsed, name);
            if self.kind == TreeKind::Also {
                entry.source = entry.source.map(|source| absolute(self.root, &source));
            }
            found.entries.push(entry);
        }
        state
    }
}

/// One entry with all that surrounds it.
struct One<'o> {
    place: &'o Place<'o>,
    listing: &'o Listing<'o>,
    cache: &'o Cache<'o>,
    parsed: EntryName<'o>,
    name: &'o [u8],
}

fn absolute(root: &Path, relative: &BString) -> BString {
    use std::os::unix::ffi::OsStrExt;
    let path = root.join(relative.to_path_lossy());
    path.as_os_str().as_bytes().into()
}

/// Where a subdirectory is, `None` for installed packages.
fn descend(venv: Venv, root_of_venv: bool, name: &[u8]) -> Option<Venv> {
    let packages = matches!(name, b"site-packages" | b"dist-packages");
    match venv {
        Venv::Outside => Some(Venv::Outside),
        Venv::Inside if root_of_venv => Some(match name {
            // Where pip puts editable installs from version control.
            b"src" => Venv::Outside,
            _ if name.to_ascii_lowercase().starts_with(b"lib") => Venv::Lib,
            _ => Venv::Inside,
        }),
        Venv::Lib | Venv::Python if packages => None,
        Venv::Lib if name.starts_with(b"python") || name.starts_with(b"pypy") => Some(Venv::Python),
        Venv::Inside | Venv::Lib | Venv::Python => Some(Venv::Inside),
    }
}
