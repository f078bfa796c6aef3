//! Entries that once survived a gate, one test each: the import is stale before it and right after it.

use std::fs;
use std::path::Path;

use filetime::{FileTime, set_file_mtime};

use crate::harness::race::{self, Margin};
use crate::harness::{Dir, Interpreter, announce, interpreter};

const OLD: &str = "V = 'old'\n";
const NEW: &str = "V = 'new'\n";
/// A second that no file here has by chance.
const THEN: i64 = 1_700_000_000;

/// Writes a source with a time that can be given again.
fn write(dir: &Dir, source: &str, content: &str) {
    dir.write(source, content);
    stamp(&dir.path(source));
}

fn stamp(path: &Path) {
    set_file_mtime(path, FileTime::from_unix_time(THEN, 0)).expect("the mtime");
}

/// Interpreters of Python 3.
fn pythons_3() -> impl Iterator<Item = &'static Interpreter> {
    interpreter::all().iter().filter(|python| python.is_3())
}

/// A pre-release has the release's tag and another magic number.
#[test]
fn of_a_pre_release() {
    for python in pythons_3().filter(|python| !python.pypy) {
        let dir = Dir::new();
        let import = || {
            dir.python(
                python,
                "import importlib._bootstrap_external as b\n\
                 number = int.from_bytes(b.MAGIC_NUMBER[:2], 'little') - 1\n\
                 b.MAGIC_NUMBER = number.to_bytes(2, 'little') + b'\\r\\n'\n\
                 import mod; print(mod.V)",
            )
        };
        write(&dir, "mod.py", OLD);
        assert_eq!(import(), "old");
        write(&dir, "mod.py", NEW);
        dir.commit("as on disk");
        assert_eq!(import(), "old", "{}: no incident", python.tag);
        dir.pycgate(&["gate"]).expect(0);
        assert_eq!(import(), "new", "{}", python.tag);
    }
}

/// The setting is about git's index: it says nothing of what ran.
#[test]
fn where_git_trusts_no_ctime() {
    let python = interpreter::main();
    for (key, value) in [("core.trustctime", "false"), ("core.checkStat", "minimal")] {
        let dir = Dir::new();
        dir.git(&["config", key, value]);
        write(&dir, "mod.py", OLD);
        write(&dir, "new.txt", NEW);
        dir.commit("one");
        let rewrite = "import mod; cat = open('new.txt').read(); open('mod.py', 'w').write(cat); \
                       import os; os.utime('mod.py', (1700000000, 1700000000))";
        let gate = dir.pycgate(&["gate", "--"]).arg(&python.path);
        let done = gate.args(["-c", rewrite]).expect(125);
        assert!(done.stderr.contains("mod.py"), "{}", done.stderr);
        assert_eq!(dir.read("mod.py"), NEW.as_bytes());
        assert_eq!(
            dir.git(&["status", "--porcelain"]),
            "",
            "git sees no change"
        );
    }
}

/// Our own advice for an unreadable index is to remove it.
#[test]
fn tracked_bytecode_without_an_index() {
    let python = interpreter::main();
    for format in ["files", "reftable"] {
        let dir = Dir::new();
        fs::remove_dir_all(dir.path(".git")).expect("it is there");
        let reference = format!("--ref-format={format}");
        if dir
            .command("git")
            .args(["init", "-q", &reference])
            .run()
            .status
            != 0
        {
            announce("this git knows no reftable: not tested");
            continue;
        }
        write(&dir, "mod.py", OLD);
        dir.import_value(python, "mod");
        let entry = dir.entry(python, "mod.py");
        dir.git(&["add", "-f", "."]);
        dir.git(&["commit", "-q", "-m", "bytecode and all"]);
        write(&dir, "mod.py", NEW);
        dir.write("other.py", OLD);
        dir.import_value(python, "other");
        fs::remove_file(dir.path(".git/index")).expect("the index");
        let done = dir.pycgate(&["gate"]).expect(125);
        assert!(done.stderr.contains("git tracks it"), "{}", done.stderr);
        assert!(dir.exists(&entry), "{format}");
        assert!(
            !dir.exists(dir.entry(python, "other.py")),
            "{format}: nobody tracks it"
        );
        // Before the first commit nothing is tracked.
        fs::remove_dir_all(dir.path(".git")).expect("it is there");
        dir.git(&["init", "-q", &reference]);
        dir.pycgate(&["gate"]).expect(0);
        assert!(!dir.exists(&entry), "{format}");
    }
}

/// Touching an entry moves its times, but for that of its birth.
#[test]
fn touched_after_the_race() {
    let dir = Dir::new();
    if fs::metadata(dir.root()).is_ok_and(|stat| stat.created().is_err()) {
        return announce("this file system keeps no time of birth: not tested");
    }
    let source = |python: &Interpreter| format!("m_{}.py", python.tag.replace('-', "_"));
    let import =
        |python: &Interpreter| dir.import_value(python, source(python).trim_end_matches(".py"));
    for python in interpreter::all() {
        write(&dir, &source(python), OLD);
        assert_eq!(import(python), "old");
        write(&dir, &source(python), NEW);
    }
    dir.commit("as on disk");
    race::wait_out(Margin::Plain, &[dir.path(source(interpreter::main()))]);
    for python in interpreter::all() {
        let entry = dir.path(dir.entry(python, &source(python)));
        set_file_mtime(&entry, FileTime::now()).expect("the mtime");
        assert_eq!(import(python), "old", "{}: no incident", python.tag);
    }
    dir.pycgate(&["gate"]).expect(0);
    for python in interpreter::all() {
        assert_eq!(import(python), "new", "{}", python.tag);
    }
}
