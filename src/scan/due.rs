//! Who is due: the entries that a scan is asked about, and which of them are to be purged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::{BStr, BString, ByteSlice};

use super::found::{Found, Taken};
use super::ghosts::ghosts;
use super::pair::{Pair, is_companion};
use super::{Entry, Options, Rules, Scan, Tree, TreeKind};
use crate::bytecode::{EntryName, Listing, Reason, State};
use crate::payload::{Certificate, Payload};

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
pub type InDirectory<'w> = BTreeMap<&'w BStr, &'w Wanted>;

/// The wanted sources of one directory, to be found by their entries.
pub struct Owners<'w> {
    sources: &'w InDirectory<'w>,
    listing: Listing<'w>,
}

impl<'w> Owners<'w> {
    /// Those of one directory.
    pub fn of(sources: &'w InDirectory<'w>) -> Self {
        let names = sources.keys().map(|name| name.as_bytes()).collect();
        Self {
            sources,
            listing: Listing::sorted(names),
        }
    }

    /// Those that an entry can be compiled from.
    fn of_entry(&self, parsed: &EntryName<'_>) -> Vec<&'w Wanted> {
        let names = parsed.sources(&self.listing).into_iter();
        names
            .filter_map(|name| self.sources.get(name.as_bstr()).copied())
            .collect()
    }

    fn gone_beside(&self, name: &[u8]) -> bool {
        self.sources
            .get(name.as_bstr())
            .is_some_and(|source| source.gone && source.beside)
    }
}

/// The sources of a directory that may belong to the payload.
pub enum Suspects {
    /// Their names.
    Named(HashSet<Vec<u8>>),
    /// The index is not read yet.
    All,
}

/// Which entries a look at a directory is about, and which of them are listed as due.
pub enum Asked<'a> {
    /// All; those of sources that may belong to the payload are due until it is known.
    Every(&'a Suspects),
    /// All; those of the payload are due.
    Payload(&'a Payload),
    /// Those of the sources that an event or a user names.
    Named(&'a Owners<'a>),
}

impl Asked<'_> {
    /// Whether `mod.pyc` beside the source of this name is looked at although the source is gone. By
    /// itself only one is that can be imported: no module's name has a dot.
    pub fn beside(&self, source: &[u8]) -> bool {
        match self {
            Self::Named(owners) => owners.gone_beside(source),
            Self::Every(_) => source.find_byte(b'.') == Some(source.len() - b".py".len()),
            Self::Payload(_) => false,
        }
    }

    /// Judges an entry that it is about.
    pub fn judge(&self, rules: Rules<'_>, pair: &Pair<'_>, found: &mut Found) -> Taken {
        match self {
            Self::Every(suspects) => found.take(rules, pair, &|judged| {
                judged.source.is_some_and(|source| match suspects {
                    Suspects::Named(names) => names.contains(source),
                    Suspects::All => true,
                })
            }),
            Self::Payload(payload) => found.take(rules, pair, &|judged| {
                let source = judged.source.map(|source| pair.place.relative(source));
                source.is_some_and(|source| payload.sources.contains_key(&source))
            }),
            Self::Named(owners) => {
                let owners = owners.of_entry(&pair.parsed);
                if owners.is_empty() {
                    return Taken::Nothing;
                }
                found.take(rules, pair, &|judged| is_due(judged.state, &owners))
            }
        }
    }
}

fn is_due(state: State, owners: &[&Wanted]) -> bool {
    if state == State::Orphan {
        return owners.iter().any(|owner| owner.gone || owner.purge);
    }
    state >= State::Racy || owners.iter().any(|owner| owner.purge)
}

/// Says which entries are due, once the payload is known. `left` are directories that
/// sources have gone from: each may have become a ghost.
pub fn conclude(
    options: &Options<'_>,
    mut found: Found,
    left: BTreeSet<BString>,
    payload: Payload,
) -> Scan {
    let ghosts = ghosts(std::mem::take(&mut found.hollow));
    // A run that loads stale bytecode of one module can write machine code of another at any time.
    let misled = found
        .entries
        .iter()
        .any(|entry| entry.state >= State::Racy && !is_companion(entry));
    for entry in &mut found.entries {
        // Those of a deleted source are marked already: they do not name it.
        entry.payload |= entry
            .source
            .as_ref()
            .is_some_and(|source| payload.sources.contains_key(source));
        if options.numba_all
            && is_companion(entry)
            && entry.state == State::Settled
            && (misled
                || entry
                    .times
                    .is_none_or(|times| times.written.as_nanos() <= found.outdated))
        {
            found.counts.settled -= 1;
            found.counts.racy += 1;
            entry.state = State::Racy;
            entry.reason = Reason::OtherSourceNewer;
        }
        entry.due =
            entry.payload || entry.state >= State::Racy || is_left_over(entry, &found.trees);
    }
    let ghosts = left.into_iter().chain(ghosts).collect();
    finish(options, found, ghosts, payload)
}

/// Whether an entry without a source is nobody's module: in `__pycache__` nothing is imported without
/// its source, and beside one only what is in nobody's way can be meant to be there. In a prefix other
/// work trees may have their entries.
fn is_left_over(entry: &Entry, trees: &[Tree]) -> bool {
    entry.state == State::Orphan
        && match entry.reason {
            Reason::Sourceless => false,
            Reason::Dangling | Reason::Shadows { .. } => true,
            _ => trees[entry.tree].kind != TreeKind::Prefix,
        }
}

/// What every way into the scan ends with: companions go with the entries of their source, and what
/// git tracks is left alone.
pub fn finish(
    options: &Options<'_>,
    mut found: Found,
    ghosts: BTreeSet<BString>,
    payload: Payload,
) -> Scan {
    let mut ghosts: Vec<BString> = ghosts.into_iter().collect();
    ghosts.sort_by_key(|ghost| Reverse(ghost.len()));
    let changed: HashSet<BString> = found
        .entries
        .iter()
        .filter(|entry| entry.due)
        .filter_map(|entry| entry.source.clone())
        .collect();
    for entry in found.entries.iter_mut().filter(|entry| is_companion(entry)) {
        entry.due |= entry
            .source
            .as_ref()
            .is_some_and(|source| changed.contains(source));
    }
    if !options.keep_all {
        found.entries.retain(Entry::is_noteworthy);
    }
    found.realms.mark(options, &found.trees, &mut found.entries);
    for entry in &mut found.entries {
        entry.due &= entry.untouchable.is_none();
    }
    found
        .entries
        .sort_by(|one, other| (one.tree, &one.path).cmp(&(other.tree, &other.path)));
    found
        .troubles
        .sort_by(|one, other| one.path.cmp(&other.path));
    Scan {
        entries: found.entries,
        ghosts,
        troubles: found.troubles,
        counts: found.counts,
        payload,
        certificate: Certificate::default(),
        trees: found.trees,
    }
}
