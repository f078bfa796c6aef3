//! pre-commit, prek and lefthook, for real, on every stage they have. pre-commit and prek take
//! pycgate from this repository at HEAD and build it as they do for everybody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::git_deletions;
use crate::git_precision;
use crate::harness::venv::Venv;
use crate::harness::{MANIFEST, TARGET_TMP};
use crate::lab::{Lab, PYCGATE, start_of_a_second, succeeded};

const STAGES: [&str; 6] = [
    "pre-commit",
    "pre-merge-commit",
    "post-checkout",
    "post-merge",
    "post-commit",
    "post-rewrite",
];

/// Puts the frameworks on PATH, with caches of their own and a cargo that finds its way.
fn equip(lab: &mut Lab) {
    let venv = Venv::get("requirements-frameworks.txt");
    let path = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{path}", venv.bin.display());
    lab.set("PATH", Path::new(&path));
    let cache = Path::new(TARGET_TMP).join("frameworks");
    lab.set("PRE_COMMIT_HOME", &cache.join("pre-commit"));
    lab.set("PREK_HOME", &cache.join("prek"));
    let home = PathBuf::from(std::env::var_os("HOME").expect("HOME"));
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let place = std::env::var_os(name).map_or_else(|| home.join(usual), PathBuf::from);
        lab.set(name, &place);
    }
    // One target directory for all, and a build that is quick rather than small.
    lab.set("CARGO_TARGET_DIR", &cache.join("cargo"));
    for (name, value) in [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "0")] {
        lab.set(&format!("CARGO_PROFILE_RELEASE_{name}"), Path::new(value));
    }
}

/// The configuration of pre-commit and prek, with this repository at HEAD.
fn configuration() -> &'static str {
    static CONFIGURATION: OnceLock<String> = OnceLock::new();
    CONFIGURATION.get_or_init(|| {
        let mut git = Command::new("git");
        let head = succeeded(git.args(["-C", MANIFEST, "rev-parse", "HEAD"]));
        format!("repos:\n  - repo: {MANIFEST}\n    rev: {head}\n    hooks:\n      - id: pycgate\n")
    })
}

/// A lab with the history of the deletions, and a framework's hook of one stage.
fn lab_with(framework: &str, stage: Option<&str>) -> Lab {
    let mut lab = Lab::new();
    lab.write(".pre-commit-config.yaml", configuration());
    git_deletions::prepare(&lab);
    equip(&mut lab);
    if let Some(stage) = stage {
        succeeded(
            lab.command(framework)
                .args(["install", "--install-hooks", "-t", stage]),
        );
    }
    lab.python("import pkg.sub.deep, held");
    lab
}

/// A git operation that deletes the package and fires the hook.
fn fire(lab: &Lab, stage: &str) {
    match stage {
        "pre-commit" | "post-commit" => {
            lab.git(["rm", "-q", "-r", "pkg"]);
            assert!(lab.python_runs("import pkg"), "nothing has been purged yet");
            lab.git(["commit", "-q", "-m", "gone"]);
        }
        "pre-merge-commit" => {
            lab.git(["merge", "-q", "--no-ff", "--no-edit", "without"]);
        }
        "post-checkout" => {
            lab.git(["switch", "-q", "without"]);
        }
        "post-merge" => {
            lab.git(["merge", "-q", "--squash", "without"]);
        }
        "post-rewrite" => {
            lab.git(["switch", "-q", "-c", "topic"]);
            lab.write("unrelated.txt", "");
            lab.commit("topic");
            lab.python("import pkg.sub.deep");
            lab.git(["rebase", "-q", "without"]);
        }
        _ => unreachable!("every stage is named"),
    }
}

fn on_every_stage(framework: &str) {
    for stage in STAGES {
        let without = lab_with(framework, None);
        fire(&without, stage);
        assert!(
            without.python_runs("import pkg"),
            "{stage}: it is importable without hooks"
        );
        let lab = lab_with(framework, Some(stage));
        fire(&lab, stage);
        assert!(!lab.python_runs("import pkg"), "{framework} {stage}");
    }
    let lab = lab_with(framework, None);
    lab.git(["rm", "-q", "-r", "pkg"]);
    let manual = ["run", "--hook-stage", "manual", "--all-files"];
    succeeded(lab.command(framework).args(manual));
    assert!(!lab.python_runs("import pkg"), "{framework} manual");
}

