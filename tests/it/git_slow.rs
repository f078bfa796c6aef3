//! Git operations that take longer than a minute: what git wrote at their beginning is no longer
//! recent by the clock when the hook runs. Minutes each: `cargo test -- --ignored git_slow`.

use std::fs;

use crate::harness::{Dir, Situation};

const CODE: &str = "import mod; print(mod.V)";

/// `main` has V = 1, `other` has V = 2 and a file whose smudge filter takes a good minute. Git
/// writes `mod.py` first.
fn prepare(dir: &mut Dir) {
    dir.write("mod.py", "V = 1\n");
    dir.write(".gitignore", "__pycache__/\n");
    dir.commit("one");
    dir.git(["switch", "-q", "-c", "other"]);
    dir.write("mod.py", "V = 2\n");
    dir.write("slow.txt", "slow\n");
    dir.commit("two");
    dir.git(["switch", "-q", "main"]);
    fs::create_dir_all(dir.path(".git/info")).expect("the directory");
    fs::write(dir.path(".git/info/attributes"), "slow.txt filter=slow\n").expect("attributes");
    dir.git(["config", "filter.slow.smudge", "sleep 65; cat"]);
}

fn check(act: fn(&Dir)) {
    Situation {
        prepare,
        edit: |dir| dir.write("mod.py", "V = 1\n"),
        act,
        source: "mod.py",
        code: CODE,
        right: "2",
        install: |_| {},
    }
    .check();
}

#[test]
#[ignore = "takes minutes"]
fn switch() {
    check(|dir| {
        dir.git(["switch", "-q", "other"]);
    });
}

#[test]
#[ignore = "takes minutes"]
fn checkout_of_paths() {
    check(|dir| {
        dir.git(["checkout", "-q", "other", "--", "."]);
    });
}

#[test]
#[ignore = "takes minutes"]
fn restore() {
    check(|dir| {
        dir.git(["restore", "--source=other", "."]);
    });
}

#[test]
#[ignore = "takes minutes"]
fn cherry_pick() {
    check(|dir| {
        dir.git(["cherry-pick", "other"]);
    });
}
