//! pytest before 9.2 leaves in its entry the path it was compiled for, and believes it.

use serde_json::Value;

use crate::harness::race::{self, Margin};
use crate::harness::venv::Venv;
use crate::harness::{Dir, interpreter};

const TEST: &str =
    "import inspect\n\ndef test_source():\n    assert 'assert' in inspect.getsource(test_source)\n";

fn venv() -> Venv {
    let pythons = [11, 10, 12, 13, 14];
    let python = pythons
        .iter()
        .find_map(|&minor| interpreter::cpython(3, minor));
    Venv::on(
        python.expect("a CPython 3.10 or later"),
        "requirements-pytest-7.4.txt",
    )
}

fn gate(dir: &Dir) -> Value {
    let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
    serde_json::from_str(&report).expect("JSON")
}

#[test]
fn the_entries_of_a_folder_that_has_moved() {
    let venv = venv();
    let dir = Dir::new();
    dir.write("tests/a/test_it.py", TEST);
    dir.write("tests/kept/test_kept.py", TEST);
    dir.commit("one");
    let sources = ["tests/a/test_it.py", "tests/kept/test_kept.py"].map(|path| dir.path(path));
    race::wait_out(Margin::Tool, &sources);
    let pytest = |place: &str| {
        let pytest = dir.command(venv.program("pytest"));
        pytest.args(["-q", "-p", "no:cacheprovider", place]).run()
    };
    assert_eq!(pytest("tests").status, 0);
    let kept = dir.names("tests/kept/__pycache__");
    assert_eq!(kept.len(), 1, "{kept:?}");
    dir.git(&["mv", "tests/a", "tests/b"]);
    dir.git(&["commit", "-q", "-m", "moved"]);
    assert_eq!(pytest("tests/b").status, 1, "no incident");
    let report = gate(&dir);
    assert_eq!(report["counts"]["purged"], 1, "{report}");
    assert_eq!(report["entries"][0]["state"], "stale", "{report}");
    assert_eq!(report["entries"][0]["source"], "tests/b/test_it.py");
    assert_eq!(dir.names("tests/kept/__pycache__"), kept);
    assert_eq!(pytest("tests").status, 0);
    let report = gate(&dir);
    assert_ne!(report["entries"][0]["state"], "stale", "{report}");
}
