//! The gate asks pytest how its run ended: through launchers, and without a trace in the run.

use serde_json::Value;

use crate::harness::venv::Venv;
use crate::harness::{Dir, bin_directory, race};
use crate::report::valid;

fn venv() -> Venv {
    Venv::get("requirements-launchers.txt")
}

/// A test module that cannot be imported is the code's fault, although pytest's status is that of an
/// interruption; a test module without tests is nobody's.
fn project() -> Dir {
    let dir = Dir::new();
    dir.write("broken/test_it.py", "import no_such_module\n");
    dir.write("empty/test_it.py", "");
    dir.write("fine/test_it.py", "def test_it():\n    pass\n");
    dir.commit("one");
    dir
}

/// Exit status and verdict of the gate, and what the command printed.
fn gate(dir: &Dir, venv: &Venv, command: &[&str]) -> (i32, Value, String) {
    let file = dir.beside("report.json");
    let gate = dir
        .pycgate(&["gate", "--report"])
        .arg(&file)
        .arg("--")
        .args(command)
        .env("VIRTUAL_ENV", venv.bin.parent().expect("the environment"))
        .env("UV_OFFLINE", "1")
        .path_first(&venv.bin);
    let done = gate.run();
    let report = valid(&std::fs::read_to_string(&file).expect("the report"));
    (done.status, report, done.stdout + &done.stderr)
}

#[test]
fn pytest_is_asked_through_launchers() {
    let (venv, dir) = (venv(), project());
    for launcher in [
        &["pytest"][..],
        &["python", "-m", "pytest"],
        &["env", "pytest"],
        &["env", "A=1", "PYTHONPATH=.", "python", "-m", "pytest"],
        &["coverage", "run", "-m", "pytest"],
        &["python", "-m", "coverage", "run", "-m", "pytest"],
        &["uv", "run", "--no-project", "pytest"],
        &[
            "uv",
            "run",
            "--no-project",
            "--",
            "coverage",
            "run",
            "-m",
            "pytest",
        ],
    ] {
        for (arguments, status, verdict) in [
            (&["broken"][..], 2, "BLOCK"),
            (&["empty"], 125, "INCONCLUSIVE"),
            (&["--no-such-option"], 125, "INCONCLUSIVE"),
            (&["fine"], 0, "PASS"),
        ] {
            let command = [launcher, &["-q"], arguments].concat();
            let (got, report, said) = gate(&dir, &venv, &command);
            assert_eq!(
                (got, &report["verdict"]),
                (status, &verdict.into()),
                "{command:?}: {report:#}\n{said}"
            );
            assert!(!said.contains("could not be asked"), "{command:?}: {said}");
        }
    }
}

#[test]
fn where_nobody_can_ask_it_is_inconclusive() {
    let (venv, dir) = (venv(), project());
    for command in [
        &["python", "-I", "-m", "pytest", "-q", "broken"][..],
        &["pytest", "-q", "-p", "no:pycgate_outcome", "broken"],
    ] {
        let (got, report, said) = gate(&dir, &venv, command);
        assert_eq!((got, &report["sweep"]["exit"]), (125, &2.into()), "{said}");
        assert!(said.contains("could not be asked"), "{said}");
    }
    // No guess is made of what a shell runs.
    let (got, report, _) = gate(&dir, &venv, &["sh", "-c", "pytest -q empty"]);
    assert_eq!((got, &report["verdict"]), (5, &"BLOCK".into()));
}

