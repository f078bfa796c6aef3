//! In a tree whose entries are all settled, what git and its hooks do to something else leaves
//! every one of them in place.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::harness::Dir;

pub const MODULES: usize = 110;

/// Longer than the margin of a small source, on a file system that keeps nanoseconds.
pub const PAST_THE_MARGIN: Duration = Duration::from_millis(2400);

/// A fresh clone whose modules have all been imported past the margin.
pub fn tested_clone() -> Dir {
    let mut dir = Dir::new();
    dir.write(".gitignore", "__pycache__/\n");
    dir.write("side.py", "SIDE = 1\n");
    for number in 0..MODULES {
        dir.write(format!("m{number}.py"), format!("V = {number}\n"));
    }
    dir.commit("one");
    dir.git(["switch", "-q", "-c", "side"]);
    dir.write("side.py", "SIDE = 2\n");
    dir.commit("two");
    dir.git(["switch", "-q", "main"]);
    dir.git(["clone", "-q", ".", "../clone"]);
    dir.enter(dir.beside("clone"));
    dir.git(["branch", "-q", "side", "origin/side"]);
    test(&dir);
    dir
}

/// Imports every module, past the margin.
pub fn test(dir: &Dir) {
    std::thread::sleep(PAST_THE_MARGIN);
    let code = format!("for n in range({MODULES}): __import__('m%d' % n)");
    dir.py(&code);
}

/// Every entry: which file it is and when it was written.
pub fn entries(dir: &Dir) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    fs::read_dir(dir.path("__pycache__"))
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

fn leaves_all_entries(act: fn(&Dir)) {
    let dir = tested_clone();
    dir.install();
    let before = entries(&dir);
    assert_eq!(before.len(), MODULES);
    act(&dir);
    assert_eq!(entries(&dir), before);
}

#[test]
fn a_commit_of_something_else() {
    leaves_all_entries(|dir| {
        dir.write("new.py", "V = 1\n");
        dir.commit("something else");
        dir.write("side.py", "SIDE = 3\n");
        dir.git(["commit", "-q", "-a", "-m", "one file"]);
    });
}

#[test]
fn a_switch_and_back() {
    leaves_all_entries(|dir| {
        dir.git(["switch", "-q", "side"]);
        dir.git(["switch", "-q", "main"]);
    });
}

#[test]
fn a_hundred_tested_sources_staged() {
    let dir = tested_clone();
    dir.install();
    for number in 0..100 {
        dir.write(format!("m{number}.py"), format!("V = {number} + 1\n"));
    }
    test(&dir);
    let before = entries(&dir);
    assert_eq!(before.len(), MODULES);
    dir.git(["add", "-A"]);
    assert_eq!(entries(&dir), before);
    dir.git(["reset", "-q"]);
    assert_eq!(entries(&dir), before);
    // The commit purges what it commits, and nothing else.
    dir.git(["commit", "-q", "-a", "-m", "a hundred"]);
    let after = entries(&dir);
    assert_eq!(after.len(), MODULES - 100);
    assert!(after.iter().all(|(path, entry)| before[path] == *entry));
}

#[test]
fn a_stash_of_something_else_and_a_merge() {
    leaves_all_entries(|dir| {
        dir.write("side.py", "SIDE = 3\n");
        dir.git(["stash", "-q"]);
        dir.git(["stash", "pop", "-q"]);
        dir.git(["checkout", "-q", "side.py"]);
        dir.git(["merge", "-q", "--no-ff", "--no-edit", "side"]);
        dir.git(["commit", "-q", "--amend", "-m", "amended"]);
        dir.command("git").args(["status", "-s"]).ok();
    });
}
