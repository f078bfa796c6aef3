//! One directory: its sources paired with the entries in its `__pycache__` and beside them.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::names::{Names, is_file};
use super::{Action, Entry, Untouchable};
use crate::bytecode::{
    EntryFacts, EntryName, Evidence, Kind, Listing, Mismatch, Reason, SourceFacts, State, Verdict,
    judge, parse_beside, parse_in_pycache,
};
use crate::fsys::relative::join;
use crate::fsys::{Dir, DirBuffer, FileType, Stat, Time, resolve};

/// An entry is read whole up to this many bytes, a source likewise.
const LARGEST: u64 = 256 << 20;

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
    /// The latest ctime of the symlinks passed on the way to the directory itself.
    pub links: Option<Time>,
    listing: Listing<'p>,
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
            links: None,
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
    fn fail(&self, path: PathBuf, error: io::Error) {
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
                links_touched: self.links,
            });
        }
        let stat = self.directory.stat(name).ok().filter(Stat::is_file)?;
        match resolve(&self.absolute(name)) {
            Ok(resolved) => Some(SourceFacts {
                stat,
                links_touched: resolved.links_touched.max(self.links),
            }),
            Err(error) => {
                self.fail(self.absolute(name), error);
                None
            }
        }
    }

    /// Opens and lists its `__pycache__`, a symlinked one only to look at. `None` if there is none.
    pub fn open_cache(&self, buffer: &mut DirBuffer) -> Option<io::Result<OpenCache>> {
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
        self.root
            .join(self.path.to_path_lossy())
            .join(std::ffi::OsStr::from_bytes(name))
    }

    /// Path of a name relative to the root.
    pub fn relative(&self, name: &[u8]) -> BString {
        join(self.path, name)
    }

    /// The latest ctime of the directories above a source, those above the root included: moving
    /// any of them changes the source's path, and nothing below it.
    fn touched(&self) -> Time {
        if let Some(known) = self.touched.get() {
            return known;
        }
        let mut latest = Time::default();
        let mut path = self.root.join(self.path.to_path_lossy());
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
pub struct OpenCache {
    pub directory: Dir,
    pub names: Names,
    pub symlinked: bool,
}

/// Where entries lie: a `__pycache__`, a directory of a prefix, or beside their sources.
pub struct Cache<'c> {
    /// Which tree.
    pub tree: usize,
    /// Absolute path of the root of that tree.
    pub root: &'c Path,
    /// Path relative to that tree.
    pub path: &'c BStr,
    /// Handle.
    pub directory: &'c Dir,
    /// Which repository.
    pub realm: usize,
    /// Whether it is reached through a symlink.
    pub symlinked: bool,
}

/// Looks at one entry and one source only when the verdict asks.
struct Look<'l> {
    place: &'l Place<'l>,
    cache: &'l Dir,
    entry: &'l [u8],
    source: &'l [u8],
}

fn whole(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if bytes.len() as u64 >= LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "larger than 256 MiB",
        ));
    }
    Ok(bytes)
}

impl Evidence for Look<'_> {
    fn head(&mut self) -> io::Result<Vec<u8>> {
        self.cache.read(self.entry, 16)
    }

    fn entry(&mut self) -> io::Result<Vec<u8>> {
        whole(self.cache.read(self.entry, LARGEST)?)
    }

    fn source(&mut self) -> io::Result<Vec<u8>> {
        whole(self.place.directory.read(self.source, LARGEST)?)
    }

    fn present_paths(&mut self) -> Vec<Vec<u8>> {
        let reached = self.place.absolute(self.source);
        let mut paths = vec![reached.as_os_str().as_bytes().to_vec()];
        if let Ok(resolved) = resolve(&reached) {
            paths.push(resolved.path.as_os_str().as_bytes().to_vec());
        }
        paths.extend(other_way(self.place.root).map(|root| {
            let other = root.join(self.place.path.to_path_lossy());
            other
                .join(std::ffi::OsStr::from_bytes(self.source))
                .as_os_str()
                .as_bytes()
                .to_vec()
        }));
        paths
    }

    fn place_touched(&mut self) -> Time {
        self.place.touched()
    }
}

/// The verdict over one entry, before it is known whether anybody wants to hear of it.
pub struct Judged<'n> {
    /// The state.
    pub state: State,
    /// Why.
    reason: Reason,
    /// The name of the source that decided; `None` for an orphan.
    pub source: Option<&'n [u8]>,
    written: Time,
}

