//! Every git operation that rewrites a source in the second in which it was compiled: plain
//! Python runs the old code without the hooks of `pycgate install`, and the new code with them.

use std::fs;

use crate::lab::{Lab, PYCGATE, Situation, start_of_a_second, succeeded};

const CODE: &str = "import mod; print(mod.V)";

/// `main` has V = 1, and `other`, one commit ahead of it, has V = 2.
fn two_branches(lab: &mut Lab) {
    lab.write("mod.py", "V = 1\n");
    lab.write(".gitignore", "__pycache__/\n");
    lab.commit("one");
    lab.git(["switch", "-q", "-c", "other"]);
    lab.write("mod.py", "V = 2\n");
    lab.commit("two");
    lab.git(["switch", "-q", "main"]);
}

/// Two branches of which each is ahead of the other.
fn two_diverged_branches(lab: &mut Lab) {
    two_branches(lab);
    lab.write("unrelated.txt", "more\n");
    lab.commit("three");
}

/// The same content, written anew: a formatter that has nothing to change.
fn rewrite_one(lab: &Lab) {
    lab.write("mod.py", "V = 1\n");
}

fn rewrite_two(lab: &Lab) {
    lab.write("mod.py", "V = 2\n");
}

fn nothing(_lab: &Lab) {}

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
    switch: { act: |lab| { lab.git(["switch", "-q", "other"]); } }
    checkout_of_a_path: { act: |lab| { lab.git(["checkout", "-q", "other", "--", "mod.py"]); } }
    restore_from_a_source: { act: |lab| { lab.git(["restore", "--source=other", "mod.py"]); } }
    restore_staged_and_worktree: {
        act: |lab| { lab.git(["restore", "-SW", "--source=other", "mod.py"]); },
    }
    reset_hard: { act: |lab| { lab.git(["reset", "-q", "--hard", "other"]); } }
    reset_keep: {
        edit: |lab| {
            rewrite_one(lab);
            lab.git(["add", "mod.py"]);
        },
        act: |lab| { lab.git(["reset", "-q", "--keep", "other"]); },
    }
    fast_forward_merge: { act: |lab| { lab.git(["merge", "-q", "--ff-only", "other"]); } }
    true_merge: {
        prepare: two_diverged_branches,
        act: |lab| { lab.git(["merge", "-q", "--no-edit", "other"]); },
    }
    merge_without_commit: {
        prepare: two_diverged_branches,
        act: |lab| { lab.git(["merge", "-q", "--no-commit", "other"]); },
    }
    squash_merge: { act: |lab| { lab.git(["merge", "-q", "--squash", "other"]); } }
    merge_aborted: {
        prepare: |lab| {
            two_diverged_branches(lab);
            lab.git(["merge", "-q", "--no-commit", "other"]);
        },
        edit: |lab| {
            rewrite_two(lab);
            lab.git(["add", "mod.py"]);
        },
        act: |lab| { lab.git(["merge", "--abort"]); },
        right: "1",
    }
    cherry_pick: {
        prepare: two_diverged_branches,
        act: |lab| { lab.git(["cherry-pick", "other"]); },
    }
    revert: {
        prepare: |lab| {
            two_branches(lab);
            lab.git(["switch", "-q", "other"]);
        },
        edit: rewrite_two,
        act: |lab| { lab.git(["revert", "--no-edit", "HEAD"]); },
        right: "1",
    }
    am: {
        prepare: |lab| {
            two_branches(lab);
            let patch = lab.git(["format-patch", "--stdout", "main..other"]);
            fs::write(lab.beside("patch"), patch + "\n").expect("the patch");
        },
        act: |lab| { lab.git(["am", "-q", "../patch"]); },
    }
    apply_with_index: {
        prepare: |lab| {
            two_branches(lab);
            let patch = lab.git(["diff", "main..other"]);
            fs::write(lab.beside("patch"), patch + "\n").expect("the patch");
        },
        edit: |lab| {
            rewrite_one(lab);
            lab.git(["add", "mod.py"]);
        },
        act: |lab| { lab.git(["apply", "--index", "../patch"]); },
    }
    stash_push: {
        edit: rewrite_two,
        act: |lab| { lab.git(["stash", "-q"]); },
        right: "1",
    }
    stash_pop: {
        prepare: |lab| {
            two_branches(lab);
            rewrite_two(lab);
            lab.git(["stash", "-q"]);
        },
        act: |lab| { lab.git(["stash", "pop", "-q"]); },
    }
    stash_of_a_patch: {
        edit: rewrite_two,
        act: |lab| { lab.git_fed(&["stash", "-p"], "y\n"); },
        right: "1",
    }
    stash_of_what_is_staged: {
        prepare: |lab| {
            two_branches(lab);
            rewrite_two(lab);
            lab.git(["add", "mod.py"]);
        },
        edit: rewrite_two,
        act: |lab| { lab.git(["stash", "push", "-q", "--staged"]); },
        right: "1",
    }
    checkout_of_a_patch: {
        edit: rewrite_two,
        act: |lab| { lab.git_fed(&["checkout", "-p"], "y\n"); },
        right: "1",
    }
    checkout_of_ours: {
        prepare: |lab| {
            two_branches(lab);
            lab.write("mod.py", "V = 3\n");
            lab.commit("three");
            assert!(!lab.git_may_fail(&["merge", "-q", "other"]).status.success());
        },
        edit: rewrite_two,
        act: |lab| { lab.git(["checkout", "-q", "--ours", "mod.py"]); },
        right: "3",
    }
    move_over_another: {
        prepare: |lab| {
            two_branches(lab);
            lab.write("new.py", "V = 2\n");
            lab.commit("new");
        },
        edit: |lab| {
            rewrite_one(lab);
            lab.write("new.py", "V = 2\n");
        },
        act: |lab| { lab.git(["mv", "-f", "new.py", "mod.py"]); },
    }
    pull: {
        prepare: behind_its_remote,
        act: |lab| { lab.git(["pull", "-q", "--ff-only"]); },
    }
    pull_with_rebase: {
        prepare: |lab| {
            behind_its_remote(lab);
            lab.write("unrelated.txt", "more\n");
            lab.commit("local");
        },
        act: |lab| { lab.git(["pull", "-q", "--rebase"]); },
    }
    rebase: {
        prepare: two_diverged_branches,
        act: |lab| { lab.git(["rebase", "-q", "other"]); },
    }
    rebase_aborted: {
        prepare: |lab| {
            two_branches(lab);
            lab.write("mod.py", "V = 3\n");
            lab.commit("three");
            assert!(!lab.git_may_fail(&["rebase", "-q", "other"]).status.success());
        },
        edit: rewrite_two,
        act: |lab| { lab.git(["rebase", "--abort"]); },
        right: "3",
    }
    cherry_pick_aborted: {
        prepare: |lab| {
            two_branches(lab);
            lab.write("mod.py", "V = 3\n");
            lab.commit("three");
            assert!(!lab.git_may_fail(&["cherry-pick", "other"]).status.success());
        },
        edit: rewrite_two,
        act: |lab| { lab.git(["cherry-pick", "--abort"]); },
        right: "3",
    }
    stash_branch: {
        prepare: |lab| {
            two_branches(lab);
            rewrite_two(lab);
            lab.git(["stash", "-q"]);
        },
        act: |lab| { lab.git(["stash", "branch", "stashed"]); },
    }
    checkout_of_theirs: {
        prepare: |lab| {
            two_branches(lab);
            lab.write("mod.py", "V = 3\n");
            lab.commit("three");
            assert!(!lab.git_may_fail(&["merge", "-q", "other"]).status.success());
        },
        edit: |lab| lab.write("mod.py", "V = 3\n"),
        act: |lab| { lab.git(["checkout", "-q", "--theirs", "mod.py"]); },
    }
    read_tree: {
        edit: |lab| {
            rewrite_one(lab);
            lab.git(["add", "mod.py"]);
        },
        act: |lab| { lab.git(["read-tree", "-m", "-u", "HEAD", "other"]); },
    }
    detached_and_back: {
        act: |lab| {
            lab.git(["checkout", "-q", "--detach"]);
            lab.git(["checkout", "-q", "other"]);
        },
    }
    rebase_with_autostash: {
        prepare: |lab| {
            two_diverged_branches(lab);
            lab.write("unrelated.txt", "an edit\n");
        },
        act: |lab| { lab.git(["rebase", "-q", "--autostash", "other"]); },
    }
    switch_behind_a_symlink: {
        prepare: |lab| {
            lab.write("real/impl.py", "V = 1\n");
            std::os::unix::fs::symlink("real/impl.py", lab.root.join("alias.py")).expect("a link");
            lab.write(".gitignore", "__pycache__/\n");
            lab.commit("one");
            lab.git(["switch", "-q", "-c", "other"]);
            lab.write("real/impl.py", "V = 2\n");
            lab.commit("two");
            lab.git(["switch", "-q", "main"]);
        },
        edit: |lab| lab.write("real/impl.py", "V = 1\n"),
        act: |lab| { lab.git(["switch", "-q", "other"]); },
        source: "alias.py",
        code: "import alias; print(alias.V)",
    }
    sparse_checkout_add: {
        prepare: |lab| {
            lab.write("wanted/file.txt", "");
            lab.write("lib/mod.py", "V = 1\n");
            lab.write(".gitignore", "__pycache__/\n");
            lab.commit("one");
            lab.git(["switch", "-q", "-c", "other"]);
            lab.write("lib/mod.py", "V = 2\n");
            lab.commit("two");
            lab.git(["switch", "-q", "main"]);
        },
        edit: |lab| lab.write("lib/mod.py", "V = 1\n"),
        act: |lab| {
            // What is left in `lib` is untracked, and git writes the source anew beside it.
            lab.git(["update-index", "--refresh"]);
            lab.git(["sparse-checkout", "set", "--no-cone", "/wanted/"]);
            lab.git(["switch", "-q", "other"]);
            lab.git(["sparse-checkout", "add", "/lib/"]);
        },
        source: "lib/mod.py",
        code: "import sys; sys.path.insert(0, 'lib'); import mod; print(mod.V)",
    }
    worktree_add: {
        // A removed work tree takes its `__pycache__` along; a prefix keeps its entries.
        prepare: |lab| {
            two_branches(lab);
            let prefix = lab.beside("prefix");
            lab.set("PYTHONPYCACHEPREFIX", &prefix);
        },
        edit: |lab| { lab.git(["worktree", "add", "-q", "--detach", "../second", "main"]); },
        act: |lab| {
            lab.git(["worktree", "remove", "--force", "../second"]);
            lab.git(["worktree", "add", "-q", "../second", "other"]);
        },
        source: "../second/mod.py",
        code: "import sys; sys.path.insert(0, '../second'); import mod; print(mod.V)",
    }
    submodule_update: {
        prepare: |lab| {
            two_branches(lab);
            lab.git(["clone", "-q", "--bare", ".", "../library.git"]);
            let outer = lab.beside("outer");
            lab.git(["init", "-q", "../outer"]);
            lab.root = outer;
            lab.git(["submodule", "add", "-q", "-b", "main", "../library.git", "library"]);
            lab.commit("one");
            lab.git(["-C", "library", "checkout", "-q", "other"]);
            lab.commit("two");
            lab.git(["-C", "library", "checkout", "-q", "main"]);
        },
        install: |lab| {
            let output = lab.pycgate(&["install", "--recurse-submodules"]);
            assert!(output.status.success(), "{output:?}");
        },
        edit: |lab| lab.write("library/mod.py", "V = 1\n"),
        act: |lab| { lab.git(["submodule", "update", "-q"]); },
        source: "library/mod.py",
        code: "import sys; sys.path.insert(0, 'library'); import mod; print(mod.V)",
    }
}

