//! `hook` by itself: silent and exit status 0 whatever happens, and right in every environment
//! that git runs hooks in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{Dir, Done, PYCGATE};

const ZEROS: &str = "0000000000000000000000000000000000000000";

fn silent(output: &Done) {
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// Silent, and one line with `-v` and with `PYCGATE_TRACE=1`.
fn silent_unless_asked(dir: &Dir, arguments: &[&str]) {
    let run = |verbose: &[&str], trace: bool| {
        let hook = dir.pycgate(verbose).arg("hook").args(arguments);
        let hook = if trace {
            hook.env("PYCGATE_TRACE", "1")
        } else {
            hook
        };
        hook.run()
    };
    silent(&run(&[], false));
    for output in [run(&["-v"], false), run(&[], true)] {
        let said = &output.stderr;
        assert_eq!(output.status, 0, "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    }
}

/// A repository with a package that git deletes and whose cache is left.
fn with_a_ghost() -> Dir {
    let dir = Dir::new();
    dir.write(".gitignore", "__pycache__/\n");
    dir.write("pkg/__init__.py", "");
    dir.write("other.py", "");
    dir.commit("with");
    dir.py("import pkg");
    dir
}

#[test]
fn words_that_are_no_event() {
    let dir = Dir::new();
    dir.commit("one");
    for arguments in [
        &[][..],
        &["no-such-event"],
        &["post-checkout"],
        &["post-checkout", "one", "two", "three", "four"],
        &["post-rewrite"],
        &["--no-such-flag"],
        &["\u{1b}[31m\n"],
    ] {
        silent_unless_asked(&dir, arguments);
    }
    for arguments in [
        &["hook", "post-checkout", "nothing", "-v"][..],
        &["hook", "--", "-v", "x"],
        &["hook", "post-merge", "--format", "yaml"],
    ] {
        assert_eq!(dir.pycgate(arguments).run().status, 0, "{arguments:?}");
    }
}

#[test]
fn no_repository_a_bare_one_and_none_at_all() {
    let dir = Dir::new();
    dir.commit("one");
    dir.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    for place in ["..", "../bare.git", "/no/such/place"] {
        let output = dir.pycgate(["-C", place, "hook", "post-merge", "0"]).run();
        silent(&output);
        let output = dir
            .pycgate(["-v", "-C", place, "hook", "post-merge", "0"])
            .run();
        assert_eq!(output.status, 0);
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    }
}

#[test]
fn revisions_that_name_nothing() {
    let dir = Dir::new();
    dir.commit("one");
    let missing = "1234567890123456789012345678901234567890";
    silent_unless_asked(&dir, &["post-checkout", missing, "HEAD", "1"]);
    silent_unless_asked(&dir, &["post-checkout", "HEAD", "no such revision", "1"]);
    silent(
        &dir.pycgate(["hook", "post-checkout", ZEROS, "HEAD", "1"])
            .run(),
    );
    silent(
        &dir.pycgate(["hook", "post-checkout", "HEAD", ZEROS, "1"])
            .run(),
    );
    silent(
        &dir.pycgate(["hook", "post-checkout", ZEROS, ZEROS, "1"])
            .run(),
    );
}

#[test]
fn broken_repositories() {
    let events: [&[&str]; 6] = [
        &["pre-commit"],
        &["post-index-change", "1", "0"],
        &["post-checkout", "HEAD", "HEAD", "1"],
        &["post-merge", "0"],
        &["post-commit"],
        &["auto"],
    ];
    let damages: [fn(&Dir); 6] = [
        |dir| fs::write(dir.path(".git/index"), "junk").expect("the index"),
        |dir| fs::write(dir.path(".git/index"), "").expect("the index"),
        |dir| fs::write(dir.path(".git/HEAD"), "ref: refs/heads/nowhere\n").expect("HEAD"),
        |dir| fs::write(dir.path(".git/HEAD"), "junk\n").expect("HEAD"),
        |dir| {
            fs::remove_dir_all(dir.path(".git/objects")).expect("the objects");
            fs::create_dir(dir.path(".git/objects")).expect("the objects");
        },
        |dir| fs::write(dir.path(".git/index.lock"), "").expect("the lock"),
    ];
    for damage in damages {
        let dir = with_a_ghost();
        damage(&dir);
        for event in events {
            let arguments = [&["hook"], event].concat();
            silent(&dir.pycgate(&arguments).run());
        }
    }
}

#[test]
fn standard_input_of_any_kind() {
    let dir = Dir::new();
    dir.commit("one");
    dir.write("mod.py", "");
    dir.commit("two");
    for input in [
        "",
        "junk",
        "HEAD HEAD\n",
        "abc\n",
        "12 34\n\0\n",
        "\n\n\n",
        " \n",
    ] {
        let hook = dir.pycgate(["hook", "post-rewrite", "rebase"]);
        silent(&hook.input(input).run());
    }
    let closed = format!("exec '{PYCGATE}' hook post-rewrite amend <&- >&- 2>&-");
    dir.command("sh").args(["-c", &closed]).ok();
}

#[test]
fn a_bad_configuration_is_one_warning() {
    let dir = with_a_ghost();
    dir.git(["rm", "-q", "-r", "pkg"]);
    for bad in [
        "no such syntax",
        "unknown-key = 1\n",
        "exclude = [\"[\"]\n",
        "exclude = 3\n",
    ] {
        dir.write("pycgate.toml", bad);
        dir.write("pkg/__pycache__/__init__.cpython-311.pyc", "");
        let output = dir.pycgate(["hook", "pre-commit"]).run();
        assert_eq!(output.status, 0, "{output:?}");
        let said = output.stderr;
        assert_eq!(said.lines().count(), 1, "{bad}: {said}");
        assert!(
            said.contains("warning") && said.contains("pycgate.toml"),
            "{said}"
        );
        assert!(
            !dir.path("pkg").exists(),
            "the hook has done its work all the same"
        );
    }
}

#[test]
fn what_cannot_be_removed_is_no_failure() {
    let dir = with_a_ghost();
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: nothing keeps root from removing");
        return;
    }
    dir.git(["rm", "-q", "-r", "pkg"]);
    let cache = dir.path("pkg/__pycache__");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o555)).expect("its mode");
    silent_unless_asked(&dir, &["pre-commit"]);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn git_dir_and_work_tree_relative_to_another_directory() {
    let dir = with_a_ghost();
    dir.git(["branch", "-q", "with"]);
    dir.git(["rm", "-q", "-r", "pkg"]);
    dir.commit("without");
    dir.git(["switch", "-q", "with"]);
    dir.py("import pkg");
    dir.install();
    let git = dir.command("git").current_dir(dir.beside("home"));
    let options = ["--git-dir=../work/.git", "--work-tree=../work"];
    git.args(options).args(["switch", "-q", "main"]).ok();
    assert!(!dir.py_runs("import pkg"));
}

#[test]
fn from_a_directory_below_the_root() {
    let dir = with_a_ghost();
    dir.write("deep/er/file.txt", "");
    dir.commit("deeper");
    dir.install();
    let git = dir.command("git").current_dir(dir.path("deep/er"));
    git.args(["rm", "-q", "-r", "../../pkg"]).ok();
    assert!(!dir.py_runs("import pkg"));
}

#[test]
fn a_work_tree_apart_from_its_repository() {
    let mut dir = Dir::new();
    dir.enter(dir.beside("apart"));
    fs::create_dir(dir.root()).expect("a directory");
    dir.git(["init", "-q", "--separate-git-dir=../repository", "."]);
    dir.write("pkg/__init__.py", "");
    dir.commit("with");
    dir.install();
    dir.py("import pkg");
    dir.git(["rm", "-q", "-r", "pkg"]);
    assert!(!dir.py_runs("import pkg"));
}

#[test]
fn a_linked_work_tree_of_a_bare_repository() {
    let mut dir = with_a_ghost();
    dir.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    dir.git([
        "-C",
        "../bare.git",
        "worktree",
        "add",
        "-q",
        "../linked",
        "main",
    ]);
    dir.enter(dir.beside("linked"));
    dir.install();
    dir.py("import pkg");
    dir.git(["rm", "-q", "-r", "pkg"]);
    assert!(!dir.py_runs("import pkg"));
}

#[test]
fn git_dir_alone_means_the_work_tree_one_stands_in() {
    let dir = with_a_ghost();
    dir.install();
    let git = dir.command("git").env("GIT_DIR", ".git");
    git.args(["rm", "-q", "-r", "pkg"]).ok();
    assert!(!dir.py_runs("import pkg"));
}

/// The index of a partial commit holds less than the repository's: what is left out of it is
/// still tracked, and still there.
#[test]
fn partial_commits() {
    for arguments in [
        &["-a"][..],
        &["--", "mod.py"],
        &["--only", "mod.py"],
        &["-i", "mod.py"],
    ] {
        let dir = with_a_ghost();
        dir.write("mod.py", "V = 1\n");
        dir.write("tracked.pyc", "no bytecode at all");
        dir.write("tracked.py", "");
        dir.git(["add", "-f", "tracked.pyc"]);
        dir.commit("one");
        dir.install();
        dir.write("mod.py", "V = 2\n");
        dir.py("import mod");
        assert!(entry_of(&dir, "mod"));
        dir.write("new.pyc", "no bytecode at all");
        dir.write("new.py", "");
        dir.git(["add", "-f", "new.pyc", "new.py"]);
        dir.git([&["commit", "-q", "-m", "two"], arguments].concat());
        assert!(!entry_of(&dir, "mod"), "{arguments:?}");
        for tracked in ["tracked.pyc", "new.pyc"] {
            assert!(dir.path(tracked).exists(), "{arguments:?}: {tracked}");
        }
    }
}

fn entry_of(dir: &Dir, module: &str) -> bool {
    let entries = fs::read_dir(dir.path("__pycache__"));
    entries.into_iter().flatten().any(|entry| {
        let name = entry.expect("an entry").file_name();
        name.to_string_lossy().starts_with(&format!("{module}."))
    })
}

/// Git has checked the owner before it runs a hook, and honours what the environment says.
#[test]
fn a_repository_of_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a repository away");
        return;
    }
    let dir = with_a_ghost();
    dir.install();
    let chown = ["-R", "12345:12345"];
    dir.command("chown").args(chown).arg(dir.root()).ok();
    let refused = dir.try_git(["rm", "-q", "-r", "pkg"]);
    assert_ne!(refused.status, 0, "git itself refuses it");
    let git = dir
        .command("git")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    git.args(["rm", "-q", "-r", "pkg"]).ok();
    assert!(!dir.py_runs("import pkg"));
}

