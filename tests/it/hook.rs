//! `hook` by itself: silent and exit status 0 whatever happens, and right in every environment
//! that git runs hooks in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use crate::lab::{Lab, PYCGATE, succeeded};

const ZEROS: &str = "0000000000000000000000000000000000000000";

fn silent(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// Silent, and one line with `-v` and with `PYCGATE_TRACE=1`.
fn silent_unless_asked(lab: &Lab, arguments: &[&str]) {
    let run = |verbose: &[&str], trace: bool| {
        let mut command = lab.command(PYCGATE);
        command.args(verbose).arg("hook").args(arguments);
        if trace {
            command.env("PYCGATE_TRACE", "1");
        }
        command.output().expect("pycgate starts")
    };
    silent(&run(&[], false));
    for output in [run(&["-v"], false), run(&[], true)] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    }
}

/// A repository with a package that git deletes and whose cache is left.
fn with_a_ghost() -> Lab {
    let lab = Lab::new();
    lab.write(".gitignore", "__pycache__/\n");
    lab.write("pkg/__init__.py", "");
    lab.write("other.py", "");
    lab.commit("with");
    lab.python("import pkg");
    lab
}

#[test]
fn words_that_are_no_event() {
    let lab = Lab::new();
    lab.commit("one");
    for arguments in [
        &[][..],
        &["no-such-event"],
        &["post-checkout"],
        &["post-checkout", "one", "two", "three", "four"],
        &["post-rewrite"],
        &["--no-such-flag"],
        &["\u{1b}[31m\n"],
    ] {
        silent_unless_asked(&lab, arguments);
    }
    for arguments in [
        &["hook", "post-checkout", "nothing", "-v"][..],
        &["hook", "--", "-v", "x"],
        &["hook", "post-merge", "--format", "yaml"],
    ] {
        assert_eq!(
            lab.pycgate(arguments).status.code(),
            Some(0),
            "{arguments:?}"
        );
    }
}