/// `main` is one commit behind its upstream, which has V = 2.
fn behind_its_remote(lab: &mut Lab) {
    two_branches(lab);
    lab.git(["clone", "-q", "--bare", ".", "../remote.git"]);
    lab.git(["remote", "add", "origin", "../remote.git"]);
    lab.git(["push", "-q", "origin", "other:main"]);
    lab.git(["fetch", "-q"]);
    lab.git(["branch", "-q", "--set-upstream-to=origin/main"]);
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
/// the steps printed, and the lab.
fn steps(hooks: bool, act: fn(&Lab)) -> (Vec<String>, Lab) {
    for _ in 0..20 {
        let lab = Lab::new();
        lab.write(".gitignore", "__pycache__/\n");
        for commit in 1..=8 {
            lab.write("mod.py", format!("V = {commit}\n"));
            lab.commit(&format!("number {commit}"));
        }
        fs::write(lab.beside("step.py"), STEP).expect("the step");
        if hooks {
            lab.install();
        }
        start_of_a_second();
        act(&lab);
        let printed = fs::read_to_string(lab.beside("steps")).expect("steps were run");
        let (values, seconds): (Vec<String>, Vec<String>) = printed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(value, second)| (value.to_owned(), second.to_owned()))
            .unzip();
        let pairs = seconds.windows(2);
        let races = pairs.filter(|pair| pair[0] == pair[1]).count();
        if races == seconds.len() - 1 || hooks && races > 0 {
            return (values, lab);
        }
    }
    panic!("the steps never fell into one second");
}

