//! Entries that once survived a gate, one test each: the import is stale before it and right after it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use filetime::{FileTime, set_file_mtime};

use crate::harness::race::{self, INNOCENTS, Margin};
use crate::harness::{Dir, Interpreter, PYCGATE, announce, interpreter};

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

/// Interpreters that know bytecode prefixes.
fn with_prefixes() -> impl Iterator<Item = &'static Interpreter> {
    pythons_3().filter(|python| python.version >= (3, 8))
}

/// What an interpreter imports from a directory of the work tree, with its bytecode in a prefix.
fn import_with(
    dir: &Dir,
    python: &Interpreter,
    prefix: &Path,
    place: &Path,
    module: &str,
) -> String {
    let import =
        format!("import sys; sys.path.insert(0, {place:?}); import {module}; print({module}.V)");
    let command = dir.command(&python.path).args(["-c", &import]);
    command.env("PYTHONPYCACHEPREFIX", prefix).ok()
}

/// Puts another directory in the place of one: neither any source nor its directory entry is written.
fn swap(dir: &Dir, name: &str) {
    fs::rename(dir.path(name), dir.path(format!("{name}.old"))).expect("the move");
    fs::rename(dir.path(format!("{name}.new")), dir.path(name)).expect("the move");
}

#[test]
fn behind_a_symlink_into_a_directory_that_was_swapped() {
    let dir = Dir::new();
    for (place, content) in [("gen", OLD), ("gen.new", NEW), ("other", OLD)] {
        write(&dir, &format!("{place}/impl.py"), content);
    }
    for (link, target) in [("alias.py", "gen/impl.py"), ("warm.py", "other/impl.py")] {
        symlink(target, dir.path(link)).expect("the link");
    }
    dir.commit("one");
    race::wait_out(
        Margin::Plain,
        &[dir.path("gen.new/impl.py"), dir.path("warm.py")],
    );
    for python in interpreter::all() {
        assert_eq!(dir.import_value(python, "alias"), "old");
        assert_eq!(dir.import_value(python, "warm"), "old");
    }
    // What comes into the directory of a link's target does not matter, nor what comes into the root.
    dir.write("other/new.txt", "");
    swap(&dir, "gen");
    dir.commit("as on disk");
    for python in interpreter::all() {
        assert_eq!(dir.import_value(python, "alias"), "old", "no incident");
    }
    dir.pycgate(&["gate"]).expect(0);
    for python in interpreter::all() {
        assert_eq!(dir.import_value(python, "alias"), "new", "{}", python.tag);
    }
}

#[test]
fn under_a_prefix_in_a_directory_that_was_swapped() {
    let dir = Dir::new();
    for (place, content) in [
        ("lib", OLD),
        ("lib.new", NEW),
        ("deep/lib", OLD),
        ("deep.new/lib", NEW),
    ] {
        write(&dir, &format!("{place}/mod.py"), content);
    }
    write(&dir, "calm/warm/warm.py", OLD);
    let prefix = dir.beside("prefix");
    fs::create_dir(&prefix).expect("a directory");
    dir.commit("one");
    race::wait_out(Margin::Plain, &[dir.path("calm/warm/warm.py")]);
    let import = |python: &Interpreter, place: &str, module: &str| {
        import_with(&dir, python, &prefix, &dir.path(place), module)
    };
    for python in with_prefixes() {
        for (place, module) in [("lib", "mod"), ("deep/lib", "mod"), ("calm/warm", "warm")] {
            assert_eq!(import(python, place, module), "old");
        }
    }
    let entries = || {
        let inside = prefix.join(dir.path("calm/warm").strip_prefix("/").expect("absolute"));
        fs::read_dir(inside).expect("the entries").count()
    };
    let warm = entries();
    // A file that is new in the directory of a source is no rename.
    dir.write("calm/warm/new.txt", "");
    swap(&dir, "lib");
    swap(&dir, "deep");
    dir.commit("as on disk");
    for python in with_prefixes() {
        for place in ["lib", "deep/lib"] {
            assert_eq!(import(python, place, "mod"), "old", "no incident");
        }
    }
    dir.pycgate(&["gate"])
        .env("PYTHONPYCACHEPREFIX", &prefix)
        .expect(0);
    for python in with_prefixes() {
        for place in ["lib", "deep/lib"] {
            assert_eq!(
                import(python, place, "mod"),
                "new",
                "{} {place}",
                python.tag
            );
        }
    }
    assert_eq!(entries(), warm);
}

