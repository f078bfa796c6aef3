//! `--prove`: the interpreter itself acquits or convicts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use filetime::FileTime;
use serde_json::Value;

use crate::harness::{Dir, announce, interpreter};
use crate::report::valid;

fn state_of<'r>(report: &'r Value, source: &str) -> (&'r str, &'r str) {
    let entries = report["entries"].as_array().expect("a list");
    let entry = entries
        .iter()
        .find(|entry| entry["source"] == source)
        .unwrap_or_else(|| panic!("{source}: {report:#}"));
    (
        entry["state"].as_str().expect("a state"),
        entry["reason"].as_str().expect("a reason"),
    )
}

#[test]
fn every_interpreter_acquits_and_convicts() {
    for python in interpreter::all() {
        let dir = Dir::new();
        let old = "def f(a, b=(1, 'x')):\n    return [n for n in range(3)]\n\n\nclass C:\n    V = 1.0\n\n    def g(self):\n        return {1, 2}\n";
        let second = FileTime::from_unix_time(1_700_000_000, 0);
        for (name, new) in [
            ("same.py", old.to_owned()),
            ("float.py", old.replace("1.0", "2.0")),
            ("nested.py", old.replace("{1, 2}", "{1, 3}")),
            ("default.py", old.replace("'x'", "'y'")),
            ("broken.py", old.replace("class C:", "class C ")),
        ] {
            dir.write(name, old);
            filetime::set_file_mtime(dir.path(name), second).expect("the mtime");
            dir.python(python, &format!("import {}", name.trim_end_matches(".py")));
            dir.write(name, new);
            filetime::set_file_mtime(dir.path(name), second).expect("the mtime");
        }
        let check = [
            "check",
            "--prove",
            "--all-entries",
            "--format",
            "json",
            "--python",
        ];
        let report = valid(&dir.pycgate(&check).arg(&python.path).expect(1).stdout);
        for (source, state, says) in [
            ("same.py", "settled", "to the same code"),
            ("float.py", "stale", "line 6"),
            ("nested.py", "stale", "line 9, in g"),
            ("default.py", "stale", "line 1"),
            ("broken.py", "stale", "does not compile"),
        ] {
            let (got, reason) = state_of(&report, source);
            assert_eq!(got, state, "{} {source}: {reason}", python.tag);
            if python.version >= (3, 6) && !python.pypy {
                assert!(reason.contains(says), "{} {source}: {reason}", python.tag);
            }
        }
        announce(&format!("{}: proved", python.tag));
        let gate = dir.pycgate(&[
            "gate",
            "--prove",
            "--only",
            "nothing.py",
            "--format",
            "json",
            "--python",
        ]);
        let report = valid(&gate.arg(&python.path).ok());
        assert_eq!(
            report["counts"]["purged"], 4,
            "what is acquitted stays: {report:#}"
        );
    }
}

#[test]
fn a_tag_without_an_interpreter_stays_racy_and_says_so() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.write("test_mod.py", "V = 1\n");
    dir.write(
        "__pycache__/mod.cpython-399.pyc",
        [&b"\x00\x00\r\n\x00\x00\x00\x00"[..], &[0; 24]].concat(),
    );
    dir.write("__pycache__/mod.graalpy242-311.pyc", "x");
    dir.write("__pycache__/test_mod.graalpy242-311-pytest-8.pyc", "x");
    let done = dir.pycgate(&["check", "--prove"]).expect(1);
    assert!(
        done.stdout
            .contains("there is no interpreter for graalpy242-311"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_broken_interpreter_is_an_error() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.import_value(interpreter::main(), "mod");
    let name = interpreter::main().path.display().to_string();
    dir.write("honest", format!("#!/bin/sh\nexec {name} \"$@\"\n"));
    dir.command("chmod").args(["755", "honest"]).ok();
    dir.pycgate(&["check", "--prove", "--python", "./honest"])
        .expect(0);
    dir.write("liar", "#!/bin/sh\nexit 3\n");
    fs::set_permissions(dir.path("liar"), fs::Permissions::from_mode(0o755)).expect("the mode");
    for python in ["./liar", "./missing", "mod.py", "/bin/true"] {
        let done = dir
            .pycgate(&["check", "--prove", "--python", python])
            .expect(2);
        assert!(
            done.stderr
                .contains(&format!("--python {python}: it does not work")),
            "{}",
            done.stderr
        );
        dir.pycgate(&["gate", "--prove", "--python", python])
            .expect(125);
    }
}

#[test]
fn the_source_is_compiled_and_never_run() {
    let dir = Dir::new();
    let python = interpreter::main();
    let text = |mark: &str| format!("V = 1\nif __name__ != 'keep': open('{mark}', 'w')\n");
    dir.write("mod.py", text("aaa"));
    dir.write(
        "json.py",
        "raise SystemExit('the work tree is not on the path')\n",
    );
    dir.python(python, "import py_compile; py_compile.compile('mod.py')");
    dir.pycgate(&["check", "--prove", "--python"])
        .arg(&python.path)
        .run();
    assert!(!dir.exists("aaa"));
}

#[test]
fn an_entry_that_sources_share_is_not_acquitted() {
    let dir = Dir::new();
    let second = FileTime::from_unix_time(1_700_000_000, 0);
    for (name, text) in [("conf.py", "V = 1\n"), ("conf.cgi", "V = 2\n")] {
        dir.write(name, text);
        filetime::set_file_mtime(dir.path(name), second).expect("the mtime");
    }
    let code = "import py_compile; py_compile.compile('conf.cgi')";
    dir.python(interpreter::main(), code);
    dir.commit("one");
    let done = dir.pycgate(&["check", "--prove", "--python"]);
    let done = done.arg(&interpreter::main().path).expect(1);
    assert!(
        done.stdout.contains("several sources share"),
        "{}",
        done.stdout
    );
}