#[test]
fn no_repository_a_bare_one_and_none_at_all() {
    let lab = Lab::new();
    lab.commit("one");
    lab.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    for place in ["..", "../bare.git", "/no/such/place"] {
        let output = lab.pycgate(&["-C", place, "hook", "post-merge", "0"]);
        silent(&output);
        let output = lab.pycgate(&["-v", "-C", place, "hook", "post-merge", "0"]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(
            String::from_utf8_lossy(&output.stderr).lines().count(),
            1,
            "{output:?}"
        );
    }
}

#[test]
fn revisions_that_name_nothing() {
    let lab = Lab::new();
    lab.commit("one");
    let missing = "1234567890123456789012345678901234567890";
    silent_unless_asked(&lab, &["post-checkout", missing, "HEAD", "1"]);
    silent_unless_asked(&lab, &["post-checkout", "HEAD", "no such revision", "1"]);
    silent(&lab.pycgate(&["hook", "post-checkout", ZEROS, "HEAD", "1"]));
    silent(&lab.pycgate(&["hook", "post-checkout", "HEAD", ZEROS, "1"]));
    silent(&lab.pycgate(&["hook", "post-checkout", ZEROS, ZEROS, "1"]));
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
    let damages: [fn(&Lab); 6] = [
        |lab| fs::write(lab.root.join(".git/index"), "junk").expect("the index"),
        |lab| fs::write(lab.root.join(".git/index"), "").expect("the index"),
        |lab| fs::write(lab.root.join(".git/HEAD"), "ref: refs/heads/nowhere\n").expect("HEAD"),
        |lab| fs::write(lab.root.join(".git/HEAD"), "junk\n").expect("HEAD"),
        |lab| {
            fs::remove_dir_all(lab.root.join(".git/objects")).expect("the objects");
            fs::create_dir(lab.root.join(".git/objects")).expect("the objects");
        },
        |lab| fs::write(lab.root.join(".git/index.lock"), "").expect("the lock"),
    ];
    for damage in damages {
        let lab = with_a_ghost();
        damage(&lab);
        for event in events {
            let arguments = [&["hook"], event].concat();
            silent(&lab.pycgate(&arguments));
        }
    }
}

#[test]
fn standard_input_of_any_kind() {
    let lab = Lab::new();
    lab.commit("one");
    lab.write("mod.py", "");
    lab.commit("two");
    for input in [
        "",
        "junk",
        "HEAD HEAD\n",
        "abc\n",
        "12 34\n\0\n",
        "\n\n\n",
        " \n",
    ] {
        let mut child = lab
            .command(PYCGATE)
            .args(["hook", "post-rewrite", "rebase"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("pycgate starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        drop(stdin);
        silent(&child.wait_with_output().expect("pycgate ends"));
    }
    let closed = format!("exec '{PYCGATE}' hook post-rewrite amend <&- >&- 2>&-");
    assert!(
        lab.command("sh")
            .args(["-c", &closed])
            .status()
            .expect("sh starts")
            .success()
    );
}

#[test]
fn a_bad_configuration_is_one_warning() {
    let lab = with_a_ghost();
    lab.git(["rm", "-q", "-r", "pkg"]);
    for bad in [
        "no such syntax",
        "unknown-key = 1\n",
        "exclude = [\"[\"]\n",
        "exclude = 3\n",
    ] {
        lab.write("pycgate.toml", bad);
        lab.write("pkg/__pycache__/__init__.cpython-311.pyc", "");
        let output = lab.pycgate(&["hook", "pre-commit"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{bad}: {said}");
        assert!(
            said.contains("warning") && said.contains("pycgate.toml"),
            "{said}"
        );
        assert!(
            !lab.root.join("pkg").exists(),
            "the hook has done its work all the same"
        );
    }
}

#[test]
fn what_cannot_be_removed_is_no_failure() {
    let lab = with_a_ghost();
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: nothing keeps root from removing");
        return;
    }
    lab.git(["rm", "-q", "-r", "pkg"]);
    let cache = lab.root.join("pkg/__pycache__");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o555)).expect("its mode");
    silent_unless_asked(&lab, &["pre-commit"]);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn git_dir_and_work_tree_relative_to_another_directory() {
    let lab = with_a_ghost();
    lab.git(["branch", "-q", "with"]);
    lab.git(["rm", "-q", "-r", "pkg"]);
    lab.commit("without");
    lab.git(["switch", "-q", "with"]);
    lab.python("import pkg");
    lab.install();
    let mut git = lab.command("git");
    git.current_dir(lab.beside("home"));
    let options = ["--git-dir=../work/.git", "--work-tree=../work"];
    succeeded(git.args(options).args(["switch", "-q", "main"]));
    assert!(!lab.python_runs("import pkg"));
}

#[test]
fn from_a_directory_below_the_root() {
    let lab = with_a_ghost();
    lab.write("deep/er/file.txt", "");
    lab.commit("deeper");
    lab.install();
    let mut git = lab.command("git");
    git.current_dir(lab.root.join("deep/er"));
    succeeded(git.args(["rm", "-q", "-r", "../../pkg"]));
    assert!(!lab.python_runs("import pkg"));
}

#[test]
fn a_work_tree_apart_from_its_repository() {
    let mut lab = Lab::new();
    lab.root = lab.beside("apart");
    fs::create_dir(&lab.root).expect("a directory");
    lab.git(["init", "-q", "--separate-git-dir=../repository", "."]);
    lab.write("pkg/__init__.py", "");
    lab.commit("with");
    lab.install();
    lab.python("import pkg");
    lab.git(["rm", "-q", "-r", "pkg"]);
    assert!(!lab.python_runs("import pkg"));
}

#[test]
fn a_linked_work_tree_of_a_bare_repository() {
    let mut lab = with_a_ghost();
    lab.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    lab.git([
        "-C",
        "../bare.git",
        "worktree",
        "add",
        "-q",
        "../linked",
        "main",
    ]);
    lab.root = lab.beside("linked");
    lab.install();
    lab.python("import pkg");
    lab.git(["rm", "-q", "-r", "pkg"]);
    assert!(!lab.python_runs("import pkg"));
}

#[test]
fn git_dir_alone_means_the_work_tree_one_stands_in() {
    let lab = with_a_ghost();
    lab.install();
    let mut git = lab.command("git");
    git.env("GIT_DIR", ".git");
    succeeded(git.args(["rm", "-q", "-r", "pkg"]));
    assert!(!lab.python_runs("import pkg"));
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
        let lab = with_a_ghost();
        lab.write("mod.py", "V = 1\n");
        lab.write("tracked.pyc", "no bytecode at all");
        lab.write("tracked.py", "");
        lab.git(["add", "-f", "tracked.pyc"]);
        lab.commit("one");
        lab.install();
        lab.write("mod.py", "V = 2\n");
        lab.python("import mod");
        assert!(entry_of(&lab, "mod"));
        lab.write("new.pyc", "no bytecode at all");
        lab.write("new.py", "");
        lab.git(["add", "-f", "new.pyc", "new.py"]);
        lab.git([&["commit", "-q", "-m", "two"], arguments].concat());
        assert!(!entry_of(&lab, "mod"), "{arguments:?}");
        for tracked in ["tracked.pyc", "new.pyc"] {
            assert!(lab.root.join(tracked).exists(), "{arguments:?}: {tracked}");
        }
    }
}

fn entry_of(lab: &Lab, module: &str) -> bool {
    let entries = fs::read_dir(lab.root.join("__pycache__"));
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
    let lab = with_a_ghost();
    lab.install();
    let chown = ["-R", "12345:12345"];
    succeeded(lab.command("chown").args(chown).arg(&lab.root));
    let refused = lab.git_may_fail(&["rm", "-q", "-r", "pkg"]);
    assert!(!refused.status.success(), "git itself refuses it");
    let mut git = lab.command("git");
    git.env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    succeeded(git.args(["rm", "-q", "-r", "pkg"]));
    assert!(!lab.python_runs("import pkg"));
}

#[test]
fn switched_off_by_the_environment() {
    let lab = with_a_ghost();
    lab.git(["rm", "-q", "-r", "pkg"]);
    let mut command = lab.command(PYCGATE);
    command
        .args(["-v", "hook", "pre-commit"])
        .env("PYCGATE_SKIP", "1");
    silent(&command.output().expect("pycgate starts"));
    assert!(lab.python_runs("import pkg"));
}

/// What git has rewritten loses its entries, whatever they hold, wherever they lie and however many
/// sources of a directory have changed; the others keep theirs.
#[test]
fn entries_of_one_changed_source_and_of_many() {
    let lab = Lab::new();
    lab.write(".gitignore", "__pycache__/\n*.py[co]\n");
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
        lab.write(&format!("{directory}/conf.cgi"), "");
        for module in modules {
            lab.write(&format!("{directory}/{module}.py"), "V = 1\n");
        }
    }
    lab.commit("one");
    for (directory, changed) in cases {
        for module in changed {
            lab.write(&format!("{directory}/{module}.py"), "V = 2\n");
        }
    }
    lab.commit("two");
    for (directory, _) in cases {
        for module in modules {
            for entry in entries(directory, module) {
                lab.write(&entry, "rejected by every interpreter");
            }
        }
    }
    silent(&lab.pycgate(&["hook", "post-checkout", "HEAD^", "HEAD", "1"]));
    for (directory, changed) in cases {
        for module in modules {
            for entry in entries(directory, module) {
                let kept = !changed.contains(&module);
                assert_eq!(lab.root.join(&entry).exists(), kept, "{entry}");
            }
        }
    }
}