impl Judged<'_> {
    /// The entry as it is listed.
    pub fn entry(self, one: &One<'_>) -> Entry {
        let One {
            place,
            cache,
            parsed,
            name,
            ..
        } = one;
        Entry {
            tree: cache.tree,
            path: join(cache.path, name),
            source: self.source.map(|source| place.relative(source)),
            tag: parsed.tag.into(),
            kind: parsed.kind,
            state: self.state,
            reason: self.reason,
            untouchable: cache.symlinked.then_some(Untouchable::Symlinked),
            payload: false,
            due: false,
            action: Action::Kept,
            realm: cache.realm,
            written: self.written,
        }
    }
}

/// One entry with all that surrounds it.
pub struct One<'o> {
    pub place: &'o Place<'o>,
    pub cache: &'o Cache<'o>,
    pub parsed: EntryName<'o>,
    pub name: &'o [u8],
}

impl<'o> Cache<'o> {
    /// The entries found in it, each with the place of its sources.
    pub fn each(
        &'o self,
        place: &'o Place<'o>,
        entries: impl Iterator<Item = (&'o [u8], EntryName<'o>)>,
    ) -> impl Iterator<Item = One<'o>> {
        entries.map(move |(name, parsed)| One {
            place,
            cache: self,
            parsed,
            name,
        })
    }
}

/// Judges an entry against the sources in its place; `None` for what is no entry (a directory, a
/// FIFO, something that has vanished).
pub fn judge_entry<'o>(one: &One<'o>, read_header: bool) -> Option<Judged<'o>> {
    let One {
        place,
        cache,
        parsed,
        name,
    } = one;
    let lstat = match cache.directory.lstat(name) {
        Ok(lstat) => lstat,
        Err(error) => {
            place.fail(
                cache.root.join(join(cache.path, name).to_path_lossy()),
                error,
            );
            return None;
        }
    };
    let mut facts = EntryFacts { lstat, stat: None };
    let mut broken = false;
    match lstat.file_type() {
        FileType::RegularFile => {}
        FileType::Symlink => match cache.directory.stat(name) {
            Ok(stat) if stat.is_file() => facts.stat = Some(stat),
            Ok(_) => return None,
            Err(_) => broken = true,
        },
        _ => return None,
    }
    let mut worst: Option<Judged<'o>> = None;
    parsed.each_source(&place.listing, &mut |at| {
        let Some(source_facts) = place.facts(at) else {
            return;
        };
        let source = place.listing.name(at);
        let mut look = Look {
            place,
            cache: cache.directory,
            entry: name,
            source,
        };
        let Verdict { state, reason } = if broken {
            // Nothing to load behind the link.
            Verdict {
                state: State::Rejected,
                reason: Reason::Mismatch(Mismatch::Garbage),
            }
        } else {
            judge(parsed, &facts, &source_facts, &mut look, read_header)
        };
        if worst.as_ref().is_none_or(|worst| state > worst.state) {
            worst = Some(Judged {
                state,
                reason,
                source: Some(source),
                written: facts.written(),
            });
        }
    });
    let judged = worst.unwrap_or_else(|| {
        let Verdict { state, reason } = Verdict::orphan();
        Judged {
            state,
            reason,
            source: None,
            written: facts.written(),
        }
    });
    // An entry that has vanished since is nobody's trouble.
    if matches!(judged.reason, Reason::Unreadable { .. }) && cache.directory.lstat(name).is_err() {
        return None;
    }
    Some(judged)
}

/// The entries in a cache directory: names that parse.
pub fn entries_in(names: &Names) -> impl Iterator<Item = (&[u8], EntryName<'_>)> {
    names
        .iter()
        .filter(|(_, file_type)| is_file(*file_type))
        .filter_map(|(name, _)| Some((name, parse_in_pycache(name)?)))
}

/// The entries beside their sources: only where the source is there, or named in `gone`.
pub fn entries_beside<'n>(
    names: &'n Names,
    gone: &'n dyn Fn(&[u8]) -> bool,
) -> impl Iterator<Item = (&'n [u8], EntryName<'n>)> {
    names
        .iter()
        .filter(|(name, file_type)| {
            is_file(*file_type) && (name.ends_with(b".pyc") || name.ends_with(b".pyo"))
        })
        .filter_map(|(name, _)| Some((name, parse_beside(name)?)))
        .filter(move |(_, parsed)| {
            let source = [parsed.stem, b".py"].concat();
            names.find(&source).is_some_and(is_file) || gone(&source)
        })
}

/// Whether a file is machine code that numba built.
pub fn is_companion(entry: &Entry) -> bool {
    entry.kind == Kind::Companion
}

/// The root as the caller's shell names it, where that leads there by a symlink: tools write that
/// path into what they compile.
pub fn other_way(root: &Path) -> Option<PathBuf> {
    let shell = PathBuf::from(std::env::var_os("PWD")?);
    shell
        .ancestors()
        .find(|path| *path != root && path.canonicalize().is_ok_and(|real| real == root))
        .map(Path::to_path_buf)
}