#[test]
fn switched_off_by_the_environment() {
    let dir = with_a_ghost();
    dir.git(["rm", "-q", "-r", "pkg"]);
    let hook = dir.pycgate(["-v", "hook", "pre-commit"]);
    silent(&hook.env("PYCGATE_SKIP", "1").run());
    assert!(dir.py_runs("import pkg"));
}

/// What git has rewritten loses its entries, whatever they hold, wherever they lie and however many
/// sources of a directory have changed; the others keep theirs.
#[test]
fn entries_of_one_changed_source_and_of_many() {
    let dir = Dir::new();
    dir.write(".gitignore", "__pycache__/\n*.py[co]\n");
    let modules = ["a", "b", "c", "conf", "d", "e", "f", "g", "h"];
    let entries = |directory: &str, module: &str| {
        [
            format!("{directory}/__pycache__/{module}.cpython-311.pyc"),
            format!("{directory}/__pycache__/{module}.cpython-39.opt-1.pyc"),
            format!("{directory}/{module}.pyc"),
            format!("{directory}/{module}.pyo"),
        ]
    };
    let cases = [
        ("one", &["conf"][..]),
        ("many", &["a", "b", "conf", "d", "e", "f", "h"]),
    ];
    for (directory, _) in cases {
        dir.write(format!("{directory}/conf.cgi"), "");
        for module in modules {
            dir.write(format!("{directory}/{module}.py"), "V = 1\n");
        }
    }
    dir.commit("one");
    for (directory, changed) in cases {
        for module in changed {
            dir.write(format!("{directory}/{module}.py"), "V = 2\n");
        }
    }
    dir.commit("two");
    for (directory, _) in cases {
        for module in modules {
            for entry in entries(directory, module) {
                dir.write(&entry, "rejected by every interpreter");
            }
        }
    }
    silent(
        &dir.pycgate(["hook", "post-checkout", "HEAD^", "HEAD", "1"])
            .run(),
    );
    for (directory, changed) in cases {
        for module in modules {
            for entry in entries(directory, module) {
                let kept = !changed.contains(&module);
                assert_eq!(dir.path(&entry).exists(), kept, "{entry}");
            }
        }
    }
}
