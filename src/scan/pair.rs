//! One entry with its sources: judged by what the rule asks of them, looked at only when it asks.

use std::io;
use std::path::Path;

use bstr::{BStr, ByteSlice};

use super::names::{Names, is_file};
use super::place::{Place, other_way};
use super::{Action, Entry, Untouchable};
use crate::bytecode::{
    EntryFacts, EntryName, Evidence, Kind, Mismatch, Reason, State, Timeline, Verdict, judge,
    parse_beside, parse_in_pycache, timeline,
};
use crate::fsys::path::below;
use crate::fsys::relative::{join, split};
use crate::fsys::{Dir, FileType, Time, resolve};

/// An entry is read whole up to this many bytes, a source likewise.
const LARGEST: u64 = 256 << 20;

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
        let native = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        let reached = self.place.absolute(self.source);
        let mut paths = vec![native(&reached)];
        if let Ok(resolved) = resolve(&reached) {
            paths.push(native(&resolved.path));
        }
        paths.extend(
            other_way(self.place.root)
                .map(|root| native(&below(&below(&root, self.place.path), self.source))),
        );
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
    times: Option<Timeline>,
    changed: Time,
}

impl Judged<'_> {
    /// The entry as it is listed.
    pub fn entry(self, pair: &Pair<'_>) -> Entry {
        let Pair {
            place,
            cache,
            parsed,
            name,
            ..
        } = pair;
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
            times: self.times,
            changed: self.changed,
        }
    }
}

/// One entry with all that surrounds it.
pub struct Pair<'o> {
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
    ) -> impl Iterator<Item = Pair<'o>> {
        entries.map(move |(name, parsed)| Pair {
            place,
            cache: self,
            parsed,
            name,
        })
    }
}

/// Judges an entry against the sources in its place; `None` for what is no entry (a directory, a
/// FIFO, something that has vanished).
pub fn judge_entry<'o>(pair: &Pair<'o>, read_header: bool) -> Option<Judged<'o>> {
    let Pair {
        place,
        cache,
        parsed,
        name,
    } = pair;
    let lstat = match cache.directory.lstat_with_birth(name) {
        Ok(lstat) => lstat,
        Err(error) => {
            place.fail(below(cache.root, &join(cache.path, name)), error);
            return None;
        }
    };
    let mut facts = EntryFacts { lstat, stat: None };
    let mut broken = false;
    match lstat.file_type() {
        FileType::File => {}
        FileType::Symlink => match cache.directory.stat_with_birth(name) {
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
                times: Some(timeline(parsed, &facts, &source_facts)),
                changed: facts.lstat.ctime,
            });
        }
    });
    let judged = worst.unwrap_or_else(|| {
        let Verdict { state, reason } = Verdict::orphan(why_orphan(pair));
        Judged {
            state,
            reason,
            source: None,
            times: None,
            changed: facts.lstat.ctime,
        }
    });
    // An entry that has vanished since is nobody's trouble.
    if matches!(judged.reason, Reason::Unreadable { .. }) && cache.directory.lstat(name).is_err() {
        return None;
    }
    Some(judged)
}

/// Why an entry without a source is there.
fn why_orphan(pair: &Pair<'_>) -> Reason {
    let Pair { place, parsed, .. } = pair;
    if parsed.kind != Kind::Beside {
        return Reason::SourceGone;
    }
    if place.names.find(&parsed.likely_source()) == Some(FileType::Symlink) {
        return Reason::Dangling;
    }
    if parsed.stem == b"__init__" && !place.path.is_empty() {
        let source = [split(place.path).1.as_bytes(), b".py"].concat();
        let beside = [b"../", source.as_slice()].concat();
        if place
            .directory
            .stat(&beside)
            .is_ok_and(|stat| stat.is_file())
        {
            let source = source.to_str_lossy().into_owned();
            return Reason::Shadows { source };
        }
    }
    Reason::Sourceless
}

/// The entries in a cache directory: names that parse.
pub fn entries_in(names: &Names) -> impl Iterator<Item = (&[u8], EntryName<'_>)> {
    names
        .iter()
        .filter(|(_, file_type)| is_file(*file_type))
        .filter_map(|(name, _)| Some((name, parse_in_pycache(name)?)))
}

/// The entries beside their sources: where the source is there, or `gone` takes its name.
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
