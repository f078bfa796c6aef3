//! The words of the text output: what a reader needs who knows none of the terms of the documentation.

use std::borrow::Cow;

use super::path_of;
use super::style::printable;
use crate::bytecode::{Reason, Span, State};
use crate::scan::{Action, Entry, Scan, TreeKind, Untouchable};

/// What an entry is.
pub fn state(state: State) -> &'static str {
    match state {
        State::Settled => "up to date",
        State::Rejected => "not used",
        State::Racy => "could be stale",
        State::Stale => "stale",
        State::Orphan => "its source is gone",
    }
}

/// Why it is that. It can quote a source.
pub fn reason(reason: &Reason) -> String {
    match reason {
        Reason::WithinMargin { after, .. } => format!(
            "written {} after its source was touched, too soon to be sure",
            Span(*after)
        ),
        Reason::TouchedLater { after } => {
            format!(
                "its source was touched {} after it was written",
                Span(*after)
            )
        }
        Reason::Unproved { why, otherwise } => {
            format!(
                "{}; no interpreter could tell: {why}",
                self::reason(otherwise)
            )
        }
        other => printable(other.to_string().as_bytes()),
    }
}

/// What an entry is, and why.
pub fn judged(entry: &Entry) -> String {
    match entry.state {
        State::Settled | State::Orphan => reason(&entry.reason),
        other => format!("{}: {}", state(other), reason(&entry.reason)),
    }
}

/// What the sources of the payload differ from.
pub fn base(scan: &Scan) -> Cow<'_, str> {
    scan.payload.base.as_deref().unwrap_or("HEAD").into()
}

/// Why an entry was purged, or is to be.
pub fn why_due(scan: &Scan, entry: &Entry) -> String {
    if entry.payload && entry.state <= State::Settled {
        format!(
            "its source differs from {}",
            printable(base(scan).as_bytes())
        )
    } else {
        judged(entry)
    }
}

/// Why an entry is never removed, and what to do about one that could be stale.
pub fn untouchable(scan: &Scan, entry: &Entry, why: Untouchable) -> String {
    match why {
        Untouchable::Tracked => format!(
            "git tracks it, so it is left alone; to stop tracking it: git rm --cached {}",
            quoted(&path_of(scan, entry))
        ),
        Untouchable::Symlinked => format!(
            "it lies behind {}; remove it where the link points, or remove the link",
            match scan.trees[entry.tree].kind {
                TreeKind::Prefix => "a symlink in a bytecode prefix",
                TreeKind::Work | TreeKind::Also => "a symlinked __pycache__",
            }
        ),
        Untouchable::Unknown => {
            "neither an index nor HEAD can say whether git tracks it; mend the repository (git fsck)"
                .to_owned()
        }
    }
}

/// A path as a word of a shell.
pub fn quoted(path: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@:,=%".contains(byte);
    let name = printable(path);
    if !path.is_empty() && path.iter().all(plain) {
        name
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// A number of things that are one or many.
fn number(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `3 cache entries`.
pub fn entries(count: u64) -> String {
    number(count, "cache entry", "cache entries")
}

/// Why entries were purged: for one, for several, and as one of several kinds.
type Kind = (String, String, String);

fn kind(scan: &Scan, entry: &Entry) -> usize {
    match entry.state {
        State::Stale => 0,
        State::Racy => 1,
        _ if entry.payload => 2,
        State::Orphan => 3,
        _ if scan.lying().any(|other| other.source == entry.source) => 4,
        _ => 5,
    }
}

fn kinds(scan: &Scan) -> [Kind; 6] {
    let base = printable(base(scan).as_bytes());
    let kind =
        |one: &str, many: &str, part: &str| (one.to_owned(), many.to_owned(), part.to_owned());
    [
        kind("it was stale", "they were stale", "stale"),
        kind(
            "it could be stale",
            "they could be stale",
            "that could be stale",
        ),
        (
            format!("its source differs from {base}"),
            format!("their sources differ from {base}"),
            format!("whose source differs from {base}"),
        ),
        kind(
            "its source is gone",
            "their sources are gone",
            "whose source is gone",
        ),
        kind(
            "it was built from one that could be stale",
            "they were built from others that could be stale",
            "built from others that could be stale",
        ),
        kind("as asked", "as asked", "as asked"),
    ]
}

/// What was found and done, in one line, each entry counted once.
pub fn summary(scan: &Scan, dry_run: bool) -> String {
    let gone = |entry: &&Entry| matches!(entry.action, Action::Purged | Action::WouldPurge);
    let mut numbers = [0_u64; 6];
    for entry in scan.entries.iter().filter(gone) {
        numbers[kind(scan, entry)] += 1;
    }
    let purged: u64 = numbers.iter().sum();
    let all = scan.counts.scanned;
    let left = scan.lying().filter(|entry| !gone(entry)).count() as u64;
    let mut parts = Vec::new();
    if purged > 0 {
        let verb = if dry_run { "would be purged" } else { "purged" };
        let of = format!("{purged} of {} {verb}", entries(all));
        let named: Vec<(u64, Kind)> = numbers
            .into_iter()
            .zip(kinds(scan))
            .filter(|(count, _)| *count > 0)
            .collect();
        parts.push(match named.as_slice() {
            [(1, (one, ..))] => format!("{of}: {one}"),
            [(_, (_, many, _))] => format!("{of}: {many}"),
            several => {
                let several: Vec<String> = several
                    .iter()
                    .map(|(count, (.., part))| format!("{count} {part}"))
                    .collect();
                format!("{of}: {}", several.join(", "))
            }
        });
    } else if left == 0 && all == 0 {
        parts.push("no cache entries".to_owned());
    } else if left == 0 {
        parts.push(format!("nothing stale ({})", entries(all)));
    }
    if left > 0 {
        let verb = number(left, "could be stale and is", "could be stale and are");
        parts.push(if purged > 0 {
            format!("{verb} still there")
        } else {
            format!(
                "{left} of {} {} still there",
                entries(all),
                &verb[left.to_string().len() + 1..]
            )
        });
    }
    let ghosts = scan.ghosts.len() as u64;
    if ghosts > 0 {
        let verb = if dry_run {
            "would be removed"
        } else {
            "removed"
        };
        parts.push(format!(
            "{} of deleted code {verb}",
            number(ghosts, "importable directory", "importable directories")
        ));
    }
    parts.join("; ")
}
