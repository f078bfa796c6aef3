//! Every git operation that rewrites a source in the second in which it was compiled: plain
//! Python runs the old code without the hooks of `pycgate install`, and the new code with them.

use std::fs;

use crate::harness::{Dir, Situation, interpreter, race};

const CODE: &str = "import mod; print(mod.V)";

/// `main` has V = 1, and `other`, one commit ahead of it, has V = 2.
fn two_branches(dir: &mut Dir) {
    dir.write("mod.py", "V = 1\n");
    dir.write(".gitignore", "__pycache__/\n");
    dir.commit("one");
    dir.git(["switch", "-q", "-c", "other"]);
    dir.write("mod.py", "V = 2\n");
    dir.commit("two");
    dir.git(["switch", "-q", "main"]);
}

/// Two branches of which each is ahead of the other.
fn two_diverged_branches(dir: &mut Dir) {
    two_branches(dir);
    dir.write("unrelated.txt", "more\n");
    dir.commit("three");
}

/// The same content, written anew: a formatter that has nothing to change.
fn rewrite_one(dir: &Dir) {
    dir.write("mod.py", "V = 1\n");
}

fn rewrite_two(dir: &Dir) {
    dir.write("mod.py", "V = 2\n");
}

fn nothing(_lab: &Dir) {}

const USUAL: Situation = Situation {
    prepare: two_branches,
    edit: rewrite_one,
    act: nothing,
    source: "mod.py",
    code: CODE,
    right: "2",
    install: nothing,
};

macro_rules! situations {
    ($($name:ident: { $($field:ident: $value:expr),* $(,)? })*) => {
        $(#[test]
        fn $name() {
            Situation { $($field: $value,)* ..USUAL }.check();
        })*
    };
}

