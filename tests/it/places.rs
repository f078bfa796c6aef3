//! The gate in other places where people put gates, each tried for real: the configuration is the
//! one under `examples/configs` that the recipes point to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use filetime::FileTime;

use crate::harness::venv::Venv;
use crate::harness::{Dir, PYCGATE, TestCommand, bin_directory, interpreter, race};

const CONFIGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/configs");

fn venv() -> Venv {
    Venv::get("requirements-places.txt")
}

/// A repository with a module, its test, and a configuration file from the examples.
fn project(config: &str, name: &str) -> Dir {
    let dir = Dir::new();
    dir.write("calc.py", "def double(x):\n    return x * 2\n");
    dir.write(
        "test_calc.py",
        "import calc\n\n\ndef test_double():\n    assert calc.double(3) == 6\n",
    );
    dir.write(
        name,
        fs::read(Path::new(CONFIGS).join(config)).expect("the example"),
    );
    dir.commit("one");
    dir
}

/// A program with pycgate and the environment's python on PATH.
fn program(dir: &Dir, venv: &Venv, program: impl AsRef<OsStr>) -> TestCommand {
    dir.command(program)
        .path_first(&venv.bin)
        .path_first(bin_directory())
}

/// It ends with this status, and has seen a test fail.
fn sees_the_failure(command: TestCommand, status: i32) {
    let done = command.run();
    let said = done.stdout + &done.stderr;
    assert_eq!(done.status, status, "{said}");
    assert!(said.contains("1 failed"), "{said}");
}

/// Caches the right source, then breaks it at the same size and mtime: whoever trusts the entry
/// passes a test that should fail.
fn break_it(dir: &Dir, venv: &Venv) {
    let second = FileTime::from_unix_time(1_700_000_000, 0);
    dir.write("calc.py", "def double(x):\n    return x * 2\n");
    filetime::set_file_mtime(dir.path("calc.py"), second).expect("the mtime");
    dir.command(&venv.python.path)
        .args(["-c", "import calc"])
        .ok();
    dir.write("calc.py", "def double(x):\n    return x * 3\n");
    filetime::set_file_mtime(dir.path("calc.py"), second).expect("the mtime");
    let stale =
        dir.command(&venv.python.path)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    stale.expect(0);
}

#[test]
fn make_sees_the_failure() {
    let venv = venv();
    let dir = project("Makefile", "Makefile");
    break_it(&dir, &venv);
    // Two is make's word for a failed recipe.
    sees_the_failure(program(&dir, &venv, "make"), 2);
}

#[test]
fn tox_sees_the_failure() {
    let venv = venv();
    let dir = project("tox.ini", "tox.ini");
    break_it(&dir, &venv);
    sees_the_failure(program(&dir, &venv, venv.program("tox")), 1);
}

#[test]
fn nox_sees_the_failure() {
    let venv = venv();
    let dir = project("noxfile.py", "noxfile.py");
    break_it(&dir, &venv);
    sees_the_failure(program(&dir, &venv, venv.program("nox")), 1);
}

#[test]
fn xdist_sees_the_failure() {
    let venv = venv();
    let dir = project("Makefile", "Makefile");
    break_it(&dir, &venv);
    let pytest = venv.program("pytest");
    dir.pycgate(&["gate", "--"])
        .arg(pytest)
        .args(["-q", "-n", "2", "-p", "no:cacheprovider"])
        .expect(1);
}

