//! The files under `examples/configs` that `places.rs` does not run: hook managers, agents, CI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::venv::Venv;
use crate::harness::{Dir, MANIFEST, PYCGATE, TARGET_TMP, TestCommand, announce, interpreter};

fn example(name: &str) -> String {
    let path = Path::new(MANIFEST).join("examples/configs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A command with pycgate, and one directory more, on PATH.
fn with_programs(command: TestCommand, more: &Path) -> TestCommand {
    let bin = Path::new(PYCGATE).parent().expect("it lies somewhere");
    let path = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{}:{path}", bin.display(), more.display());
    command.env("PATH", path)
}

/// `main` has the package `pkg`, warm; `without` has not. Files named here are not git's.
fn with_package(not_gits: &[&str]) -> Dir {
    let dir = Dir::new();
    fs::create_dir_all(dir.path(".git/info")).expect("a directory");
    let excludes = not_gits.join("\n") + "\n__pycache__/\n";
    dir.write(".git/info/exclude", excludes);
    dir.commit("start");
    dir.git(&["branch", "without"]);
    dir.write("pkg/__init__.py", "V = 1\n");
    dir.commit("with");
    dir.import_value(interpreter::main(), "pkg");
    dir
}

fn importable(dir: &Dir) -> bool {
    let python = dir.command(&interpreter::main().path);
    python.args(["-c", "import pkg"]).run().status == 0
}

/// Switches to the branch without the package, with a manager's program on PATH.
fn switch(dir: &Dir, programs: &Path) {
    with_programs(dir.command("git"), programs)
        .args(["switch", "-q", "without"])
        .expect(0);
    assert!(!dir.exists("pkg/__init__.py"));
}

#[test]
fn without_a_manager_the_package_stays_importable() {
    let dir = with_package(&[]);
    switch(&dir, Path::new("/nowhere"));
    assert!(importable(&dir), "the incident did not happen");
}

#[test]
fn lefthook_takes_the_file() {
    let tools = Venv::get("requirements-frameworks.txt");
    let dir = with_package(&["lefthook.yml"]);
    dir.write("lefthook.yml", example("lefthook.yml"));
    with_programs(dir.command(tools.program("lefthook")), &tools.bin)
        .arg("install")
        .expect(0);
    for event in fs::read_dir(Path::new(MANIFEST).join("hooks")).expect("the shims") {
        let name = event.expect("a shim").file_name();
        assert!(dir.path(".git/hooks").join(&name).exists(), "{name:?}");
    }
    switch(&dir, &tools.bin);
    assert!(!importable(&dir));
}

/// husky from npm, once; `None` where there is no npm or it reaches no registry.
fn husky() -> Option<PathBuf> {
    let place = Path::new(TARGET_TMP).join("husky");
    let program = place.join("node_modules/husky/bin.js");
    if !program.exists() {
        fs::create_dir_all(&place).expect("a directory under target/");
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--prefix"])
            .arg(&place)
            .arg("husky@9.1.7");
        let done = npm
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !done.is_ok_and(|status| status.success()) {
            return None;
        }
    }
    Some(program)
}

#[test]
fn husky_takes_the_files() {
    let Some(husky) = husky() else {
        return announce("skipped: husky could not be installed with npm");
    };
    let dir = with_package(&[".husky/"]);
    let files = Path::new(MANIFEST).join("examples/configs/husky");
    for file in fs::read_dir(files).expect("the files") {
        let name = file.expect("a file").file_name();
        let name = name.to_str().expect("UTF-8");
        let text = example(&format!("husky/{name}"));
        assert!(text.contains(&format!("pycgate hook {name} ")), "{name}");
        dir.write(format!(".husky/{name}"), text);
    }
    dir.command("node").arg(husky).expect(0);
    assert_eq!(dir.git(&["config", "core.hooksPath"]), ".husky/_");
    switch(&dir, Path::new("/nowhere"));
    assert!(!importable(&dir));
}

/// Stages in brackets after a key, in whichever line they are.
fn stages(text: &str, key: &str) -> Vec<String> {
    let (_, rest) = text.split_once(&format!("\n{key}:")).expect(key);
    let (list, _) = rest
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .expect(key);
    list.split(',').map(|word| word.trim().to_owned()).collect()
}

#[test]
fn pre_commit_accepts_the_files_and_gets_every_stage() {
    let tools = Venv::get("requirements-frameworks.txt");
    let dir = Dir::new();
    for name in ["pre-commit", "pre-commit-gate"] {
        let text = example(&format!("{name}/.pre-commit-config.yaml"));
        dir.write(".pre-commit-config.yaml", &text);
        for framework in ["pre-commit", "prek"] {
            let validate = dir.command(tools.program(framework));
            validate
                .args(["validate-config", ".pre-commit-config.yaml"])
                .env("PRE_COMMIT_HOME", dir.beside("cache"))
                .env("PREK_HOME", dir.beside("prek"))
                .expect(0);
        }
    }
    let config = example("pre-commit/.pre-commit-config.yaml");
    let hooks = fs::read_to_string(Path::new(MANIFEST).join(".pre-commit-hooks.yaml"));
    let mut wanted = stages(&hooks.expect("the manifest"), "  stages");
    wanted.retain(|stage| stage != "manual");
    assert_eq!(stages(&config, "default_install_hook_types"), wanted);
}

#[test]
fn agents_purge_what_they_edit() {
    let dir = Dir::new();
    dir.write("app.py", "V = 1\n");
    dir.commit("one");
    let python = interpreter::main();
    let entry = dir.entry(python, "app.py");
    let nowhere = Path::new("/nowhere");

    dir.import_value(python, "app");
    assert!(dir.exists(&entry));
    let script = Path::new(MANIFEST).join("examples/configs/agent/after-edit.sh");
    let run = || with_programs(dir.command("sh"), nowhere).arg(&script);
    run().arg("app.py").expect(0);
    assert!(!dir.exists(&entry));
    run().expect(0);
    run().arg(dir.beside("elsewhere.py")).expect(0);

    if dir.command("sh").args(["-c", "command -v jq"]).run().status != 0 {
        return announce("skipped: there is no jq for claude-code-settings.json");
    }
    let settings = example("agent/claude-code-settings.json");
    let settings: serde_json::Value = serde_json::from_str(&settings).expect("JSON");
    let command = &settings["hooks"]["PostToolUse"][0]["hooks"][0]["command"];
    let command = command.as_str().expect("the command");
    dir.import_value(python, "app");
    assert!(dir.exists(&entry));
    let message = serde_json::json!({ "tool_input": { "file_path": dir.path("app.py") } });
    with_programs(dir.command("sh"), nowhere)
        .args(["-c", command])
        .input(message.to_string())
        .expect(0);
    assert!(!dir.exists(&entry));
}

/// The workflows cannot run here; their gates can, in a clone with the variables of each forge.
#[test]
fn gates_of_the_workflows_run() {
    let venv = Venv::get("requirements-places.txt");
    for (name, expression) in [
        (
            "github-actions.yml",
            Some("${{ github.base_ref || github.event.repository.default_branch }}"),
        ),
        ("gitlab-ci.yml", None),
    ] {
        let text = example(name);
        let line = text
            .lines()
            .find_map(|line| line.find("pycgate gate").map(|at| &line[at..]))
            .expect("a gate");
        let line = expression.map_or(line.to_owned(), |from| line.replace(from, "main"));
        assert!(!line.contains("{{"), "{line}");
        let dir = Dir::new();
        dir.write("calc.py", "V = 1\n");
        dir.write(
            "test_calc.py",
            "import calc\n\ndef test():\n    assert calc.V == 2\n",
        );
        dir.commit("one");
        dir.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        dir.git(&["switch", "-q", "-c", "topic"]);
        dir.write("calc.py", "V = 2\n");
        dir.commit("two");
        with_programs(dir.command("sh"), &venv.bin)
            .args(["-c", &line])
            .env("CI_DEFAULT_BRANCH", "main")
            .expect(0);
        let report: serde_json::Value =
            serde_json::from_slice(&dir.read("gate.json")).expect("a report");
        assert_eq!(report["verdict"], "PASS", "{name}");
        assert_eq!(report["payload"]["sources"], serde_json::json!(["calc.py"]));
    }
}