situations! {
    switch: { act: |dir| { dir.git(["switch", "-q", "other"]); } }
    checkout_of_a_path: { act: |dir| { dir.git(["checkout", "-q", "other", "--", "mod.py"]); } }
    restore_from_a_source: { act: |dir| { dir.git(["restore", "--source=other", "mod.py"]); } }
    restore_staged_and_worktree: {
        act: |dir| { dir.git(["restore", "-SW", "--source=other", "mod.py"]); },
    }
    reset_hard: { act: |dir| { dir.git(["reset", "-q", "--hard", "other"]); } }
    reset_keep: {
        edit: |dir| {
            rewrite_one(dir);
            dir.git(["add", "mod.py"]);
        },
        act: |dir| { dir.git(["reset", "-q", "--keep", "other"]); },
    }
    fast_forward_merge: { act: |dir| { dir.git(["merge", "-q", "--ff-only", "other"]); } }
    true_merge: {
        prepare: two_diverged_branches,
        act: |dir| { dir.git(["merge", "-q", "--no-edit", "other"]); },
    }
    merge_without_commit: {
        prepare: two_diverged_branches,
        act: |dir| { dir.git(["merge", "-q", "--no-commit", "other"]); },
    }
    squash_merge: { act: |dir| { dir.git(["merge", "-q", "--squash", "other"]); } }
    merge_aborted: {
        prepare: |dir| {
            two_diverged_branches(dir);
            dir.git(["merge", "-q", "--no-commit", "other"]);
        },
        edit: |dir| {
            rewrite_two(dir);
            dir.git(["add", "mod.py"]);
        },
        act: |dir| { dir.git(["merge", "--abort"]); },
        right: "1",
    }
    cherry_pick: {
        prepare: two_diverged_branches,
        act: |dir| { dir.git(["cherry-pick", "other"]); },
    }
    revert: {
        prepare: |dir| {
            two_branches(dir);
            dir.git(["switch", "-q", "other"]);
        },
        edit: rewrite_two,
        act: |dir| { dir.git(["revert", "--no-edit", "HEAD"]); },
        right: "1",
    }
    am: {
        prepare: |dir| {
            two_branches(dir);
            let patch = dir.git(["format-patch", "--stdout", "main..other"]);
            fs::write(dir.beside("patch"), patch + "\n").expect("the patch");
        },
        act: |dir| { dir.git(["am", "-q", "../patch"]); },
    }
    apply_with_index: {
        prepare: |dir| {
            two_branches(dir);
            let patch = dir.git(["diff", "main..other"]);
            fs::write(dir.beside("patch"), patch + "\n").expect("the patch");
        },
        edit: |dir| {
            rewrite_one(dir);
            dir.git(["add", "mod.py"]);
        },
        act: |dir| { dir.git(["apply", "--index", "../patch"]); },
    }
    stash_push: {
        edit: rewrite_two,
        act: |dir| { dir.git(["stash", "-q"]); },
        right: "1",
    }
    stash_pop: {
        prepare: |dir| {
            two_branches(dir);
            rewrite_two(dir);
            dir.git(["stash", "-q"]);
        },
        act: |dir| { dir.git(["stash", "pop", "-q"]); },
    }
    stash_of_a_patch: {
        edit: rewrite_two,
        act: |dir| { dir.command("git").args(["stash", "-p"]).input("y\n").ok(); },
        right: "1",
    }
    stash_of_what_is_staged: {
        prepare: |dir| {
            two_branches(dir);
            rewrite_two(dir);
            dir.git(["add", "mod.py"]);
        },
        edit: rewrite_two,
        act: |dir| { dir.git(["stash", "push", "-q", "--staged"]); },
        right: "1",
    }
    checkout_of_a_patch: {
        edit: rewrite_two,
        act: |dir| { dir.command("git").args(["checkout", "-p"]).input("y\n").ok(); },
        right: "1",
    }
    checkout_of_ours: {
        prepare: |dir| {
            two_branches(dir);
            dir.write("mod.py", "V = 3\n");
            dir.commit("three");
            assert_ne!(dir.try_git(["merge", "-q", "other"]).status, 0);
        },
        edit: rewrite_two,
        act: |dir| { dir.git(["checkout", "-q", "--ours", "mod.py"]); },
        right: "3",
    }
    move_over_another: {
        prepare: |dir| {
            two_branches(dir);
            dir.write("new.py", "V = 2\n");
            dir.commit("new");
        },
        edit: |dir| {
            rewrite_one(dir);
            dir.write("new.py", "V = 2\n");
        },
        act: |dir| { dir.git(["mv", "-f", "new.py", "mod.py"]); },
    }
    pull: {
        prepare: behind_its_remote,
        act: |dir| { dir.git(["pull", "-q", "--ff-only"]); },
    }
    pull_with_rebase: {
        prepare: |dir| {
            behind_its_remote(dir);
            dir.write("unrelated.txt", "more\n");
            dir.commit("local");
        },
        act: |dir| { dir.git(["pull", "-q", "--rebase"]); },
    }
    rebase: {
        prepare: two_diverged_branches,
        act: |dir| { dir.git(["rebase", "-q", "other"]); },
    }
    rebase_aborted: {
        prepare: |dir| {
            two_branches(dir);
            dir.write("mod.py", "V = 3\n");
            dir.commit("three");
            assert_ne!(dir.try_git(["rebase", "-q", "other"]).status, 0);
        },
        edit: rewrite_two,
        act: |dir| { dir.git(["rebase", "--abort"]); },
        right: "3",
    }
    cherry_pick_aborted: {
        prepare: |dir| {
            two_branches(dir);
            dir.write("mod.py", "V = 3\n");
            dir.commit("three");
            assert_ne!(dir.try_git(["cherry-pick", "other"]).status, 0);
        },
        edit: rewrite_two,
        act: |dir| { dir.git(["cherry-pick", "--abort"]); },
        right: "3",
    }
    stash_branch: {
        prepare: |dir| {
            two_branches(dir);
            rewrite_two(dir);
            dir.git(["stash", "-q"]);
        },
        act: |dir| { dir.git(["stash", "branch", "stashed"]); },
    }
    checkout_of_theirs: {
        prepare: |dir| {
            two_branches(dir);
            dir.write("mod.py", "V = 3\n");
            dir.commit("three");
            assert_ne!(dir.try_git(["merge", "-q", "other"]).status, 0);
        },
        edit: |dir| dir.write("mod.py", "V = 3\n"),
        act: |dir| { dir.git(["checkout", "-q", "--theirs", "mod.py"]); },
    }
    read_tree: {
        edit: |dir| {
            rewrite_one(dir);
            dir.git(["add", "mod.py"]);
        },
        act: |dir| { dir.git(["read-tree", "-m", "-u", "HEAD", "other"]); },
    }
    detached_and_back: {
        act: |dir| {
            dir.git(["checkout", "-q", "--detach"]);
            dir.git(["checkout", "-q", "other"]);
        },
    }
    rebase_with_autostash: {
        prepare: |dir| {
            two_diverged_branches(dir);
            dir.write("unrelated.txt", "an edit\n");
        },
        act: |dir| { dir.git(["rebase", "-q", "--autostash", "other"]); },
    }
    switch_behind_a_symlink: {
        prepare: |dir| {
            dir.write("real/impl.py", "V = 1\n");
            std::os::unix::fs::symlink("real/impl.py", dir.path("alias.py")).expect("a link");
            dir.write(".gitignore", "__pycache__/\n");
            dir.commit("one");
            dir.git(["switch", "-q", "-c", "other"]);
            dir.write("real/impl.py", "V = 2\n");
            dir.commit("two");
            dir.git(["switch", "-q", "main"]);
        },
        edit: |dir| dir.write("real/impl.py", "V = 1\n"),
        act: |dir| { dir.git(["switch", "-q", "other"]); },
        source: "alias.py",
        code: "import alias; print(alias.V)",
    }
    sparse_checkout_add: {
        prepare: |dir| {
            dir.write("wanted/file.txt", "");
            dir.write("lib/mod.py", "V = 1\n");
            dir.write(".gitignore", "__pycache__/\n");
            dir.commit("one");
            dir.git(["switch", "-q", "-c", "other"]);
            dir.write("lib/mod.py", "V = 2\n");
            dir.commit("two");
            dir.git(["switch", "-q", "main"]);
        },
        edit: |dir| dir.write("lib/mod.py", "V = 1\n"),
        act: |dir| {
            // What is left in `lib` is untracked, and git writes the source anew beside it.
            dir.git(["update-index", "--refresh"]);
            dir.git(["sparse-checkout", "set", "--no-cone", "/wanted/"]);
            dir.git(["switch", "-q", "other"]);
            dir.git(["sparse-checkout", "add", "/lib/"]);
        },
        source: "lib/mod.py",
        code: "import sys; sys.path.insert(0, 'lib'); import mod; print(mod.V)",
    }
    worktree_add: {
        // A removed work tree takes its `__pycache__` along; a prefix keeps its entries.
        prepare: |dir| {
            two_branches(dir);
            let prefix = dir.beside("prefix");
            dir.set("PYTHONPYCACHEPREFIX", &prefix);
        },
        edit: |dir| { dir.git(["worktree", "add", "-q", "--detach", "../second", "main"]); },
        act: |dir| {
            dir.git(["worktree", "remove", "--force", "../second"]);
            dir.git(["worktree", "add", "-q", "../second", "other"]);
        },
        source: "../second/mod.py",
        code: "import sys; sys.path.insert(0, '../second'); import mod; print(mod.V)",
    }
    submodule_update: {
        prepare: |dir| {
            two_branches(dir);
            dir.git(["clone", "-q", "--bare", ".", "../library.git"]);
            let outer = dir.beside("outer");
            dir.git(["init", "-q", "../outer"]);
            dir.enter(outer);
            dir.git(["submodule", "add", "-q", "-b", "main", "../library.git", "library"]);
            dir.commit("one");
            dir.git(["-C", "library", "checkout", "-q", "other"]);
            dir.commit("two");
            dir.git(["-C", "library", "checkout", "-q", "main"]);
        },
        install: |dir| {
            let output = dir.pycgate(["install", "--recurse-submodules"]).run();
            assert_eq!(output.status, 0, "{output:?}");
        },
        edit: |dir| dir.write("library/mod.py", "V = 1\n"),
        act: |dir| { dir.git(["submodule", "update", "-q"]); },
        source: "library/mod.py",
        code: "import sys; sys.path.insert(0, 'library'); import mod; print(mod.V)",
    }
}

