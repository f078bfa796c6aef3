//! `src/python/pytest_outcome.py`: what pytest knows of the end of a run, told in a file.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::venv::Venv;
use crate::harness::{Dir, MANIFEST};
use crate::staleness::pytests;

/// One kind of end: files, arguments, and what is to be told. `None`: nothing is.
type End = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
    Option<(i32, Option<&'static str>)>,
);

const PASSES: (&str, &str) = ("test_it.py", "def test(): pass\n");

const ENDS: [End; 13] = [
    ("passed", &[PASSES], &[], Some((0, None))),
    (
        "failed",
        &[("test_it.py", "def test(): assert 0\n")],
        &[],
        Some((1, None)),
    ),
    (
        "a test module that cannot be imported",
        &[PASSES, ("test_other.py", "import no_such_module\n")],
        &[],
        Some((2, Some("collection-error"))),
    ),
    (
        "a syntax error",
        &[PASSES, ("test_other.py", "def\n")],
        &[],
        Some((2, Some("collection-error"))),
    ),
    (
        "a conftest that cannot be imported",
        &[PASSES, ("conftest.py", "import no_such_module\n")],
        &[],
        Some((4, Some("collection-error"))),
    ),
    (
        "a conftest below that cannot be imported",
        &[
            ("sub/test_it.py", "def test(): pass\n"),
            ("sub/conftest.py", "import no_such_module\n"),
        ],
        &[],
        Some((2, Some("collection-error"))),
    ),
    (
        "no tests",
        &[("test_it.py", "")],
        &[],
        Some((5, Some("no-tests"))),
    ),
    (
        "a key",
        &[("test_it.py", "def test(): raise KeyboardInterrupt\n")],
        &[],
        Some((2, Some("interrupted"))),
    ),
    (
        "an exit that claims success",
        &[(
            "test_it.py",
            "import pytest\ndef test(): pytest.exit('x', returncode=0)\n",
        )],
        &[],
        Some((0, Some("interrupted"))),
    ),
    (
        "a hook that fails",
        &[
            PASSES,
            (
                "conftest.py",
                "def pytest_collection_modifyitems(): raise ValueError\n",
            ),
        ],
        &[],
        Some((3, Some("internal-error"))),
    ),
    (
        "a file that is not there",
        &[PASSES],
        &["other.py"],
        Some((4, Some("usage"))),
    ),
    (
        "an option that is not there",
        &[PASSES],
        &["--no-such-option"],
        None,
    ),
    (
        "a status that a plugin makes up",
        &[
            PASSES,
            (
                "conftest.py",
                "def pytest_sessionfinish(session): session.exitstatus = 5\n",
            ),
        ],
        &[],
        Some((5, Some("no-tests"))),
    ),
];

fn told(venv: &Venv, end: &End, more: &[&str]) -> Option<Value> {
    let dir = Dir::plain();
    for (name, content) in end.1 {
        dir.write(name, content);
    }
    let file = dir.beside("outcome");
    dir.command(venv.program("pytest"))
        .args(["-q", "-p", "pytest_outcome"])
        .args(more)
        .args(end.2)
        .env("PYTHONPATH", Path::new(MANIFEST).join("src/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYCGATE_OUTCOME", &file)
        .run();
    let text = std::fs::read_to_string(file).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// The oldest and the newest pytest here.
#[test]
fn ends_of_runs_are_told_apart() {
    let pytests = pytests();
    let newest = pytests.iter().rfind(|(_, venv)| !venv.python.pypy);
    for (version, venv) in pytests.first().into_iter().chain(newest) {
        for end in &ENDS {
            let expected = end
                .3
                .map(|(status, outcome)| json!({"status": status, "outcome": outcome}));
            assert_eq!(told(venv, end, &[]), expected, "{version}: {}", end.0);
        }
    }
}

/// The statuses differ there, and one is 0 although a worker has failed; what they mean does not.
#[test]
fn ends_of_distributed_runs_are_told_apart() {
    let venv = Venv::get("requirements-gate.txt");
    for (index, expected) in [
        (0, json!({"status": 0, "outcome": null})),
        (1, json!({"status": 1, "outcome": null})),
        (2, json!({"status": 1, "outcome": null})),
        (4, json!({"status": 4, "outcome": "collection-error"})),
        (6, json!({"status": 5, "outcome": "no-tests"})),
        (7, json!({"status": 2, "outcome": "interrupted"})),
        (9, json!({"status": 0, "outcome": "internal-error"})),
    ] {
        let end = &ENDS[index];
        assert_eq!(told(&venv, end, &["-n1"]), Some(expected), "{}", end.0);
    }
}
