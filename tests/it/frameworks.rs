//! pre-commit, prek and lefthook, for real, on every stage they have. One test has pycgate built
//! from this repository at HEAD, as everybody gets it; the others take the hook as it is published
//! and the program that the tests have.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::git_deletions;
use crate::git_precision;
use crate::harness::venv::Venv;
use crate::harness::{Dir, MANIFEST, PYCGATE, TARGET_TMP, interpreter, pyc, race};

const STAGES: [&str; 6] = [
    "pre-commit",
    "pre-merge-commit",
    "post-checkout",
    "post-merge",
    "post-commit",
    "post-rewrite",
];

/// What the frameworks keep from run to run.
fn cache() -> PathBuf {
    Path::new(TARGET_TMP).join("frameworks")
}

/// Puts the frameworks on PATH, with caches of their own.
fn equip(dir: &mut Dir) {
    let venv = Venv::get("requirements-frameworks.txt");
    let path = std::env::var("PATH").expect("PATH");
    dir.set("PATH", format!("{}:{path}", venv.bin.display()));
    dir.set("PRE_COMMIT_HOME", cache().join("pre-commit"));
    dir.set("PREK_HOME", cache().join("prek"));
}

/// A cargo that finds its way, with one target directory for all builds, quick rather than small.
fn equip_for_a_build(dir: &mut Dir) {
    let home = PathBuf::from(std::env::var_os("HOME").expect("HOME"));
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let place = std::env::var_os(name).map_or_else(|| home.join(usual), PathBuf::from);
        dir.set(name, place);
    }
    dir.set("CARGO_TARGET_DIR", cache().join("cargo"));
    for (name, value) in [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "0")] {
        dir.set(&format!("CARGO_PROFILE_RELEASE_{name}"), value);
    }
}

/// A configuration of pre-commit and prek with the hook of a repository.
fn configuration(repository: &Path) -> String {
    let repository = repository.to_str().expect("UTF-8");
    let head = Dir::plain().git(["-C", repository, "rev-parse", "HEAD"]);
    format!("repos:\n  - repo: {repository}\n    rev: {head}\n    hooks:\n      - id: pycgate\n")
}

/// The same with the hook as it is published, only that nothing is built: it runs the program that
/// the tests have.
fn without_a_build() -> &'static str {
    static CONFIGURATION: OnceLock<String> = OnceLock::new();
    CONFIGURATION.get_or_init(|| {
        let published = fs::read_to_string(Path::new(MANIFEST).join(".pre-commit-hooks.yaml"));
        let published = published.expect("the hook");
        let ours = published
            .replace("language: rust", "language: system")
            .replace("entry: pycgate", &format!("entry: {PYCGATE}"));
        assert_eq!(ours.lines().count(), published.lines().count());
        assert!(
            ours.contains("language: system") && ours.contains(PYCGATE),
            "{ours}"
        );
        let place = cache().join("published");
        fs::create_dir_all(&place).expect("a directory under target/");
        let lock = File::create(cache().join("published.lock")).expect("a lock file");
        lock.lock().expect("the lock");
        let file = place.join(".pre-commit-hooks.yaml");
        if fs::read_to_string(&file).ok().as_ref() != Some(&ours) {
            let mut dir = Dir::plain();
            dir.enter(&place);
            dir.git(["init", "-q"]);
            dir.write(".pre-commit-hooks.yaml", &ours);
            dir.commit("as published");
        }
        configuration(&place)
    })
}

/// A repository with the history of the deletions, and a framework's hook of one stage.
fn dir_with(framework: &str, configuration: &str, stage: Option<&str>) -> Dir {
    let mut dir = Dir::new();
    dir.write(".pre-commit-config.yaml", configuration);
    git_deletions::prepare(&dir);
    equip(&mut dir);
    if let Some(stage) = stage {
        dir.command(framework).args(["install", "-t", stage]).ok();
    }
    dir.py("import pkg.sub.deep, held");
    dir
}