#[test]
fn a_push_is_stopped() {
    let venv = venv();
    let dir = project("git/pre-push", ".git/hooks/pre-push");
    fs::set_permissions(
        dir.path(".git/hooks/pre-push"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("the mode");
    dir.command("git")
        .args(["init", "-q", "--bare"])
        .arg(dir.beside("origin.git"))
        .ok();
    let push = |dir: &Dir| {
        let push = dir
            .command("git")
            .arg("push")
            .arg("-q")
            .arg(dir.beside("origin.git"))
            .arg("HEAD:refs/heads/main");
        push.path_first(&venv.bin)
            .path_first(bin_directory())
            .run()
            .status
    };
    break_it(&dir, &venv);
    assert_ne!(push(&dir), 0);
    dir.write("calc.py", "def double(x):\n    return x * 2\n");
    assert_eq!(push(&dir), 0);
}

#[test]
fn rebase_and_bisect_see_each_step() {
    let venv = venv();
    let dir = project("Makefile", "Makefile");
    // Five commits of one size within a second; from the fourth on the test fails.
    let python = venv.python.path.to_str().expect("UTF-8").to_owned();
    let first = dir.git(&["rev-parse", "HEAD"]);
    race::start_of_a_second();
    for step in 1..=5 {
        let text = if step < 4 { "2" } else { "3" };
        dir.write(
            "calc.py",
            format!("def double(x):\n    return x * {text}  # {step}\n"),
        );
        dir.git(&["commit", "-q", "-a", "-m", &format!("step {step}")]);
    }
    let bin = PYCGATE;
    let gate = format!("{bin} gate -- {python} -m pytest -q -p no:cacheprovider");
    let says = format!(
        "{bin} gate -q -- {python} -c 'import calc, inspect; print(inspect.getsource(calc.double)[-2])'"
    );
    let rebase = dir
        .command("git")
        .args(["rebase", "--force-rebase", "-x", &says, first.trim()])
        .run();
    let steps: String = rebase
        .stdout
        .lines()
        .filter(|line| line.len() == 1)
        .collect();
    assert_eq!(steps, "12345", "{}{}", rebase.stdout, rebase.stderr);
    dir.git(&["bisect", "start", "HEAD", first.trim()]);
    let mut words = vec!["bisect", "run"];
    words.extend(gate.split(' '));
    let found = dir.git(&words);
    assert!(
        found.contains("is the first bad commit") && found.contains("step 4"),
        "{found}"
    );
}

#[test]
fn pre_commit_runs_the_gate_around_the_tests() {
    let venv = venv();
    let tools = Venv::get("requirements-frameworks.txt");
    let dir = project(
        "pre-commit-gate/.pre-commit-config.yaml",
        ".pre-commit-config.yaml",
    );
    break_it(&dir, &venv);
    let run = |dir: &Dir| {
        let run = dir
            .command(tools.program("pre-commit"))
            .args(["run", "--all-files"]);
        run.env("PRE_COMMIT_HOME", dir.beside("cache"))
            .path_first(&venv.bin)
            .path_first(bin_directory())
            .run()
    };
    assert_eq!(run(&dir).status, 1);
    dir.write("calc.py", "def double(x):\n    return x * 2\n");
    let done = run(&dir);
    assert_eq!(done.status, 0, "{}{}", done.stdout, done.stderr);
}

#[test]
fn a_mutant_of_the_same_size_is_killed() {
    let venv = venv();
    let survivors = |command: &str| {
        let dir = project("cosmic-ray.toml", "cosmic-ray.toml");
        let config = String::from_utf8(dir.read("cosmic-ray.toml")).expect("UTF-8");
        let line = config
            .lines()
            .find(|line| line.starts_with("test-command"))
            .expect("the command");
        dir.write(
            "cosmic-ray.toml",
            config.replace(line, &format!("test-command = \"{command}\"")),
        );
        let run = |words: &[&str]| {
            program(&dir, &venv, venv.program(words[0]))
                .args(&words[1..])
                .ok()
        };
        run(&["cosmic-ray", "init", "cosmic-ray.toml", "session.sqlite"]);
        // cosmic-ray writes each mutant as fast as its tests run; the source's second is what a
        // rewrite within one second leaves.
        let second = FileTime::from_unix_time(1_700_000_000, 0);
        filetime::set_file_mtime(dir.path("calc.py"), second).expect("the mtime");
        dir.command(&venv.python.path)
            .args(["-c", "import calc"])
            .ok();
        run(&["cosmic-ray", "exec", "cosmic-ray.toml", "session.sqlite"]);
        let report = run(&["cr-report", "session.sqlite"]);
        report
            .lines()
            .filter(|line| line.to_lowercase().contains("survived"))
            .count()
    };
    let back_dated = "touch -d @1700000000 calc.py; python -m pytest -q -x -p no:cacheprovider";
    let without = survivors(&format!("sh -c '{back_dated}'"));
    let with = survivors(&format!(
        "sh -c '{}'",
        back_dated.replace("python", "pycgate gate -- python")
    ));
    crate::harness::announce(&format!(
        "{}: mutants that survive: {without} without pycgate, {with} with it",
        interpreter::main().tag
    ));
    assert!(with < without, "{without} without, {with} with");
}
