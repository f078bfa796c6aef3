//! Git operations that take longer than a minute: what git wrote at their beginning is no longer
//! recent by the clock when the hook runs. Minutes each: `cargo test -- --ignored git_slow`.

use std::fs;

use crate::lab::{Lab, Situation};

const CODE: &str = "import mod; print(mod.V)";

/// `main` has V = 1, `other` has V = 2 and a file whose smudge filter takes a good minute. Git
/// writes `mod.py` first.
fn prepare(lab: &mut Lab) {
    lab.write("mod.py", "V = 1\n");
    lab.write(".gitignore", "__pycache__/\n");
    lab.commit("one");
    lab.git(["switch", "-q", "-c", "other"]);
    lab.write("mod.py", "V = 2\n");
    lab.write("slow.txt", "slow\n");
    lab.commit("two");
    lab.git(["switch", "-q", "main"]);
    fs::create_dir_all(lab.root.join(".git/info")).expect("the directory");
    fs::write(
        lab.root.join(".git/info/attributes"),
        "slow.txt filter=slow\n",
    )
    .expect("attributes");
    lab.git(["config", "filter.slow.smudge", "sleep 65; cat"]);
}

fn check(act: fn(&Lab)) {
    Situation {
        prepare,
        edit: |lab| lab.write("mod.py", "V = 1\n"),
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
    check(|lab| {
        lab.git(["switch", "-q", "other"]);
    });
}

#[test]
#[ignore = "takes minutes"]
fn checkout_of_paths() {
    check(|lab| {
        lab.git(["checkout", "-q", "other", "--", "."]);
    });
}

#[test]
#[ignore = "takes minutes"]
fn restore() {
    check(|lab| {
        lab.git(["restore", "--source=other", "."]);
    });
}

#[test]
#[ignore = "takes minutes"]
fn cherry_pick() {
    check(|lab| {
        lab.git(["cherry-pick", "other"]);
    });
}
