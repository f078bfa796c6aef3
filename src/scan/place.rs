//! The one look at a directory: it is opened and listed, its sources are paired with the entries in
//! its `__pycache__` and beside them, and each entry is judged. Which directories: [`super::walk`],
//! [`super::named`], [`super::prefix`]; who is due: [`super::due`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::Rules;
use super::due::Asked;
use super::found::{Found, Taken};
use super::names::{Names, is_file};
use super::pair::{Cache, entries_beside, entries_in};
use crate::bytecode::{Listing, SourceFacts, State};
use crate::fsys::path::{below, real};
use crate::fsys::relative::join;
use crate::fsys::{Dir, DirBuffer, FileType, Stat, Time, resolve};

/// Opens a directory below the root of a tree and lists it, or looks which of a `few` names are
/// there. What fails is noted.
pub fn open(
    (root, handle): (&Path, &Dir),
    path: &BStr,
    few: Option<&BTreeSet<Vec<u8>>>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) -> Option<(Dir, Names)> {
    let opened = match few {
        None => Names::below(handle, path, buffer),
        Some(few) => handle.open_below(path).and_then(|directory| {
            let names = Names::asked(&directory, few)?;
            Ok((directory, names))
        }),
    };
    opened
        .map_err(|error| {
            let path = below(root, path);
            found.trouble(path, "reading the directory", error);
        })
        .ok()
}

/// What a look at a directory has found in its `__pycache__`.
pub struct Looked {
    /// Number of the names of entries in it.
    pub entries: usize,
    /// Whether there is nothing in it but entries without a source.
    pub only_orphans: bool,
}

/// What was asked of the names in a listing: most of a directory of data is not asked about.
struct Lstats {
    /// For each name, one more than its place among the answers; zero if it was not asked for.
    slots: Vec<u32>,
    answers: Vec<Option<Stat>>,
}

/// A directory of sources.
pub struct Place<'p> {
    /// Absolute path of the root of its tree.
    pub root: &'p Path,
    /// Its path relative to that root.
    pub path: &'p BStr,
    /// Its handle.
    pub directory: &'p Dir,
    /// What is in it.
    pub names: &'p Names,
    /// When the way to the directory itself last changed, where its entries lie elsewhere.
    pub way: Option<Time>,
    pub(super) listing: Listing<'p>,
    lstats: RefCell<Lstats>,
    touched: Cell<Option<Time>>,
    failures: RefCell<Vec<(PathBuf, io::Error)>>,
}

impl<'p> Place<'p> {
    /// A directory with nothing looked at yet.
    pub fn new(root: &'p Path, path: &'p BStr, directory: &'p Dir, names: &'p Names) -> Self {
        let lstats = RefCell::new(Lstats {
            slots: vec![0; names.iter().len()],
            answers: Vec::new(),
        });
        let listing = Listing::sorted(names.iter().map(|(name, _)| name).collect());
        Self {
            root,
            path,
            directory,
            names,
            way: None,
            listing,
            lstats,
            touched: Cell::new(None),
            failures: RefCell::default(),
        }
    }

    /// `lstat` of the name at a place in the listing.
    fn lstat(&self, at: usize) -> Option<Stat> {
        let mut lstats = self.lstats.borrow_mut();
        if let Some(known) = lstats.slots[at].checked_sub(1) {
            return lstats.answers[known as usize];
        }
        let (name, _) = self.names.at(at);
        let stat = match self.directory.lstat(name) {
            Ok(stat) => Some(stat),
            Err(error) => {
                self.fail(self.absolute(name), error);
                None
            }
        };
        lstats.answers.push(stat);
        lstats.slots[at] = lstats.answers.len() as u32;
        stat
    }