#[test]
fn pre_commit_on_every_stage() {
    on_every_stage("pre-commit");
}

#[test]
fn prek_on_every_stage() {
    on_every_stage("prek");
}

/// What the frameworks name on the pre-commit stage: a source that was rewritten in the second in
/// which it was compiled, and is then committed.
#[test]
fn a_stale_entry_is_gone_after_a_commit() {
    for framework in ["pre-commit", "prek"] {
        let stale = |hooks: bool| {
            for _ in 0..12 {
                let mut lab = Lab::new();
                lab.write(".pre-commit-config.yaml", configuration());
                lab.write("mod.py", "V = 1\n");
                lab.commit("one");
                equip(&mut lab);
                if hooks {
                    succeeded(lab.command(framework).args(["install", "--install-hooks"]));
                }
                start_of_a_second();
                lab.write("mod.py", "V = 1\n");
                let before = crate::lab::stamp(&lab.root.join("mod.py"));
                lab.python("import mod");
                lab.write("mod.py", "V = 2\n");
                if crate::lab::stamp(&lab.root.join("mod.py")) == before {
                    lab.git(["commit", "-q", "-a", "-m", "two"]);
                    return lab.python("import mod; print(mod.V)") == "1";
                }
            }
            panic!("the edit never fell into the second of the import");
        };
        assert!(stale(false), "the incident did not happen");
        assert!(!stale(true), "{framework}");
    }
}

#[test]
fn run_on_all_files_leaves_settled_entries() {
    for framework in ["pre-commit", "prek"] {
        let mut lab = git_precision::tested_clone();
        equip(&mut lab);
        lab.write(".pre-commit-config.yaml", configuration());
        lab.git(["add", ".pre-commit-config.yaml"]);
        let before = git_precision::entries(&lab);
        assert_eq!(before.len(), git_precision::MODULES);
        let output = succeeded(lab.command(framework).args(["run", "--all-files"]));
        assert!(output.contains("Passed"), "{output}");
        assert_eq!(git_precision::entries(&lab), before);
    }
}

/// Unstaged edits that the framework puts aside and brings back with `git apply`, in the second in
/// which one of its hooks has compiled the source without them.
fn edits_brought_back(seconds: u32) {
    let run = |hooks: bool| {
        for _ in 0..6 {
            let mut lab = Lab::new();
            let python = crate::lab::python().display();
            let formatter = format!(
                "import pathlib, subprocess, time\n\
                 time.sleep({seconds})\n\
                 time.sleep(1 - time.time() % 1)\n\
                 source = pathlib.Path('mod.py')\n\
                 source.write_text(source.read_text())\n\
                 subprocess.run(['{python}', '-c', 'import mod'], check=True)\n"
            );
            let pycgate = if hooks { PYCGATE } else { "true" };
            let config = format!(
                "default_install_hook_types: [pre-commit, post-commit]\nrepos:\n  - repo: local\n    hooks:\n      \
                 - {{id: format, name: format, entry: {python} ../format.py, language: system, always_run: true, pass_filenames: false, stages: [pre-commit]}}\n      \
                 - {{id: pycgate, name: pycgate, entry: {pycgate} hook auto, language: system, always_run: true, require_serial: true, types_or: [python, pyi]}}\n"
            );
            lab.write(".pre-commit-config.yaml", config);
            lab.write(".gitignore", "__pycache__/\n");
            lab.write("mod.py", "V = 1\n");
            lab.write("other.py", "");
            lab.commit("one");
            fs::write(lab.beside("format.py"), formatter).expect("the formatter");
            equip(&mut lab);
            succeeded(lab.command("pre-commit").arg("install"));
            lab.write("other.py", "V = 1\n");
            lab.git(["add", "other.py"]);
            lab.write("mod.py", "V = 2\n");
            lab.git(["commit", "-q", "-m", "two"]);
            let cached = fs::read_dir(lab.root.join("__pycache__"))
                .into_iter()
                .flatten()
                .map(|entry| entry.expect("an entry").path())
                .find_map(|path| fs::read(path).ok());
            let source = crate::lab::stamp(&lab.root.join("mod.py"));
            let compiled = cached
                .map(|entry| u32::from_le_bytes(entry[8..12].try_into().expect("four bytes")));
            // With the hooks the entry is gone, and only the clock can tell whether it counted.
            if hooks || compiled.map(u64::from) == Some(source.0) {
                return lab.python("import mod; print(mod.V)");
            }
        }
        panic!("the edit was never brought back in the second of the import");
    };
    assert_eq!(run(false), "1", "the incident did not happen");
    for _ in 0..2 {
        assert_eq!(run(true), "2");
    }
}

