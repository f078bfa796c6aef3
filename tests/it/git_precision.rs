//! In a tree whose entries are all settled, what git and its hooks do to something else leaves
//! every one of them in place.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::lab::{Lab, succeeded};

pub const MODULES: usize = 110;

/// Longer than the margin of a small source, on a file system that keeps nanoseconds.
pub const PAST_THE_MARGIN: Duration = Duration::from_millis(2400);

/// A fresh clone whose modules have all been imported past the margin.
pub fn tested_clone() -> Lab {
    let mut lab = Lab::new();
    lab.write(".gitignore", "__pycache__/\n");
    lab.write("side.py", "SIDE = 1\n");
    for number in 0..MODULES {
        lab.write(&format!("m{number}.py"), format!("V = {number}\n"));
    }
    lab.commit("one");
    lab.git(["switch", "-q", "-c", "side"]);
    lab.write("side.py", "SIDE = 2\n");
    lab.commit("two");
    lab.git(["switch", "-q", "main"]);
    lab.git(["clone", "-q", ".", "../clone"]);
    lab.root = lab.beside("clone");
    lab.git(["branch", "-q", "side", "origin/side"]);
    test(&lab);
    lab
}

/// Imports every module, past the margin.
pub fn test(lab: &Lab) {
    std::thread::sleep(PAST_THE_MARGIN);
    let code = format!("for n in range({MODULES}): __import__('m%d' % n)");
    lab.python(&code);
}

/// Every entry: which file it is and when it was written.
pub fn entries(lab: &Lab) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    fs::read_dir(lab.root.join("__pycache__"))
        .expect("the entries")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('m'))
        })
        .map(|path| {
            let metadata = fs::metadata(&path).expect("an entry");
            (
                path,
                (metadata.ino(), metadata.mtime(), metadata.mtime_nsec()),
            )
        })
        .collect()
}

fn leaves_all_entries(act: fn(&Lab)) {
    let lab = tested_clone();
    lab.install();
    let before = entries(&lab);
    assert_eq!(before.len(), MODULES);
    act(&lab);
    assert_eq!(entries(&lab), before);
}

#[test]
fn a_commit_of_something_else() {
    leaves_all_entries(|lab| {
        lab.write("new.py", "V = 1\n");
        lab.commit("something else");
        lab.write("side.py", "SIDE = 3\n");
        lab.git(["commit", "-q", "-a", "-m", "one file"]);
    });
}

#[test]
fn a_switch_and_back() {
    leaves_all_entries(|lab| {
        lab.git(["switch", "-q", "side"]);
        lab.git(["switch", "-q", "main"]);
    });
}

#[test]
fn a_hundred_tested_sources_staged() {
    let lab = tested_clone();
    lab.install();
    for number in 0..100 {
        lab.write(&format!("m{number}.py"), format!("V = {number} + 1\n"));
    }
    test(&lab);
    let before = entries(&lab);
    assert_eq!(before.len(), MODULES);
    lab.git(["add", "-A"]);
    assert_eq!(entries(&lab), before);
    lab.git(["reset", "-q"]);
    assert_eq!(entries(&lab), before);
    // The commit purges what it commits, and nothing else.
    lab.git(["commit", "-q", "-a", "-m", "a hundred"]);
    let after = entries(&lab);
    assert_eq!(after.len(), MODULES - 100);
    assert!(after.iter().all(|(path, entry)| before[path] == *entry));
}

#[test]
fn a_stash_of_something_else_and_a_merge() {
    leaves_all_entries(|lab| {
        lab.write("side.py", "SIDE = 3\n");
        lab.git(["stash", "-q"]);
        lab.git(["stash", "pop", "-q"]);
        lab.git(["checkout", "-q", "side.py"]);
        lab.git(["merge", "-q", "--no-ff", "--no-edit", "side"]);
        lab.git(["commit", "-q", "--amend", "-m", "amended"]);
        succeeded(lab.command("git").args(["status", "-s"]));
    });
}