/// What the tests see, and what they start, is as without the gate.
#[test]
fn the_question_leaves_no_trace_in_the_run() {
    let (venv, dir) = (venv(), project());
    dir.write(
        "seen/test_it.py",
        "import importlib.metadata, os, subprocess, sys\n\n\n\
         SEEN = 'import os, sys, importlib.metadata as m\\n' \\\n    \
         'print([x for x in os.environ if \"PYCGATE\" in x], os.environ.get(\"PYTHONPATH\"), ' \\\n    \
         '[p for p in sys.path if \"pycgate-outcome\" in p],' \\\n    \
         '[d.name for d in m.distributions() if \"pycgate\" in d.name])'\n\n\n\
         def test_it(capfd):\n    exec(SEEN)\n    \
         subprocess.check_call([sys.executable, '-c', SEEN])\n    \
         seen = capfd.readouterr().out\n    assert seen == '[] None [] []\\n' * 2, seen\n",
    );
    for workers in [&[][..], &["-n", "2"]] {
        let command = [&["pytest", "-q", "seen"], workers].concat();
        let (got, report, said) = gate(&dir, &venv, &command);
        assert_eq!(got, 0, "{report:#}\n{said}");
    }
    let prefix = dir.beside("prefix");
    let gate = dir.pycgate(&["gate", "--"]).arg(venv.program("pytest"));
    gate.args(["-q", "fine"])
        .env("PYTHONPYCACHEPREFIX", &prefix)
        .expect(0);
    let mut open = vec![prefix];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
            assert!(
                !entry.path().to_string_lossy().contains("/pycgate_outcome"),
                "{:?}",
                entry.path()
            );
            if entry.path().is_dir() {
                open.push(entry.path());
            }
        }
    }
}

/// Coverage measures everything that has a file, unless it is told otherwise, and looks for that file
/// when it reports.
#[test]
fn coverage_measures_what_it_measures_without() {
    let (venv, dir) = (venv(), project());
    dir.write("fine/__init__.py", "");
    let measured = |gated: bool, command: &[&str]| {
        let _ = std::fs::remove_file(dir.path(".coverage"));
        let run = if gated {
            dir.pycgate(&["gate", "-q", "--"]).args(command)
        } else {
            dir.command(command[0]).args(&command[1..])
        };
        run.path_first(&venv.bin).expect(0);
        dir.command(venv.program("coverage")).arg("report").ok()
    };
    for command in [
        &["coverage", "run", "-m", "pytest", "-q", "fine"][..],
        &["pytest", "-q", "--cov", "--cov-report=", "fine"],
    ] {
        let without = measured(false, command);
        assert!(without.contains("fine/test_it.py"), "{without}");
        assert_eq!(measured(true, command), without);
    }
}

/// `git bisect run` takes 125 for a commit that it is to skip.
#[test]
fn a_commit_without_the_test_file_is_skipped_by_bisect() {
    let venv = venv();
    let dir = Dir::new();
    let commit = |value: u8, with_test: bool| {
        dir.write("calc.py", format!("V = {value}\n"));
        if with_test {
            let test = "import calc\n\n\ndef test_it():\n    assert calc.V < 6\n";
            dir.write("tests/test_one.py", test);
        } else {
            let _ = std::fs::remove_file(dir.path("tests/test_one.py"));
        }
        dir.commit(&format!("V is {value}"));
    };
    dir.write("conftest.py", "");
    race::start_of_a_second();
    // The commit in the middle, where the bisection begins, has lost the test file.
    for value in 1..=7 {
        commit(value, value != 4);
    }
    dir.git(&["bisect", "start", "HEAD", "HEAD~6"]);
    let recipe = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recipes.md"))
        .expect("the recipes");
    let recipe = recipe
        .lines()
        .find_map(|line| line.strip_prefix("$ git bisect run "))
        .expect("the recipe");
    let done = dir
        .command("sh")
        .arg("-c")
        .arg(format!("git bisect run {recipe}"))
        .path_first(&venv.bin)
        .path_first(bin_directory())
        .run();
    let said = done.stdout + &done.stderr;
    let log = dir.git(&["bisect", "log"]);
    assert!(
        log.contains("# skip:") && log.contains("V is 4"),
        "{log}\n{said}"
    );
    let found = said.split("is the first bad commit").nth(1);
    assert!(
        found.is_some_and(|found| found.contains("V is 6")),
        "{log}\n{said}"
    );
}