/// A git operation that deletes the package and fires the hook.
fn fire(dir: &Dir, stage: &str) {
    match stage {
        "pre-commit" | "post-commit" => {
            dir.git(["rm", "-q", "-r", "pkg"]);
            assert!(dir.py_runs("import pkg"), "nothing has been purged yet");
            dir.git(["commit", "-q", "-m", "gone"]);
        }
        "pre-merge-commit" => {
            dir.git(["merge", "-q", "--no-ff", "--no-edit", "without"]);
        }
        "post-checkout" => {
            dir.git(["switch", "-q", "without"]);
        }
        "post-merge" => {
            dir.git(["merge", "-q", "--squash", "without"]);
        }
        "post-rewrite" => {
            dir.git(["switch", "-q", "-c", "topic"]);
            dir.write("unrelated.txt", "");
            dir.commit("topic");
            dir.py("import pkg.sub.deep");
            dir.git(["rebase", "-q", "without"]);
        }
        _ => unreachable!("every stage is named"),
    }
}

#[test]
fn every_stage_leaves_the_package_without_hooks() {
    for stage in STAGES {
        let dir = Dir::new();
        git_deletions::prepare(&dir);
        dir.py("import pkg.sub.deep, held");
        fire(&dir, stage);
        assert!(dir.importable("pkg"), "{stage}");
    }
}

fn on_every_stage(framework: &str) {
    for stage in STAGES {
        let dir = dir_with(framework, without_a_build(), Some(stage));
        fire(&dir, stage);
        assert!(!dir.importable("pkg"), "{framework} {stage}");
    }
    let dir = dir_with(framework, without_a_build(), None);
    dir.git(["rm", "-q", "-r", "pkg"]);
    let manual = ["run", "--hook-stage", "manual", "--all-files"];
    dir.command(framework).args(manual).ok();
    assert!(!dir.importable("pkg"), "{framework} manual");
}

#[test]
fn pre_commit_on_every_stage() {
    on_every_stage("pre-commit");
}

#[test]
fn prek_on_every_stage() {
    on_every_stage("prek");
}

/// The hook as everybody has it: a framework takes this repository at HEAD and builds it.
fn built_from_source_by(framework: &str) {
    let configuration = configuration(Path::new(MANIFEST));
    let mut dir = dir_with(framework, &configuration, None);
    equip_for_a_build(&mut dir);
    let install = ["install", "--install-hooks", "-t", "post-checkout"];
    dir.command(framework).args(install).ok();
    fire(&dir, "post-checkout");
    assert!(!dir.importable("pkg"), "{framework}");
}

#[test]
fn pre_commit_builds_it_from_source() {
    built_from_source_by("pre-commit");
}

#[test]
#[ignore = "builds the program once more"]
fn prek_builds_it_from_source() {
    built_from_source_by("prek");
}

/// What the frameworks name on the pre-commit stage: a source that was rewritten after it was
/// compiled, and is then committed.
#[test]
fn a_stale_entry_is_gone_after_a_commit() {
    for framework in [None, Some("pre-commit"), Some("prek")] {
        let mut dir = Dir::new();
        dir.write(".pre-commit-config.yaml", without_a_build());
        dir.write("mod.py", "V = 1\n");
        dir.commit("one");
        equip(&mut dir);
        if let Some(framework) = framework {
            dir.command(framework).arg("install").ok();
        }
        dir.make_stale("mod.py", "V = 2\n");
        dir.git(["commit", "-q", "-a", "-m", "two"]);
        let expected = if framework.is_some() { "2" } else { "1" };
        assert_eq!(dir.value("mod"), expected, "{framework:?}");
    }
}

#[test]
fn run_on_all_files_leaves_settled_entries() {
    for framework in ["pre-commit", "prek"] {
        let mut dir = git_precision::tested_clone();
        equip(&mut dir);
        dir.write(".pre-commit-config.yaml", without_a_build());
        dir.git(["add", ".pre-commit-config.yaml"]);
        let before = git_precision::entries(&dir);
        assert_eq!(before.len(), git_precision::MODULES);
        let output = dir.command(framework).args(["run", "--all-files"]).ok();
        assert!(output.contains("Passed"), "{output}");
        assert_eq!(git_precision::entries(&dir), before);
    }
}

