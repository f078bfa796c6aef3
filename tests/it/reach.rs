//! How far the gate reaches, and no further: exactly the racy ones of many, ghosts, trees beside
//! the work tree.

use std::fs;
use std::path::Path;

use filetime::{FileTime, set_file_mtime};
use serde_json::Value;

use crate::harness::race::{self, Margin};
use crate::harness::venv::Venv;
use crate::harness::{Dir, Interpreter, interpreter};
use crate::report::valid;

const OLD: &str = "V = 'old'\n";
const NEW: &str = "V = 'new'\n";
const THEN: i64 = 1_700_000_000;

fn stamp(path: &Path) {
    set_file_mtime(path, FileTime::from_unix_time(THEN, 0)).expect("the mtime");
}

/// Writes new content and gives the source its time back.
fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
    fs::write(path, content).expect("a source");
    stamp(path);
}

fn gate(dir: &Dir, options: &[&str]) -> Value {
    let gate = dir.pycgate(&["gate", "--format", "json"]);
    let report = gate.args(options).expect(0).stdout;
    serde_json::from_str(&report).expect("JSON")
}

/// Imports `module` from a directory.
fn value(dir: &Dir, python: &Interpreter, place: &Path, module: &str) -> String {
    let code =
        format!("import sys; sys.path.insert(0, {place:?}); import {module}; print({module}.V)");
    dir.python(python, &code)
}

#[test]
fn three_of_two_thousand() {
    let python = interpreter::main();
    let dir = Dir::new();
    let sources: Vec<String> = (0..2000)
        .map(|number| format!("pkg{}/mod{number}.py", number % 40))
        .collect();
    for source in &sources {
        put(&dir.path(source), OLD);
    }
    let last = dir.path(sources.last().expect("some"));
    race::wait_out(Margin::Plain, &[last]);
    let compile = ["-m", "compileall", "-q", "-j", "2", "."];
    dir.command(&python.path).args(compile).ok();
    let racy = ["pkg7/mod7.py", "pkg0/mod1000.py", "pkg39/mod1999.py"];
    for source in racy {
        put(&dir.path(source), NEW);
    }
    dir.commit("as on disk");
    let report = gate(&dir, &[]);
    assert_eq!(report["counts"]["purged"], 3, "{}", report["counts"]);
    let mut purged: Vec<&str> = report["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|entry| entry["action"] == "purged")
        .map(|entry| entry["source"].as_str().expect("a source"))
        .collect();
    purged.sort_unstable();
    let mut expected = racy;
    expected.sort_unstable();
    assert_eq!(purged, expected);
    let report = gate(&dir, &[]);
    assert_eq!(report["counts"]["purged"], 0, "{}", report["counts"]);
    assert_eq!(report["counts"]["settled"], 1997, "{}", report["counts"]);
}

#[test]
fn a_deleted_package_is_importable_until_the_gate() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write("dead/inner/mod.py", OLD);
    dir.write("half/mod.py", OLD);
    dir.write("half/data.txt", "mine\n");
    dir.write("uploads/.keep", "");
    dir.commit("one");
    dir.python(python, "import dead.inner.mod, half.mod");
    dir.git(&["rm", "-q", "dead/inner/mod.py"]);
    dir.git(&["commit", "-q", "-m", "two"]);
    dir.python(python, "import dead.inner");
    let report = gate(&dir, &[]);
    assert!(!dir.exists("dead"), "{report}");
    assert_eq!(report["ghosts"].as_array().expect("a list").len(), 2);
    let done = dir.command(&python.path).args(["-c", "import dead"]).run();
    assert!(done.stderr.contains("No module named"), "{done:?}");
    assert!(dir.exists("half/data.txt") && dir.exists("uploads/.keep"));
}

#[test]
fn beside_the_work_tree_only_when_asked() {
    let python = interpreter::main();
    let dir = Dir::new();
    let library = dir.beside("library");
    put(&library.join("helper.py"), OLD);
    assert_eq!(value(&dir, python, &library, "helper"), "old");
    put(&library.join("helper.py"), NEW);
    gate(&dir, &[]);
    assert_eq!(value(&dir, python, &library, "helper"), "old");
    gate(&dir, &["--also", library.to_str().expect("UTF-8")]);
    assert!(!library.join("__pycache__").exists(), "it is left empty");
    assert_eq!(value(&dir, python, &library, "helper"), "new");
}

