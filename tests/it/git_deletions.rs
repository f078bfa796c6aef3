//! Packages that a git operation deletes: with their caches left behind they stay importable as
//! namespace packages; with the hooks they are gone, and nothing of the user's is.

use crate::lab::Lab;

/// `main` has the packages `pkg` and `pkg.sub`, and `without`, one commit ahead, has not.
pub fn prepare(lab: &Lab) {
    lab.write(".gitignore", "__pycache__/\n");
    lab.write("other.py", "");
    lab.commit("start");
    lab.write("pkg/__init__.py", "");
    lab.write("pkg/sub/__init__.py", "");
    lab.write("pkg/sub/deep.py", "");
    lab.write("held/__init__.py", "");
    lab.commit("with");
    lab.git(["switch", "-q", "-c", "without"]);
    lab.git(["rm", "-q", "-r", "pkg", "held"]);
    lab.commit("without");
    lab.git(["switch", "-q", "main"]);
}

fn check(act: fn(&Lab)) {
    for hooks in [false, true] {
        let lab = Lab::new();
        prepare(&lab);
        if hooks {
            lab.install();
        }
        lab.python("import pkg.sub.deep, held");
        lab.write("held/notes.txt", "the user's");
        lab.write("held/__pycache__/notes.txt", "the user's, too");
        act(&lab);
        assert!(
            !lab.root.join("pkg/__init__.py").exists(),
            "git has deleted the package"
        );
        let importable = lab.python_runs("import pkg");
        assert_eq!(importable, !hooks, "hooks: {hooks}");
        assert_eq!(lab.root.join("pkg").exists(), !hooks);
        for theirs in ["held/notes.txt", "held/__pycache__/notes.txt"] {
            assert!(lab.root.join(theirs).exists(), "{theirs}");
        }
    }
}

macro_rules! deletions {
    ($($name:ident: |$lab:ident| $act:block)*) => {
        $(#[test]
        fn $name() {
            check(|$lab: &Lab| $act);
        })*
    };
}

deletions! {
    switch: |lab| { lab.git(["switch", "-q", "without"]); }
    fast_forward_merge: |lab| { lab.git(["merge", "-q", "--ff-only", "without"]); }
    true_merge: |lab| {
        lab.git(["commit", "-q", "--allow-empty", "-m", "diverge"]);
        lab.git(["merge", "-q", "--no-edit", "without"]);
    }
    squash_merge: |lab| { lab.git(["merge", "-q", "--squash", "without"]); }
    reset_hard: |lab| { lab.git(["reset", "-q", "--hard", "without"]); }
    revert: |lab| { lab.git(["revert", "--no-edit", "HEAD"]); }
    cherry_pick: |lab| { lab.git(["cherry-pick", "without"]); }
    remove: |lab| { lab.git(["rm", "-q", "-r", "pkg", "held"]); }
    stash_pop: |lab| {
        lab.git(["rm", "-q", "-r", "pkg", "held"]);
        lab.git(["stash", "-q"]);
        lab.python("import pkg.sub.deep, held");
        lab.git(["stash", "pop", "-q", "--index"]);
    }
    rebase: |lab| { lab.git(["rebase", "-q", "without"]); }
    restore: |lab| { lab.git(["restore", "-SW", "--source=without", "."]); }
}

/// Whoever reads the repository, the hooks see the same.
#[test]
fn every_shape_of_a_repository() {
    type Shape = (&'static str, &'static [&'static str], fn(&Lab));
    let shapes: [Shape; 7] = [
        ("reftable", &["--ref-format=reftable"], |_| {}),
        ("sha256", &["--object-format=sha256"], |_| {}),
        (
            "both",
            &["--ref-format=reftable", "--object-format=sha256"],
            |_| {},
        ),
        ("split index", &[], |lab| {
            lab.git(["update-index", "--split-index"]);
        }),
        ("sparse index", &[], |lab| {
            lab.git([
                "sparse-checkout",
                "set",
                "--cone",
                "--sparse-index",
                "pkg",
                "held",
            ]);
        }),
        ("index version 4", &[], |lab| {
            lab.git(["update-index", "--index-version=4"]);
        }),
        ("unknown extension", &[], |lab| {
            lab.git(["config", "core.repositoryFormatVersion", "1"]);
            lab.git(["config", "extensions.worktreeConfig", "true"]);
            lab.git(["config", "extensions.preciousObjects", "true"]);
        }),
    ];
    for (name, options, shape) in shapes {
        let mut lab = Lab::new();
        let root = lab.beside("shape");
        let init = [&["init", "-q"], options].concat();
        let mut command = lab.command("git");
        if !command
            .args(init)
            .arg(&root)
            .status()
            .expect("git")
            .success()
        {
            eprintln!("skipped: this git has no {name}");
            continue;
        }
        lab.root = root;
        prepare(&lab);
        lab.write("outside/of/it.py", "");
        lab.commit("more");
        shape(&lab);
        lab.install();
        lab.python("import pkg.sub.deep, held");
        lab.git(["rm", "-q", "--cached", "pkg/sub/deep.py"]);
        assert!(
            lab.python_runs("import pkg.sub.deep"),
            "{name}: it is still there"
        );
        lab.git(["reset", "-q"]);
        lab.python("import pkg.sub.deep, held");
        lab.git(["switch", "-q", "without"]);
        assert!(!lab.python_runs("import pkg"), "{name}: switch");
        lab.git(["switch", "-q", "-"]);
        lab.python("import pkg.sub.deep, held");
        lab.git(["rm", "-q", "-r", "pkg"]);
        assert!(!lab.python_runs("import pkg"), "{name}: rm");
    }
}