/// A symlink is followed to look, never to remove.
#[test]
fn behind_a_directory_symlink_inside_a_prefix() {
    let python = interpreter::main();
    let dir = Dir::new();
    write(&dir, "mod.py", OLD);
    let (prefix, elsewhere) = (dir.beside("prefix"), dir.beside("elsewhere"));
    let place = prefix.join(dir.root().strip_prefix("/").expect("absolute"));
    fs::create_dir_all(place.parent().expect("not the root")).expect("directories");
    fs::create_dir(&elsewhere).expect("a directory");
    symlink(&elsewhere, &place).expect("the link");
    symlink(&prefix, elsewhere.join("around")).expect("a loop");
    assert_eq!(import_with(&dir, python, &prefix, dir.root(), "mod"), "old");
    write(&dir, "mod.py", NEW);
    dir.commit("as on disk");
    assert_eq!(
        import_with(&dir, python, &prefix, dir.root(), "mod"),
        "old",
        "no incident"
    );
    let done = dir
        .pycgate(&["gate"])
        .env("PYTHONPYCACHEPREFIX", &prefix)
        .expect(125);
    assert!(
        done.stderr
            .contains("behind a symlink in a bytecode prefix"),
        "{}",
        done.stderr
    );
    let hook = dir
        .pycgate(&["purge", "mod.py"])
        .env("PYTHONPYCACHEPREFIX", &prefix)
        .expect(1);
    assert!(
        hook.stdout.contains("racy") || hook.stderr.contains("racy"),
        "{hook:?}"
    );
    assert!(
        fs::read_dir(&elsewhere).expect("it").count() == 2,
        "nothing is removed"
    );
}

/// The whole machine is its own bytecode prefix: only the work tree of it is ours.
#[test]
fn under_the_prefix_that_is_the_root() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.innocents();
    let import = || import_with(&dir, python, Path::new("/"), &dir.path("pkg"), "mod");
    write(&dir, "pkg/mod.py", OLD);
    assert_eq!(import(), "old");
    write(&dir, "pkg/mod.py", NEW);
    dir.commit("as on disk");
    assert_eq!(import(), "old", "no incident");
    let log = dir.beside("trace");
    let strace = dir
        .command("strace")
        .args(["-f", "-e", "trace=openat,openat2", "-o"]);
    let strace = strace.arg(&log).args([PYCGATE, "gate"]);
    strace.env("PYTHONPYCACHEPREFIX", "/").expect(0);
    assert_eq!(import(), "new");
    assert_eq!(dir.innocent_left().len(), INNOCENTS);
    let trace = fs::read_to_string(&log).expect("the trace");
    for outside in ["\"usr\"", "\"proc\"", "\"etc\"", "\"var\""] {
        assert!(!trace.contains(outside), "{outside}");
    }
    assert!(trace.contains("pkg"), "{trace}");
}

/// Compiles a source beside it, as Python 2 does by itself, and makes it an entry of the main
/// interpreter.
fn compile_beside(dir: &Dir, source: &str) {
    let code =
        format!("import compileall; compileall.compile_file({source:?}, quiet=1, legacy=True)");
    dir.python(interpreter::main(), &code);
}

#[test]
fn beside_a_symlink_that_leads_nowhere() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write("gen/impl.py", OLD);
    symlink("gen/impl.py", dir.path("mod.py")).expect("the link");
    dir.write("meant.py", OLD);
    compile_beside(&dir, "mod.py");
    compile_beside(&dir, "meant.py");
    fs::remove_file(dir.path("gen/impl.py")).expect("it");
    fs::remove_file(dir.path("meant.py")).expect("it");
    dir.git(&["add", "mod.py"]);
    dir.git(&["commit", "-q", "-m", "as on disk"]);
    assert_eq!(dir.import_value(python, "mod"), "old", "no incident");
    dir.pycgate(&["gate"]).expect(0);
    assert!(!dir.exists("mod.pyc"));
    assert!(dir.exists("meant.pyc"), "a sourceless module may be meant");
}