/// The step as a command: the module is imported from the work tree.
fn step(limit: u32) -> String {
    let python = crate::lab::python().display();
    format!("PYTHONPATH=. {python} ../step.py {limit}")
}

#[test]
fn every_step_of_rebase_exec_sees_its_own_code() {
    let act = |lab: &Lab| {
        lab.git(["rebase", "-q", "-f", "-x", &step(100), "HEAD~5"]);
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
    let act = |lab: &Lab| {
        lab.git(["bisect", "start", "main", "main~7"]);
        // It fails where the first bad commit is nowhere to be seen, as without hooks.
        lab.git_may_fail(&["bisect", "run", "sh", "-c", &step(6)]);
    };
    let named = |lab: &Lab| lab.git(["show", "-s", "--format=%s", "refs/bisect/bad"]);
    let (_, lab) = steps(false, act);
    assert_ne!(
        named(&lab),
        "number 6",
        "without hooks bisect names a wrong commit"
    );
    let (_, lab) = steps(true, act);
    assert_eq!(named(&lab), "number 6");
}

/// What git does without firing any hook: only the gate covers it.
fn only_the_gate(prepare: fn(&mut Lab), edit: fn(&Lab), act: fn(&Lab)) {
    for _ in 0..12 {
        let mut lab = Lab::new();
        prepare(&mut lab);
        lab.install();
        start_of_a_second();
        edit(&lab);
        let before = crate::lab::stamp(&lab.root.join("mod.py"));
        lab.python(CODE);
        act(&lab);
        let with_hooks = lab.python(CODE);
        if crate::lab::stamp(&lab.root.join("mod.py")) == before {
            assert_ne!(with_hooks, lab.truth(CODE), "no hook fires");
            let mut gate = lab.command(PYCGATE);
            let python = crate::lab::python();
            gate.args(["gate", "-q", "--"])
                .arg(python)
                .args(["-c", CODE]);
            assert_eq!(succeeded(&mut gate), lab.truth(CODE));
            return;
        }
    }
    panic!("the operation never ended in the second it began in");
}

#[test]
fn apply_without_index_is_the_gates() {
    only_the_gate(
        |lab| {
            two_branches(lab);
            let patch = lab.git(["diff", "main..other"]);
            fs::write(lab.beside("patch"), patch + "\n").expect("the patch");
        },
        rewrite_one,
        |lab| {
            lab.git(["apply", "../patch"]);
        },
    );
}

#[test]
fn checkout_index_is_the_gates() {
    only_the_gate(two_branches, rewrite_two, |lab| {
        lab.git(["checkout-index", "-f", "mod.py"]);
    });
}

#[test]
fn clean_is_the_gates() {
    let lab = Lab::new();
    lab.write(".gitignore", "__pycache__/\n");
    lab.commit("one");
    lab.install();
    lab.write("pkg/__init__.py", "");
    lab.python("import pkg");
    lab.git(["clean", "-q", "-d", "-f"]);
    assert!(lab.python_runs("import pkg"), "no hook fires");
    let output = lab.pycgate(&["gate", "-q"]);
    assert!(output.status.success(), "{output:?}");
    assert!(!lab.python_runs("import pkg"));
}
