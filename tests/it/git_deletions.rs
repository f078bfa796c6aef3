//! Packages that a git operation deletes: with their caches left behind they stay importable as
//! namespace packages; with the hooks they are gone, and nothing of the user's is.

use crate::harness::Dir;

/// `main` has the packages `pkg` and `pkg.sub`, and `without`, one commit ahead, has not.
pub fn prepare(dir: &Dir) {
    dir.write(".gitignore", "__pycache__/\n");
    dir.write("other.py", "");
    dir.commit("start");
    dir.write("pkg/__init__.py", "");
    dir.write("pkg/sub/__init__.py", "");
    dir.write("pkg/sub/deep.py", "");
    dir.write("held/__init__.py", "");
    dir.commit("with");
    dir.git(["switch", "-q", "-c", "without"]);
    dir.git(["rm", "-q", "-r", "pkg", "held"]);
    dir.commit("without");
    dir.git(["switch", "-q", "main"]);
}

fn check(act: fn(&Dir)) {
    for hooks in [false, true] {
        let dir = Dir::new();
        prepare(&dir);
        if hooks {
            dir.install();
        }
        dir.py("import pkg.sub.deep, held");
        dir.write("held/notes.txt", "the user's");
        dir.write("held/__pycache__/notes.txt", "the user's, too");
        act(&dir);
        assert!(
            !dir.path("pkg/__init__.py").exists(),
            "git has deleted the package"
        );
        let importable = dir.py_runs("import pkg");
        assert_eq!(importable, !hooks, "hooks: {hooks}");
        assert_eq!(dir.path("pkg").exists(), !hooks);
        for theirs in ["held/notes.txt", "held/__pycache__/notes.txt"] {
            assert!(dir.path(theirs).exists(), "{theirs}");
        }
    }
}

macro_rules! deletions {
    ($($name:ident: |$dir:ident| $act:block)*) => {
        $(#[test]
        fn $name() {
            check(|$dir: &Dir| $act);
        })*
    };
}

deletions! {
    switch: |dir| { dir.git(["switch", "-q", "without"]); }
    fast_forward_merge: |dir| { dir.git(["merge", "-q", "--ff-only", "without"]); }
    true_merge: |dir| {
        dir.git(["commit", "-q", "--allow-empty", "-m", "diverge"]);
        dir.git(["merge", "-q", "--no-edit", "without"]);
    }
    squash_merge: |dir| { dir.git(["merge", "-q", "--squash", "without"]); }
    reset_hard: |dir| { dir.git(["reset", "-q", "--hard", "without"]); }
    revert: |dir| { dir.git(["revert", "--no-edit", "HEAD"]); }
    cherry_pick: |dir| { dir.git(["cherry-pick", "without"]); }
    remove: |dir| { dir.git(["rm", "-q", "-r", "pkg", "held"]); }
    stash_pop: |dir| {
        dir.git(["rm", "-q", "-r", "pkg", "held"]);
        dir.git(["stash", "-q"]);
        dir.py("import pkg.sub.deep, held");
        dir.git(["stash", "pop", "-q", "--index"]);
    }
    rebase: |dir| { dir.git(["rebase", "-q", "without"]); }
    restore: |dir| { dir.git(["restore", "-SW", "--source=without", "."]); }
}

/// Whoever reads the repository, the hooks see the same.
#[test]
fn every_shape_of_a_repository() {
    type Shape = (&'static str, &'static [&'static str], fn(&Dir));
    let shapes: [Shape; 7] = [
        ("reftable", &["--ref-format=reftable"], |_| {}),
        ("sha256", &["--object-format=sha256"], |_| {}),
        (
            "both",
            &["--ref-format=reftable", "--object-format=sha256"],
            |_| {},
        ),
        ("split index", &[], |dir| {
            dir.git(["update-index", "--split-index"]);
        }),
        ("sparse index", &[], |dir| {
            dir.git([
                "sparse-checkout",
                "set",
                "--cone",
                "--sparse-index",
                "pkg",
                "held",
            ]);
        }),
        ("index version 4", &[], |dir| {
            dir.git(["update-index", "--index-version=4"]);
        }),
        ("unknown extension", &[], |dir| {
            dir.git(["config", "core.repositoryFormatVersion", "1"]);
            dir.git(["config", "extensions.worktreeConfig", "true"]);
            dir.git(["config", "extensions.preciousObjects", "true"]);
        }),
    ];
    for (name, options, shape) in shapes {
        let mut dir = Dir::new();
        let root = dir.beside("shape");
        let init = [&["init", "-q"], options].concat();
        if dir.command("git").args(init).arg(&root).run().status != 0 {
            eprintln!("skipped: this git has no {name}");
            continue;
        }
        dir.enter(root);
        prepare(&dir);
        dir.write("outside/of/it.py", "");
        dir.commit("more");
        shape(&dir);
        dir.install();
        dir.py("import pkg.sub.deep, held");
        dir.git(["rm", "-q", "--cached", "pkg/sub/deep.py"]);
        assert!(
            dir.py_runs("import pkg.sub.deep"),
            "{name}: it is still there"
        );
        dir.git(["reset", "-q"]);
        dir.py("import pkg.sub.deep, held");
        dir.git(["switch", "-q", "without"]);
        assert!(!dir.py_runs("import pkg"), "{name}: switch");
        dir.git(["switch", "-q", "-"]);
        dir.py("import pkg.sub.deep, held");
        dir.git(["rm", "-q", "-r", "pkg"]);
        assert!(!dir.py_runs("import pkg"), "{name}: rm");
    }
}