#[test]
fn of_a_package_that_became_a_module() {
    let python = interpreter::main();
    let dir = Dir::new();
    for package in ["pkg", "meant"] {
        dir.write(format!("{package}/__init__.py"), OLD);
        compile_beside(&dir, &format!("{package}/__init__.py"));
        fs::remove_file(dir.path(package).join("__init__.py")).expect("it");
    }
    dir.write("pkg.py", NEW);
    dir.commit("as on disk");
    assert_eq!(dir.import_value(python, "pkg"), "old", "no incident");
    let done = dir.pycgate(&["gate", "-v"]).expect(0);
    assert!(
        done.stdout.contains("imported in the place of ../pkg.py"),
        "{}",
        done.stdout
    );
    assert_eq!(dir.import_value(python, "pkg"), "new");
    assert!(dir.exists("meant/__init__.pyc"), "nobody is in its way");
}

/// No interpreter imports from `__pycache__` without a source, but alembic and others look there.
#[test]
fn without_a_source_in_pycache() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.innocents();
    for name in ["gone", "tracked", "there"] {
        dir.write(format!("versions/{name}.py"), OLD);
    }
    dir.write("versions/tool", OLD);
    let compile = "import compileall; compileall.compile_dir('versions', quiet=1)\n\
                   import importlib.machinery as m; m.SourceFileLoader('tool', 'versions/tool').load_module()";
    race::wait_out(Margin::Plain, &[dir.path("versions/tool")]);
    dir.python(python, compile);
    let entry = |name: &str| dir.entry(python, &format!("versions/{name}.py"));
    // Machine code of a script that is no module.
    let script = "versions/__pycache__/tool.f-2.py311.nbi";
    dir.write(script, "machine code");
    dir.git(&["add", "-f", entry("tracked").to_str().expect("UTF-8")]);
    for name in ["gone", "tracked"] {
        fs::remove_file(dir.path(format!("versions/{name}.py"))).expect("it");
    }
    dir.commit("as on disk");
    let check = dir.pycgate(&["check"]).run();
    let named = format!("{}: its source is gone", entry("gone").display());
    assert!(check.stdout.contains(&named), "{}", check.stdout);
    dir.pycgate(&["hook", "post-index-change", "1", "0"])
        .expect(0);
    assert!(
        dir.exists(entry("gone")),
        "a hook derives nothing from what is untracked"
    );
    dir.pycgate(&["gate"]).expect(0);
    assert!(!dir.exists(entry("gone")));
    assert!(dir.exists(entry("tracked")));
    assert!(
        dir.exists(script),
        "{:?}",
        dir.names("versions/__pycache__")
    );
    assert_eq!(dir.innocent_left().len(), INNOCENTS);
}

/// What can be imported without a source is kept, and named.
#[test]
fn without_a_source_beside_where_it_would_be() {
    let dir = Dir::new();
    for name in ["meant.py", "pkg/__init__.py", "not.a.module.py"] {
        dir.write(name, OLD);
        compile_beside(&dir, name);
        fs::remove_file(dir.path(name)).expect("it");
    }
    dir.write("other.py", OLD);
    dir.commit("one");
    let check = dir.pycgate(&["check"]).expect(0);
    let gate = dir.pycgate(&["gate", "-v"]).expect(0);
    for entry in ["meant.pyc", "pkg/__init__.pyc"] {
        let said = format!("{entry}: importable without a source");
        assert!(check.stdout.contains(&said), "{}", check.stdout);
        let line = gate.stdout.lines().find(|line| line.contains(entry));
        assert!(
            line.is_some_and(|line| line.contains("kept")),
            "{}",
            gate.stdout
        );
        let explain = dir.pycgate(&["explain", entry]).ok();
        assert!(explain.contains("importable without a source"), "{explain}");
        assert!(dir.exists(entry));
    }
    assert!(!check.stdout.contains("not.a.module"), "{}", check.stdout);
}
