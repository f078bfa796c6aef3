//! Real numba: machine code that outlives the bytecode it was built from.

use std::fs;

use filetime::{FileTime, set_file_mtime};
use serde_json::Value;

use crate::harness::race::{self, Margin};
use crate::harness::venv::Venv;
use crate::harness::{Dir, interpreter};

const ALL: &str = "numba = 'all'\n";

fn venv() -> Venv {
    let python = (11..15).find_map(|minor| interpreter::cpython(3, minor));
    Venv::on(
        python.expect("the pinned numba needs a CPython 3.11 or later"),
        "requirements-numba.txt",
    )
}

/// Writes a source whose mtime keeps its second. numba compares the whole of it, Python the second.
fn write(dir: &Dir, source: &str, content: &str, nanoseconds: u32) {
    dir.write(source, content);
    let mtime = FileTime::from_unix_time(1_700_000_000, nanoseconds);
    set_file_mtime(dir.path(source), mtime).expect("the mtime");
}

fn run(dir: &Dir, venv: &Venv) -> String {
    dir.python(&venv.python, "import mod; print(mod.f())")
}

fn gate(dir: &Dir) -> Value {
    let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
    serde_json::from_str(&report).expect("JSON")
}

fn machine_code(dir: &Dir) -> Vec<String> {
    let mut names = dir.names("__pycache__");
    names.retain(|name| name.ends_with(".nbi") || name.ends_with(".nbc"));
    names
}

/// A stale run writes the old function's machine code under the new source's stamp; from then on
/// deleting the bytecode does not help.
#[test]
fn a_stale_run_poisons_the_index() {
    let venv = venv();
    let function = |value: &str| {
        format!("from numba import njit\n@njit(cache=True)\ndef f():\n    return {value}\n")
    };
    let dir = Dir::new();
    write(&dir, "mod.py", &function("1"), 100_000_000);
    assert_eq!(run(&dir, &venv), "1");
    write(&dir, "mod.py", &function("2"), 500_000_000);
    dir.commit("as on disk");
    assert_eq!(run(&dir, &venv), "1");
    for name in dir.names("__pycache__") {
        if name.ends_with(".pyc") {
            fs::remove_file(dir.path("__pycache__").join(name)).expect("the entry");
        }
    }
    assert_eq!(run(&dir, &venv), "1", "no incident");
    assert!(machine_code(&dir).len() >= 2, "no machine code");
    gate(&dir);
    assert_eq!(machine_code(&dir), [""; 0]);
    assert_eq!(run(&dir, &venv), "2");
}

/// `mod.f`, cached, which calls `helper.g`.
fn caller(dir: &Dir) {
    dir.write(
        "mod.py",
        "from numba import njit\nimport helper\ng = helper.g\n@njit(cache=True)\ndef f():\n    return g()\n",
    );
}

fn helper(value: &str) -> String {
    format!("from numba import njit\n@njit\ndef g():\n    return {value}\n")
}

/// numba looks only at the source of the cached function, never at that of what it calls.
#[test]
fn a_function_of_another_module_that_has_changed() {
    let venv = venv();
    let dir = Dir::new();
    caller(&dir);
    write(&dir, "helper.py", &helper("1"), 0);
    dir.write("pycgate.toml", "");
    dir.commit("one");
    race::wait_out(Margin::Plain, &[dir.path("mod.py"), dir.path("helper.py")]);
    assert_eq!(run(&dir, &venv), "1");
    dir.write("helper.py", helper("23"));
    dir.commit("two");
    assert_eq!(run(&dir, &venv), "1", "no incident");
    gate(&dir);
    assert_eq!(run(&dir, &venv), "1", "only the option looks at others");
    dir.write("pycgate.toml", ALL);
    gate(&dir);
    race::wait_out(Margin::Tool, &[dir.path("helper.py")]);
    assert_eq!(run(&dir, &venv), "23");
    let warm = machine_code(&dir);
    let report = gate(&dir);
    assert_eq!(report["counts"]["purged"], 0, "{report}");
    assert_eq!(machine_code(&dir), warm);
}

/// The index is written after the other module has changed, by a run that read its old bytecode.
#[test]
fn a_stale_run_of_another_module_poisons_the_index() {
    let venv = venv();
    let dir = Dir::new();
    caller(&dir);
    write(&dir, "helper.py", &helper("1"), 0);
    dir.write("pycgate.toml", ALL);
    race::wait_out(Margin::Plain, &[dir.path("mod.py")]);
    dir.python(&venv.python, "import helper");
    write(&dir, "helper.py", &helper("2"), 0);
    dir.commit("as on disk");
    race::wait_out(Margin::Plain, &[dir.path("helper.py")]);
    assert_eq!(run(&dir, &venv), "1", "no incident");
    gate(&dir);
    assert_eq!(run(&dir, &venv), "2");
}