#[test]
fn editable_installs_are_ours_and_site_packages_are_not() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write(".gitignore", ".venv\n");
    dir.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    let editable = dir.path(".venv/src/dep");
    let site = dir.path(".venv/lib/python3.11/site-packages");
    for place in [&editable, &site] {
        put(&place.join("dep.py"), OLD);
        assert_eq!(value(&dir, python, place, "dep"), "old");
        put(&place.join("dep.py"), NEW);
        assert_eq!(value(&dir, python, place, "dep"), "old");
    }
    gate(&dir, &[]);
    assert_eq!(value(&dir, python, &editable, "dep"), "new");
    assert_eq!(value(&dir, python, &site, "dep"), "old");
}

#[test]
fn a_relative_prefix_and_one_that_is_named() {
    let python = interpreter::main();
    for (variable, options) in [("prefix", None), ("", Some("--pycache-prefix"))] {
        let dir = Dir::new();
        put(&dir.path("mod.py"), OLD);
        let import = |prefix: &str| {
            let python = dir.command(&python.path).env("PYTHONPYCACHEPREFIX", prefix);
            python.args(["-c", "import mod; print(mod.V)"]).ok()
        };
        assert_eq!(import("prefix"), "old");
        put(&dir.path("mod.py"), NEW);
        dir.git(&["add", "mod.py"]);
        dir.git(&["commit", "-q", "-m", "as on disk"]);
        assert_eq!(import("prefix"), "old");
        assert!(!dir.exists("__pycache__"));
        let mut gate = dir.pycgate(&["gate"]);
        if !variable.is_empty() {
            gate = gate.env("PYTHONPYCACHEPREFIX", variable);
        }
        gate.args(options.iter().flat_map(|option| [*option, "prefix"]))
            .expect(0);
        assert_eq!(import("prefix"), "new", "{variable:?} {options:?}");
    }
}

/// What is left out of the work tree is left out of a prefix as well: excluded sources and installed
/// packages. A purge by name looks at no other entry.
#[test]
fn a_prefix_leaves_out_what_the_work_tree_does() {
    let python = interpreter::main();
    let dir = Dir::new();
    let packages = "env/lib/python3.11/site-packages";
    dir.write("env/pyvenv.cfg", "");
    for source in ["app.py", "made_pb2.py", &format!("{packages}/dep.py")] {
        dir.write(source, "V = 1\n");
    }
    let prefix = dir.beside("prefix");
    let entry = |source: &str| {
        let entry = prefix.join(dir.path(source).strip_prefix("/").expect("absolute"));
        let name = entry
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        entry
            .with_file_name(format!("{name}.{}.pyc", python.tag))
            .exists()
    };
    let there = || ["app.py", "made_pb2.py", &format!("{packages}/dep.py")].map(entry);
    let import = || {
        let code = format!("import sys; sys.path.append('{packages}'); import app, made_pb2, dep");
        let python = dir.command(&python.path).args(["-c", &code]);
        python.env("PYTHONPYCACHEPREFIX", &prefix).ok();
        assert_eq!(there(), [true; 3], "nothing was cached");
    };
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["--exclude", "*_pb2.py", "--format", "json"]].concat();
        let pycgate = dir.pycgate(&arguments).env("PYTHONPYCACHEPREFIX", &prefix);
        let report = valid(&pycgate.ok());
        assert_eq!(report["counts"]["scanned"], 1, "{report:#}");
        assert_eq!(there(), [false, true, true], "{arguments:?}");
    };
    import();
    run(&["gate"]);
    import();
    run(&["purge", "app.py"]);
}

/// The folder that has moved may lie above the work tree.
#[test]
fn pytest_entries_of_a_tree_whose_parent_has_moved() {
    let pythons = [11, 10, 12, 13, 14];
    let python = pythons
        .iter()
        .find_map(|&minor| interpreter::cpython(3, minor));
    let venv = Venv::on(
        python.expect("a CPython 3.10 or later"),
        "requirements-pytest-7.4.txt",
    );
    let dir = Dir::plain();
    let test = "import inspect\n\ndef test_source():\n    assert 'assert' in inspect.getsource(test_source)\n";
    dir.write("before/tree/test_it.py", test);
    race::wait_out(Margin::Tool, &[dir.path("before/tree/test_it.py")]);
    let pytest = |place: &str| {
        let pytest = dir.command(venv.program("pytest"));
        let pytest = pytest.current_dir(dir.path(place));
        pytest.args(["-q", "-p", "no:cacheprovider"]).run().status
    };
    assert_eq!(pytest("before/tree"), 0);
    fs::rename(dir.path("before"), dir.path("after")).expect("the move");
    assert_eq!(pytest("after/tree"), 1, "no incident");
    let tree = dir.path("after/tree");
    let check = |status| {
        let check = dir.pycgate(&["-C", tree.to_str().expect("text"), "check"]);
        check.expect(status);
    };
    check(1);
    dir.pycgate(&["-C", tree.to_str().expect("text"), "gate"])
        .ok();
    assert_eq!(pytest("after/tree"), 0);
}
