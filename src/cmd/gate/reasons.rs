//! Why a verdict is INCONCLUSIVE: one line each, with the path, and what to do.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use bstr::ByteSlice;

use crate::bytecode::{Kind, State};
use crate::fsys::path::to_git;
use crate::report::path_of;
use crate::report::style::printable;
use crate::report::words;
use crate::scan::{Action, Entry, Scan, TreeKind};

/// Why determinism is not certain before the sweep. `fresh`: the sweep gets a prefix of its own,
/// which hides some entries from it.
pub fn before(scan: &Scan, fresh: bool) -> Vec<String> {
    let troubles = scan.troubles.iter().map(|trouble| {
        let path = relative(scan, &trouble.path);
        format!(
            "{path}: {}; make it readable or --exclude it",
            trouble.what()
        )
    });
    let lying = scan
        .lying()
        .filter(|entry| !(fresh && hidden_by_prefix(entry)));
    troubles
        .chain(lying.filter_map(|entry| left(scan, entry)))
        .collect()
}

/// Why an entry that can lie is still there; `None` if it is not.
pub fn left(scan: &Scan, entry: &Entry) -> Option<String> {
    let path = printable(&path_of(scan, entry));
    let what = words::judged(entry);
    if let Action::Failed(why) = &entry.action {
        return Some(format!("{path}: {what}; it could not be removed: {why}"));
    }
    let why = words::untouchable(scan, entry, entry.untouchable?);
    Some(format!("{path}: {what}; {why}"))
}

/// What there is to say of a run that pytest ended with a status of many meanings, where it could not be
/// asked.
pub fn not_asked(status: u8) -> String {
    let what = match status {
        2 => "was interrupted, or could not collect its tests",
        3 => "failed itself",
        4 => "was called with wrong arguments, or could not import a conftest",
        _ => "ran no tests",
    };
    format!(
        "pytest {what} (exit status {status}); it could not be asked, as under python -I or -E, which \
         ignore PYTHONPATH, or with PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    )
}

/// Why a command could not be started, with a hint where it is no program at all.
pub fn not_started(command: &OsStr, error: &io::Error) -> String {
    let word = printable(command.as_encoded_bytes());
    let path = Path::new(command);
    let hint = if path.is_dir() {
        format!(": it is a directory; to test it: pycgate gate -- pytest {word}")
    } else if path.is_file() && path.extension().is_some_and(|suffix| suffix == "py") {
        format!(": to run it: pycgate gate -- python {word}")
    } else {
        String::new()
    };
    format!("the command `{word}` could not be started: {error}{hint}")
}

/// Entries that an interpreter with another prefix does not see: those in `__pycache__` and in other
/// prefixes, of interpreters that know prefixes (3.8 and later).
fn hidden_by_prefix(entry: &Entry) -> bool {
    let minor = |head: &str| {
        let digits = entry
            .tag
            .to_str()
            .ok()?
            .strip_prefix(head)?
            .strip_prefix('3')?;
        digits
            .trim_end_matches(|c: char| !c.is_ascii_digit())
            .parse::<u32>()
            .ok()
    };
    entry.kind == Kind::Cached
        && entry.state >= State::Racy
        && minor("cpython-")
            .or_else(|| minor("pypy"))
            .is_some_and(|minor| minor >= 8)
}

fn relative(scan: &Scan, path: &Path) -> String {
    let work = scan.trees.iter().find(|tree| tree.kind == TreeKind::Work);
    let path = work
        .and_then(|tree| path.strip_prefix(&tree.root).ok())
        .unwrap_or(path);
    let name = to_git(path);
    if name.is_empty() {
        ".".to_owned()
    } else {
        printable(&name)
    }
}
