//! The report for people.

use std::fmt::Write;

use super::path_of;
use super::style::{Terminal, count, printable};
use crate::bytecode::State;
use crate::scan::{Action, Entry, Scan};

/// The reason, which can quote a source.
fn why(entry: &Entry) -> String {
    printable(entry.reason.to_string().as_bytes())
}

/// One finding: `PATH OF THE ENTRY: state: reason`.
pub fn finding(scan: &Scan, entry: &Entry, terminal: Terminal) -> String {
    let state = terminal.paint(terminal.state(entry.state), entry.state.word());
    let path = terminal.link(&scan.absolute(entry), &printable(&path_of(scan, entry)));
    format!("{path}: {state}: {}", why(entry))
}

/// A ghost as a finding.
pub fn ghost(path: &[u8]) -> String {
    format!(
        "{}: ghost: a directory with nothing but caches of sources that are gone",
        printable(path)
    )
}

/// A ghost as an annotation of GitHub Actions.
pub fn ghost_annotation(path: &[u8]) -> String {
    format!(
        "::warning title=pycgate::{}",
        ghost(path).replace('%', "%25")
    )
}

/// A finding as an annotation of GitHub Actions.
pub fn annotation(scan: &Scan, entry: &Entry) -> String {
    let escape = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let file = entry
        .source
        .as_ref()
        .map_or_else(|| path_of(scan, entry), |source| source.to_vec());
    let level = if entry.state == State::Stale {
        "error"
    } else {
        "warning"
    };
    format!(
        "::{level} file={},title=pycgate::{}",
        escape(&printable(&file))
            .replace(',', "%2C")
            .replace(':', "%3A"),
        escape(&format!(
            "{}: {}: {}",
            printable(&path_of(scan, entry)),
            entry.state,
            why(entry)
        ))
    )
}

/// What was purged and why, as a table that fits the terminal; with `all`, every entry.
pub fn table(scan: &Scan, terminal: Terminal, all: bool, dry_run: bool) -> String {
    let rows: Vec<&Entry> = scan
        .entries
        .iter()
        .filter(|entry| all || entry.action != Action::Kept)
        .collect();
    let action = |entry: &Entry| match entry.action {
        Action::Kept => "kept",
        Action::Purged => "purged",
        Action::WouldPurge => "would purge",
        Action::Failed(_) => "failed",
    };
    let widest = rows
        .iter()
        .map(|entry| action(entry).len())
        .max()
        .unwrap_or(0);
    let names: Vec<String> = rows
        .iter()
        .map(|entry| printable(&path_of(scan, entry)))
        .collect();
    let longest = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (entry, name) in rows.iter().zip(&names) {
        let why = match &entry.action {
            Action::Failed(why) => why.clone(),
            _ if entry.payload && entry.state <= State::Settled => {
                "its source belongs to the payload".to_owned()
            }
            _ => why(entry),
        };
        let state = terminal.paint(terminal.state(entry.state), &format!("{:<8}", entry.state));
        let head = format!("{:<widest$}  ", action(entry));
        // The reason stands beside the name where there is room, else below it.
        let beside = widest + 2 + 10 + longest + 2 + why.chars().count() <= terminal.width;
        let line = if beside {
            format!("  {head}{state}  {name:<longest$}  {why}")
        } else {
            format!("  {head}{state}  {name}\n      {why}")
        };
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let removed = if dry_run { "would remove" } else { "removed" };
    for ghost in &scan.ghosts {
        let _ = writeln!(
            text,
            "  {:<widest$}  {:<8}  {}/",
            removed,
            "ghost",
            printable(ghost)
        );
    }
    text
}

/// What was found, in one line.
pub fn summary(scan: &Scan, dry_run: bool) -> String {
    let counts = scan.counts;
    let entries = count(counts.scanned, "entry", "entries");
    let due = scan
        .entries
        .iter()
        .filter(|entry| entry.action == Action::WouldPurge)
        .count() as u64;
    let mut parts = Vec::new();
    if dry_run {
        parts.push(format!("{due} would be purged"));
    } else if counts.purged > 0 {
        parts.push(format!("{} purged", counts.purged));
    }
    if counts.failed > 0 {
        parts.push(format!("{} could not be purged", counts.failed));
    }
    for (number, word) in [
        (counts.racy, "racy"),
        (counts.stale, "stale"),
        (counts.orphan, "orphaned"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    if !scan.ghosts.is_empty() {
        parts.push(count(scan.ghosts.len() as u64, "ghost", "ghosts"));
    }
    if parts.is_empty() {
        parts.push("all of them settled or rejected".to_owned());
    }
    format!("{entries}: {}", parts.join(", "))
}
