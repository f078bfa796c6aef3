//! The report for people.

use std::fmt::Write;

use super::path_of;
use super::style::{Terminal, printable};
use super::words;
use crate::bytecode::State;
use crate::scan::{Action, Entry, Scan};

/// One finding: `PATH OF THE ENTRY: what it is: why`, and what to do where `pycgate gate` does not.
pub fn finding(scan: &Scan, entry: &Entry, terminal: Terminal) -> String {
    let path = terminal.link(&scan.absolute(entry), &printable(&path_of(scan, entry)));
    let paint = |words: &str| terminal.paint(terminal.state(entry.state), words);
    let why = words::reason(&entry.reason);
    let mut line = match entry.state {
        State::Orphan => format!("{path}: {}", paint(&why)),
        state => format!("{path}: {}: {why}", paint(words::state(state))),
    };
    if let Some(why) = entry.untouchable.filter(|_| entry.state >= State::Racy) {
        let _ = write!(line, "; {}", words::untouchable(scan, entry, why));
    }
    line
}

/// A ghost as a finding.
pub fn ghost(path: &[u8]) -> String {
    format!(
        "{}/: deleted, and still importable: nothing is left in it but cache entries",
        printable(path)
    )
}

/// A text as the value of a message of GitHub Actions.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A ghost as an annotation of GitHub Actions.
pub fn ghost_annotation(path: &[u8]) -> String {
    format!("::warning title=pycgate::{}", escaped(&ghost(path)))
}

/// A finding as an annotation of GitHub Actions.
pub fn annotation(scan: &Scan, entry: &Entry) -> String {
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
        escaped(&printable(&file))
            .replace(',', "%2C")
            .replace(':', "%3A"),
        escaped(&format!(
            "{}: {}",
            printable(&path_of(scan, entry)),
            words::judged(entry)
        ))
    )
}

/// What became of each entry, a line each: of those that are not simply kept, or with `all` of all
/// that the scan lists.
pub fn table(scan: &Scan, terminal: Terminal, all: bool, dry_run: bool) -> String {
    let rows = || {
        scan.entries
            .iter()
            .filter(|entry| all || entry.action != Action::Kept)
    };
    let action = |entry: &Entry| match entry.action {
        Action::Kept => "kept",
        Action::Purged => "purged",
        Action::WouldPurge => "would purge",
        Action::Failed(_) => "still there",
    };
    let removed = if dry_run { "would remove" } else { "removed" };
    let words = rows().map(action);
    let ghosts = scan.ghosts.iter().map(|_| removed);
    let widest = words.chain(ghosts).map(str::len).max().unwrap_or(0);
    let mut text = String::new();
    for entry in rows() {
        let why = match &entry.action {
            Action::Failed(why) => format!("{}; {why}", words::why_due(scan, entry)),
            Action::Kept => words::judged(entry),
            Action::Purged | Action::WouldPurge => words::why_due(scan, entry),
        };
        let path = printable(&path_of(scan, entry));
        let action = terminal.paint(
            terminal.state(entry.state),
            &format!("{:<widest$}", action(entry)),
        );
        let _ = writeln!(text, "  {action}  {path}: {why}");
    }
    for ghost in &scan.ghosts {
        let _ = writeln!(text, "  {removed:<widest$}  {}", self::ghost(ghost));
    }
    text
}