/// `main` is one commit behind its upstream, which has V = 2.
fn behind_its_remote(dir: &mut Dir) {
    two_branches(dir);
    dir.git(["clone", "-q", "--bare", ".", "../remote.git"]);
    dir.git(["remote", "add", "origin", "../remote.git"]);
    dir.git(["push", "-q", "origin", "other:main"]);
    dir.git(["fetch", "-q"]);
    dir.git(["branch", "-q", "--set-upstream-to=origin/main"]);
}

/// What each step of a run that takes several prints, and the second its source is from.
const STEP: &str = "\
import os, sys, mod
with open('../steps', 'a') as steps:
    print(mod.V, int(os.stat('mod.py').st_mtime), file=steps)
sys.exit(mod.V >= int(sys.argv[1]))
";

/// Runs `act` until its steps race: without hooks all of them in one second, so that the first
/// one's entry counts for all; with hooks, which take their time, at least two in a row. Gives what
/// the steps printed, and the dir.
fn steps(hooks: bool, act: fn(&Dir)) -> (Vec<String>, Dir) {
    race::in_one_second_after(
        || {
            let dir = Dir::new();
            dir.write(".gitignore", "__pycache__/\n");
            for commit in 1..=8 {
                dir.write("mod.py", format!("V = {commit}\n"));
                dir.commit(&format!("number {commit}"));
            }
            fs::write(dir.beside("step.py"), STEP).expect("the step");
            if hooks {
                dir.install();
            }
            dir
        },
        |dir| {
            act(&dir);
            let printed = fs::read_to_string(dir.beside("steps")).expect("steps were run");
            let (values, seconds): (Vec<String>, Vec<String>) = printed
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(value, second)| (value.to_owned(), second.to_owned()))
                .unzip();
            let pairs = seconds.windows(2);
            let races = pairs.filter(|pair| pair[0] == pair[1]).count();
            (races == seconds.len() - 1 || hooks && races > 0).then_some((values, dir))
        },
    )
}