    /// Notes what could not be looked at. What has vanished is no failure.
    pub(super) fn fail(&self, path: PathBuf, error: io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.failures.borrow_mut().push((path, error));
        }
    }

    /// What could not be looked at so far.
    pub fn failures(&self) -> Vec<(PathBuf, io::Error)> {
        self.failures.take()
    }

    /// The files and symlinks called `*.py`, sorted by name, with their `lstat`.
    pub fn python_files(&self) -> Vec<(&'p [u8], Stat)> {
        let names: &'p Names = self.names;
        let files = names.iter().enumerate();
        files
            .filter(|(_, (name, file_type))| name.ends_with(b".py") && is_file(*file_type))
            .filter_map(|(at, (name, _))| Some((name, self.lstat(at)?)))
            .collect()
    }

    /// The stats the rule needs of the source at a place in the listing; `None` if it is no regular
    /// file in the end.
    pub fn facts(&self, at: usize) -> Option<SourceFacts> {
        let (name, file_type) = self.names.at(at);
        if !is_file(file_type) {
            return None;
        }
        let lstat = self.lstat(at)?;
        if lstat.file_type() != FileType::Symlink {
            return lstat.is_file().then_some(SourceFacts {
                stat: lstat,
                way_touched: self.way,
            });
        }
        let stat = self.directory.stat(name).ok().filter(Stat::is_file)?;
        match resolve(&self.absolute(name)) {
            Ok(resolved) => Some(SourceFacts {
                stat,
                way_touched: resolved.links_touched.max(self.way),
            }),
            Err(error) => {
                self.fail(self.absolute(name), error);
                None
            }
        }
    }

    /// Judges the entries in its `__pycache__` and beside its sources: `tree` is the tree it lies in,
    /// `realm` its repository.
    pub fn look(
        &self,
        (tree, realm): (usize, usize),
        rules: Rules<'_>,
        asked: &Asked<'_>,
        buffer: &mut DirBuffer,
        found: &mut Found,
    ) -> Looked {
        let mut looked = Looked {
            entries: 0,
            only_orphans: true,
        };
        let path = self.relative(b"__pycache__");
        match self.open_cache(buffer) {
            None => {}
            Some(Err(error)) => {
                looked.only_orphans = false;
                found.trouble(
                    self.absolute(b"__pycache__"),
                    "reading the directory",
                    error,
                );
            }
            Some(Ok(open)) => {
                let cache = Cache {
                    tree,
                    root: self.root,
                    path: path.as_bstr(),
                    directory: &open.directory,
                    realm,
                    symlinked: open.symlinked,
                };
                looked = self.look_into(&cache, &open.names, rules, asked, found);
                looked.only_orphans &=
                    looked.entries == open.names.iter().count() && !open.symlinked;
            }
        }
        let cache = Cache {
            tree,
            root: self.root,
            path: self.path,
            directory: self.directory,
            realm,
            symlinked: false,
        };
        for pair in cache.each(self, entries_beside(self.names, &|name| asked.beside(name))) {
            asked.judge(rules, &pair, found);
        }
        found.failed(self);
        looked
    }

    /// Judges the entries in a directory that holds entries of its sources.
    pub fn look_into(
        &self,
        cache: &Cache<'_>,
        names: &Names,
        rules: Rules<'_>,
        asked: &Asked<'_>,
        found: &mut Found,
    ) -> Looked {
        let mut looked = Looked {
            entries: 0,
            only_orphans: true,
        };
        for pair in cache.each(self, entries_in(names)) {
            looked.entries += 1;
            // What has vanished keeps no directory from being a ghost.
            looked.only_orphans &= matches!(
                asked.judge(rules, &pair, found),
                Taken::Nothing | Taken::Judged(State::Orphan)
            );
        }
        found.failed(self);
        looked
    }

    /// Opens and lists its `__pycache__`, a symlinked one only to look at. `None` if there is none.
    fn open_cache(&self, buffer: &mut DirBuffer) -> Option<io::Result<OpenCache>> {
        let name = b"__pycache__";
        let symlinked = match self.names.find(name)? {
            FileType::Directory => false,
            FileType::Symlink => true,
            _ => return None,
        };
        let opened = if symlinked {
            self.directory.open_followed(name)
        } else {
            self.directory.open_child(name)
        };
        Some(opened.and_then(|directory| {
            Ok(OpenCache {
                names: Names::of(&directory, buffer)?,
                directory,
                symlinked,
            })
        }))
    }

    /// The absolute path of a name in it.
    pub fn absolute(&self, name: &[u8]) -> PathBuf {
        below(&below(self.root, self.path), name)
    }

    /// Path of a name relative to the root.
    pub fn relative(&self, name: &[u8]) -> BString {
        join(self.path, name)
    }

    /// The latest ctime of the directories above a source, those above the root included: moving
    /// any of them changes the source's path, and nothing below it.
    pub(super) fn touched(&self) -> Time {
        if let Some(known) = self.touched.get() {
            return known;
        }
        let mut latest = Time::default();
        let mut path = below(self.root, self.path);
        loop {
            if let Ok(stat) = Stat::of(&path) {
                latest = latest.max(stat.ctime);
            }
            if !path.pop() {
                break;
            }
        }
        self.touched.set(Some(latest));
        latest
    }
}

/// A `__pycache__` that is open.
struct OpenCache {
    directory: Dir,
    names: Names,
    symlinked: bool,
}

/// The root as the caller's shell names it, where that leads there by a symlink: tools write that
/// path into what they compile.
pub fn other_way(root: &Path) -> Option<PathBuf> {
    let shell = PathBuf::from(std::env::var_os("PWD")?);
    shell
        .ancestors()
        .find(|path| *path != root && real(path).is_ok_and(|real| real == root))
        .map(Path::to_path_buf)
}
