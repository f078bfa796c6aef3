//! What the rooms of the program may know of each other.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a directory of the repository.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn what_a_platform_has_of_its_own_is_in_fsys_alone() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let own = [
        "std::os::",
        "OsStrExt",
        "OsStringExt",
        "MetadataExt",
        "PermissionsExt",
        "rustix",
        "libc::",
        "signal_hook",
        "windows_sys",
        "cfg(unix)",
        "cfg(windows)",
        "cfg(not(",
        "cfg(target",
        "cfg!(",
        "to_path_lossy()",
        ".canonicalize()",
        "/proc/self",
    ];
    let mut leaks = Vec::new();
    for file in files(&source) {
        if file.starts_with(source.join("fsys")) || file.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source");
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = own.iter().find(|name| line.contains(**name)) {
                leaks.push(format!("{}:{}: {name}", file.display(), number + 1));
            }
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}