/// The step as a command: the module is imported from the work tree.
fn step(limit: u32) -> String {
    let python = interpreter::main().path.display();
    format!("PYTHONPATH=. {python} ../step.py {limit}")
}

#[test]
fn every_step_of_rebase_exec_sees_its_own_code() {
    let act = |dir: &Dir| {
        dir.git(["rebase", "-q", "-f", "-x", &step(100), "HEAD~5"]);
    };
    let (without, _) = steps(false, act);
    assert_eq!(
        without,
        ["4", "4", "4", "4", "4"],
        "without hooks all steps run the first one's"
    );
    let (with, _) = steps(true, act);
    assert_eq!(with, ["4", "5", "6", "7", "8"]);
}

#[test]
fn bisect_names_the_right_commit() {
    let act = |dir: &Dir| {
        dir.git(["bisect", "start", "main", "main~7"]);
        // It fails where the first bad commit is nowhere to be seen, as without hooks.
        dir.try_git(["bisect", "run", "sh", "-c", &step(6)]);
    };
    let named = |dir: &Dir| dir.git(["show", "-s", "--format=%s", "refs/bisect/bad"]);
    let (_, dir) = steps(false, act);
    assert_ne!(
        named(&dir),
        "number 6",
        "without hooks bisect names a wrong commit"
    );
    let (_, dir) = steps(true, act);
    assert_eq!(named(&dir), "number 6");
}

/// What git does without firing any hook: only the gate covers it.
#[test]
fn apply_without_index_is_the_gates() {
    Situation {
        prepare: |dir| {
            two_branches(dir);
            let patch = dir.git(["diff", "main..other"]);
            fs::write(dir.beside("patch"), patch + "\n").expect("the patch");
        },
        act: |dir| {
            dir.git(["apply", "../patch"]);
        },
        ..USUAL
    }
    .check_that_only_the_gate_covers_it();
}

#[test]
fn checkout_index_is_the_gates() {
    Situation {
        edit: rewrite_two,
        act: |dir| {
            dir.git(["checkout-index", "-f", "mod.py"]);
        },
        right: "1",
        ..USUAL
    }
    .check_that_only_the_gate_covers_it();
}

#[test]
fn clean_is_the_gates() {
    let dir = Dir::new();
    dir.write(".gitignore", "__pycache__/\n");
    dir.commit("one");
    dir.install();
    dir.write("pkg/__init__.py", "");
    dir.py("import pkg");
    dir.git(["clean", "-q", "-d", "-f"]);
    assert!(dir.py_runs("import pkg"), "no hook fires");
    let output = dir.pycgate(["gate", "-q"]).run();
    assert_eq!(output.status, 0, "{output:?}");
    assert!(!dir.py_runs("import pkg"));
}
