//! The harness itself: without it doing what it says, no other test means anything.

use std::path::Path;

use crate::harness::{Dir, interpreter, pyc, race};

#[test]
fn a_rewrite_within_one_second_is_stale() {
    let python = interpreter::main();
    race::in_one_second(|| {
        let dir = Dir::new();
        dir.write("mod.py", "V = 1\n");
        assert_eq!(dir.import_value(python, "mod"), "1");
        dir.write("mod.py", "V = 2\n");
        let entry = dir.path(dir.entry(python, "mod.py"));
        let source = dir.path("mod.py");
        pyc::matches(&entry, &source, python).then(|| {
            assert_eq!(dir.import_value(python, "mod"), "1");
        })
    });
}

#[test]
fn children_see_nothing_of_the_callers_settings() {
    let dir = Dir::new();
    let shown = dir.command("env").ok();
    for line in shown.lines() {
        let name = line.split('=').next().expect("a name");
        assert!(!name.starts_with("PYTHON"), "{line}");
        let ours = ["GIT_CONFIG_NOSYSTEM", "GIT_EDITOR"];
        assert!(!name.starts_with("GIT_") || ours.contains(&name), "{line}");
    }
    assert_eq!(dir.git(&["config", "init.defaultBranch"]), "main");
}

#[test]
fn innocents_are_warm_and_older_than_any_margin() {
    let dir = Dir::new();
    dir.innocents();
    assert_eq!(dir.innocent_left().len(), race::INNOCENTS);
    let python = interpreter::main();
    let source = dir.path("innocent/innocent0.py");
    let entry = python.entry(&source);
    assert!(pyc::matches(&entry, &source, python));
    let age = |path: &Path| path.metadata().expect("it").modified().expect("a time");
    let gap = age(&entry).duration_since(age(&source)).expect("later");
    assert!(gap.as_secs() >= 2, "{gap:?}");
}