/// Unstaged edits that the framework puts aside and brings back with `git apply`, in the second in
/// which one of its hooks has compiled the source without them.
fn edits_brought_back(seconds: u32) {
    let python = interpreter::main().path.display();
    let formatter = format!(
        "import os, pathlib, subprocess, time\n\
         time.sleep({seconds})\n\
         time.sleep(1 - time.time() % 1)\n\
         source = pathlib.Path('mod.py')\n\
         source.write_text(source.read_text())\n\
         subprocess.run(['{python}', '-c', 'import mod'], check=True)\n\
         pathlib.Path('../compiled').write_text('%d' % os.stat('mod.py').st_mtime)\n"
    );
    let run = |hooks: bool| {
        race::until_it_happens(|| {
            let mut dir = Dir::new();
            let pycgate = if hooks { PYCGATE } else { "true" };
            let config = format!(
                "default_install_hook_types: [pre-commit, post-commit]\nrepos:\n  - repo: local\n    hooks:\n      \
                 - {{id: format, name: format, entry: {python} ../format.py, language: system, always_run: true, pass_filenames: false, stages: [pre-commit]}}\n      \
                 - {{id: pycgate, name: pycgate, entry: {pycgate} hook auto, language: system, always_run: true, require_serial: true, types_or: [python, pyi]}}\n"
            );
            dir.write(".pre-commit-config.yaml", config);
            dir.write("mod.py", "V = 1\n");
            dir.write("other.py", "");
            dir.commit("one");
            fs::write(dir.beside("format.py"), &formatter).expect("the formatter");
            equip(&mut dir);
            dir.command("pre-commit").arg("install").ok();
            dir.write("other.py", "V = 1\n");
            dir.git(["add", "other.py"]);
            dir.write("mod.py", "V = 2\n");
            dir.git(["commit", "-q", "-m", "two"]);
            let compiled = fs::read_to_string(dir.beside("compiled")).expect("the formatter ran");
            let (second, _) = pyc::stamp(&dir.path("mod.py")).expect("the source");
            (compiled == second.to_string()).then(|| dir.value("mod"))
        })
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
            let mut dir = Dir::new();
            git_deletions::prepare(&dir);
            equip(&mut dir);
            let stdin = if event == "post-rewrite" {
                "      use_stdin: true\n"
            } else {
                ""
            };
            let config = format!(
                "{event}:\n  commands:\n    pycgate:\n      run: {PYCGATE} hook {event} {{0}}\n{stdin}"
            );
            fs::write(dir.path(".git/info/exclude"), "lefthook.yml\n").expect("excludes");
            dir.write("lefthook.yml", config);
            if hooks {
                dir.command("lefthook").arg("install").ok();
            }
            dir.py("import pkg.sub.deep, held");
            match event {
                "post-applypatch" => {
                    let patch = dir.git(["format-patch", "--stdout", "main..without"]);
                    fs::write(dir.beside("patch"), patch + "\n").expect("the patch");
                    dir.git(["am", "-q", "../patch"]);
                }
                "post-index-change" => {
                    dir.git(["rm", "-q", "-r", "pkg"]);
                }
                // Git's own post-commit judges what differs from the index, which an entry
                // written in this second cannot stand.
                "post-commit" => {
                    dir.write("other.py", "V = 2");
                    dir.py("import other");
                    dir.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
                    let cached = fs::read_dir(dir.path("__pycache__"));
                    return cached.is_ok_and(|entries| entries.count() > 0);
                }
                _ => fire(&dir, event),
            }
            dir.py_runs("import pkg")
        };
        assert!(make(false), "{event}: it is left without hooks");
        assert!(!make(true), "{event}");
    }
}

/// A framework that is installed later moves our hook aside and calls it before its own.
#[test]
fn installed_over_our_hooks() {
    for framework in ["pre-commit", "prek"] {
        let mut dir = Dir::new();
        let config = "repos:\n  - repo: local\n    hooks:\n      - {id: nothing, name: nothing, \
                      entry: 'true', language: system, always_run: true, stages: [post-checkout]}\n";
        dir.write(".pre-commit-config.yaml", config);
        git_deletions::prepare(&dir);
        equip(&mut dir);
        dir.install();
        dir.command(framework)
            .args(["install", "-t", "post-checkout"])
            .ok();
        let hooks = dir.path(".git/hooks");
        assert!(hooks.join("post-checkout.legacy").exists(), "{framework}");
        let again = dir.command(PYCGATE).arg("install").ok();
        assert!(
            again.contains("unchanged     .git/hooks/post-checkout"),
            "{again}"
        );
        dir.py("import pkg.sub.deep, held");
        dir.git(["switch", "-q", "without"]);
        assert!(!dir.py_runs("import pkg"), "{framework}");
        dir.command(PYCGATE).arg("uninstall").ok();
        assert!(!hooks.join("post-checkout.legacy").exists(), "{framework}");
        assert!(hooks.join("post-checkout").exists(), "{framework}");
    }
}