#[test]
fn unstaged_edits_brought_back_after_a_commit() {
    edits_brought_back(0);
}

#[test]
#[ignore = "takes minutes"]
fn unstaged_edits_brought_back_after_more_than_a_minute() {
    edits_brought_back(62);
}

#[test]
fn lefthook_on_every_event() {
    let events = STAGES
        .into_iter()
        .chain(["post-applypatch", "post-index-change"]);
    for event in events {
        let make = |hooks: bool| {
            let mut lab = Lab::new();
            git_deletions::prepare(&lab);
            equip(&mut lab);
            let stdin = if event == "post-rewrite" {
                "      use_stdin: true\n"
            } else {
                ""
            };
            let config = format!(
                "{event}:\n  commands:\n    pycgate:\n      run: {PYCGATE} hook {event} {{0}}\n{stdin}"
            );
            fs::write(lab.root.join(".git/info/exclude"), "lefthook.yml\n").expect("excludes");
            lab.write("lefthook.yml", config);
            if hooks {
                succeeded(lab.command("lefthook").arg("install"));
            }
            lab.python("import pkg.sub.deep, held");
            match event {
                "post-applypatch" => {
                    let patch = lab.git(["format-patch", "--stdout", "main..without"]);
                    fs::write(lab.beside("patch"), patch + "\n").expect("the patch");
                    lab.git(["am", "-q", "../patch"]);
                }
                "post-index-change" => {
                    lab.git(["rm", "-q", "-r", "pkg"]);
                }
                // Git's own post-commit judges what differs from the index, which an entry
                // written in this second cannot stand.
                "post-commit" => {
                    lab.write("other.py", "V = 2");
                    lab.python("import other");
                    lab.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
                    let cached = fs::read_dir(lab.root.join("__pycache__"));
                    return cached.is_ok_and(|entries| entries.count() > 0);
                }
                _ => fire(&lab, event),
            }
            lab.python_runs("import pkg")
        };
        assert!(make(false), "{event}: it is left without hooks");
        assert!(!make(true), "{event}");
    }
}

/// A framework that is installed later moves our hook aside and calls it before its own.
#[test]
fn installed_over_our_hooks() {
    for framework in ["pre-commit", "prek"] {
        let mut lab = Lab::new();
        let config = "repos:\n  - repo: local\n    hooks:\n      - {id: nothing, name: nothing, \
                      entry: 'true', language: system, always_run: true, stages: [post-checkout]}\n";
        lab.write(".pre-commit-config.yaml", config);
        git_deletions::prepare(&lab);
        equip(&mut lab);
        lab.install();
        succeeded(
            lab.command(framework)
                .args(["install", "-t", "post-checkout"]),
        );
        let hooks = lab.root.join(".git/hooks");
        assert!(hooks.join("post-checkout.legacy").exists(), "{framework}");
        let again = succeeded(lab.command(PYCGATE).arg("install"));
        assert!(
            again.contains("unchanged     .git/hooks/post-checkout"),
            "{again}"
        );
        lab.python("import pkg.sub.deep, held");
        lab.git(["switch", "-q", "without"]);
        assert!(!lab.python_runs("import pkg"), "{framework}");
        succeeded(lab.command(PYCGATE).arg("uninstall"));
        assert!(!hooks.join("post-checkout.legacy").exists(), "{framework}");
        assert!(hooks.join("post-checkout").exists(), "{framework}");
    }
}
