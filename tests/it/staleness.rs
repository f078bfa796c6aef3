//! Every interpreter found times every way for an entry to become stale: the import is stale
//! before `gate` and right after it. The sources are committed as they are on disk, so none is in
//! the payload and each entry goes because of what it is, or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use filetime::{FileTime, set_file_mtime};

use crate::harness::race::{self, INNOCENTS, Margin};
use crate::harness::venv::Venv;
use crate::harness::{Dir, Interpreter, announce, interpreter, pyc};

const OLD: &str = "V = 'old'\n";
const NEW: &str = "V = 'new'\n";
/// A second that no file here has by chance.
const THEN: i64 = 1_700_000_000;

/// How Python is started to import a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Plain,
    O,
    Oo,
    Prefix,
}

const MODES: [Mode; 4] = [Mode::Plain, Mode::O, Mode::Oo, Mode::Prefix];

/// One module, and how it becomes stale.
struct Scenario {
    /// What is imported: a module's name, or the path of a source that has no importable name.
    module: &'static str,
    mode: Mode,
    /// Whether it can happen with this interpreter.
    applies: fn(&Interpreter) -> bool,
    /// Whether the interpreter must be stale before the gate. Where not, it rejects the entry by
    /// itself, and the test is that nothing gets worse.
    stale: fn(&Interpreter) -> bool,
    /// Makes the source with its old content; by default a plain file.
    before: fn(&Tree),
    /// Brings the new content.
    act: fn(&Tree),
}

/// A scratch repository and the interpreter under test.
struct Tree<'a> {
    dir: &'a Dir,
    python: &'a Interpreter,
}

const DEFAULT: Scenario = Scenario {
    module: "",
    mode: Mode::Plain,
    applies: |_| true,
    stale: |_| true,
    before: |_| {},
    act: |_| {},
};

fn python_3(python: &Interpreter) -> bool {
    python.is_3()
}

/// Knows PEP 552.
fn hashes(python: &Interpreter) -> bool {
    python.version >= (3, 7)
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        module: "restored",
        act: |tree| tree.rewrite("restored.py"),
        ..DEFAULT
    },
    Scenario {
        module: "optimized",
        mode: Mode::O,
        act: |tree| tree.rewrite("optimized.py"),
        ..DEFAULT
    },
    Scenario {
        module: "stripped",
        mode: Mode::Oo,
        act: |tree| tree.rewrite("stripped.py"),
        ..DEFAULT
    },
    Scenario {
        module: "prefixed",
        mode: Mode::Prefix,
        applies: |python| python.version >= (3, 8),
        act: |tree| tree.rewrite("prefixed.py"),
        ..DEFAULT
    },
    Scenario {
        module: "unchecked",
        applies: hashes,
        before: |tree| tree.compile_by_hash("unchecked.py", "UNCHECKED_HASH"),
        act: |tree| tree.dir.write("unchecked.py", "# longer\nV = 'new'\n"),
        ..DEFAULT
    },
    Scenario {
        module: "checked",
        applies: hashes,
        stale: |_| false,
        before: |tree| tree.compile_by_hash("checked.py", "CHECKED_HASH"),
        act: |tree| tree.rewrite("checked.py"),
        ..DEFAULT
    },
    Scenario {
        module: "moved",
        act: |tree| {
            let other = tree.other("moved.py");
            fs::rename(other, tree.dir.path("moved.py")).expect("the move");
        },
        ..DEFAULT
    },
    Scenario {
        module: "copied",
        act: |tree| {
            let other = tree.other("copied.py");
            let copy = tree.dir.command("cp").arg("-p").arg(other);
            copy.arg(tree.dir.path("copied.py")).ok();
        },
        ..DEFAULT
    },
    Scenario {
        module: "unpacked",
        act: |tree| {
            tree.other("unpacked.py");
            let archive = tree.dir.beside("archive.tar");
            let tar = |flags, place: &Path| {
                let tar = tree.dir.command("tar").arg(flags).arg(&archive);
                tar.arg("-C").arg(place).arg("unpacked.py").ok();
            };
            tar("-cf", &tree.dir.beside("other"));
            tar("-xpf", tree.dir.root());
        },
        ..DEFAULT
    },
    Scenario {
        module: "compiling",
        applies: python_3,
        before: |tree| tree.change_while_compiling("compiling.py"),
        ..DEFAULT
    },
    // `int(float)` rounds this source's time up to the second of the entry; Python 2.7 compares
    // the true second.
    Scenario {
        module: "rounded",
        stale: python_3,
        act: |tree| {
            tree.dir.write("rounded.py", NEW);
            let mtime = FileTime::from_unix_time(THEN - 1, 999_999_950);
            set_file_mtime(tree.dir.path("rounded.py"), mtime).expect("the mtime");
        },
        ..DEFAULT
    },
    // Masked to 32 bits, only not by 3.3 to 3.6.
    Scenario {
        module: "distant",
        applies: |_| far_times_are_kept(),
        stale: |python| hashes(python) || !python.is_3(),
        act: |tree| {
            tree.dir.write("distant.py", NEW);
            let mtime = FileTime::from_unix_time(THEN + (1 << 32), 0);
            set_file_mtime(tree.dir.path("distant.py"), mtime).expect("the mtime");
        },
        ..DEFAULT
    },
    Scenario {
        module: "with space",
        act: |tree| tree.rewrite("with space.py"),
        ..DEFAULT
    },
    Scenario {
        module: "quo'te\"s",
        act: |tree| tree.rewrite("quo'te\"s.py"),
        ..DEFAULT
    },
    Scenario {
        module: "-dash",
        act: |tree| tree.rewrite("-dash.py"),
        ..DEFAULT
    },
    Scenario {
        module: "a.b.py",
        applies: python_3,
        act: |tree| tree.rewrite("a.b.py"),
        ..DEFAULT
    },
    Scenario {
        module: "x.cpython-311.py",
        applies: python_3,
        act: |tree| tree.rewrite("x.cpython-311.py"),
        ..DEFAULT
    },
    Scenario {
        module: "script.pyw",
        applies: python_3,
        act: |tree| tree.rewrite("script.pyw"),
        ..DEFAULT
    },
    Scenario {
        module: "bin/cli",
        applies: python_3,
        act: |tree| tree.rewrite("bin/cli"),
        ..DEFAULT
    },
    Scenario {
        module: "pkg.inner.mod",
        before: |tree| {
            tree.dir.write("pkg/__init__.py", "");
            tree.dir.write("pkg/inner/__init__.py", "");
        },
        act: |tree| tree.rewrite("pkg/inner/mod.py"),
        ..DEFAULT
    },
    Scenario {
        module: "package",
        before: |tree| tree.old("package/__init__.py"),
        act: |tree| tree.rewrite("package/__init__.py"),
        ..DEFAULT
    },
    Scenario {
        module: "alias",
        before: |tree| {
            tree.old("real/impl.py");
            symlink("real/impl.py", tree.dir.path("alias.py")).expect("the link");
        },
        act: |tree| tree.rewrite("real/impl.py"),
        ..DEFAULT
    },
    Scenario {
        module: "retargeted",
        before: |tree| {
            tree.old("real/first.py");
            tree.old("real/second.py");
            tree.rewrite("real/second.py");
            symlink("real/first.py", tree.dir.path("retargeted.py")).expect("the link");
        },
        act: |tree| {
            fs::remove_file(tree.dir.path("retargeted.py")).expect("the link");
            symlink("real/second.py", tree.dir.path("retargeted.py")).expect("the link");
        },
        ..DEFAULT
    },
    Scenario {
        module: "linkedpkg.mod",
        before: |tree| {
            tree.dir.write("real/pkg/__init__.py", "");
            tree.old("real/pkg/mod.py");
            symlink("real/pkg", tree.dir.path("linkedpkg")).expect("the link");
        },
        act: |tree| tree.rewrite("real/pkg/mod.py"),
        ..DEFAULT
    },
    Scenario {
        module: "hardlinked",
        act: |tree| {
            let other = tree.other("hardlinked.py");
            let source = tree.dir.path("hardlinked.py");
            fs::remove_file(&source).expect("the source");
            fs::hard_link(other, source).expect("the link");
        },
        ..DEFAULT
    },
    // The entries come back with their times after the source has changed.
    Scenario {
        module: "restored_entry",
        act: |tree| {
            let entry = tree.dir.entry(tree.python, "restored_entry.py");
            let aside = tree.dir.beside("entry");
            let copy = |from: &Path, to: &Path| {
                tree.dir.command("cp").arg("-p").args([from, to]).ok();
            };
            copy(&entry, &aside);
            fs::remove_file(tree.dir.path(&entry)).expect("the entry");
            tree.rewrite("restored_entry.py");
            copy(&aside, &entry);
        },
        ..DEFAULT
    },
];

impl Tree<'_> {
    /// Writes the old content with a time that can be given again.
    fn old(&self, source: &str) {
        self.dir.write(source, OLD);
        self.stamp(&self.dir.path(source));
    }

    /// Writes the new content and gives the time back.
    fn rewrite(&self, source: &str) {
        self.dir.write(source, NEW);
        self.stamp(&self.dir.path(source));
    }

    fn stamp(&self, path: &Path) {
        set_file_mtime(path, FileTime::from_unix_time(THEN, 0)).expect("the mtime");
    }

    /// The new content outside of the work tree, with the size and time of the old one.
    fn other(&self, name: &str) -> PathBuf {
        let path = self.dir.beside("other").join(name);
        fs::create_dir_all(self.dir.beside("other")).expect("a directory");
        fs::write(&path, NEW).expect("a file");
        self.stamp(&path);
        path
    }

    fn compile_by_hash(&self, source: &str, mode: &str) {
        let code = format!(
            "import py_compile as p; \
             p.compile({source:?}, invalidation_mode=p.PycInvalidationMode.{mode})"
        );
        self.dir.python(self.python, &code);
    }

    /// Imports while the source gets its new content between being read and being compiled.
    fn change_while_compiling(&self, source: &str) {
        let code = format!(
            "
import importlib.machinery, os
loader = importlib.machinery.SourceFileLoader
compile_it = loader.source_to_code
def changed_meanwhile(self, data, path, **rest):
    if path.endswith({source:?}):
        with open(path, 'w') as file:
            file.write({NEW:?})
        os.utime(path, ({THEN}, {THEN}))
    return compile_it(self, data, path, **rest)
loader.source_to_code = changed_meanwhile
import compiling
print(compiling.V)"
        );
        let path = self.dir.path(source);
        let entry = self.python.entry(&path);
        for _ in 0..5 {
            self.dir.write(source, OLD);
            set_file_mtime(&path, FileTime::from_unix_time(THEN, 0)).expect("the mtime");
            let _ = fs::remove_file(&entry);
            assert_eq!(self.dir.python(self.python, &code), "old");
            if race::within_margin(Margin::Plain, &entry, &path) {
                return;
            }
        }
        panic!(
            "{}: {source} was never compiled within the margin",
            self.python.tag
        );
    }

    /// What each module's `V` is, imported in few processes: one for each mode.
    fn import(&self, scenarios: &[&Scenario]) -> BTreeMap<&'static str, String> {
        let mut values = BTreeMap::new();
        for mode in MODES {
            let wanted: Vec<_> = scenarios.iter().filter(|one| one.mode == mode).collect();
            if wanted.is_empty() {
                continue;
            }
            let command = self.dir.command(&self.python.path);
            let command = match mode {
                Mode::Plain => command,
                Mode::O => command.arg("-O"),
                Mode::Oo => command.arg("-OO"),
                Mode::Prefix => self.with_prefix(command),
            };
            let said = command
                .args(["-c", IMPORT])
                .args(wanted.iter().map(|one| one.module))
                .ok();
            let lines: Vec<_> = said.lines().collect();
            assert_eq!(lines.len(), wanted.len(), "{}: {said}", self.python.tag);
            for (scenario, line) in wanted.iter().zip(lines) {
                values.insert(scenario.module, line.to_owned());
            }
        }
        values
    }

    fn with_prefix(&self, command: crate::harness::TestCommand) -> crate::harness::TestCommand {
        command.env("PYTHONPYCACHEPREFIX", self.dir.beside("prefix"))
    }
}

/// Imports each argument, by name or by path, and prints its `V`; any Python.
const IMPORT: &str = "
import sys
def load(name):
    if not name.endswith(('.py', '.pyw')) and '/' not in name:
        return __import__(name, fromlist=['V'])
    import importlib.machinery, types
    module = types.ModuleType('loaded')
    exec(importlib.machinery.SourceFileLoader('loaded', name).get_code('loaded'), module.__dict__)
    return module
for name in sys.argv[1:]:
    try:
        print(load(name).V)
    except Exception as error:
        print('error: %r' % (error,))
";

/// Whether the file system of the scratch directories can keep times past 2^32.
fn far_times_are_kept() -> bool {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let far = FileTime::from_unix_time(THEN + (1 << 32), 0);
    let kept = set_file_mtime(file.path(), far).is_ok()
        && fs::metadata(file.path())
            .is_ok_and(|it| FileTime::from_last_modification_time(&it) == far);
    if !kept {
        announce("this file system keeps no times past 2^32: that scenario is left out");
    }
    kept
}

fn plain_source(scenario: &Scenario) -> String {
    let module = scenario.module;
    if module.ends_with(".py") || module.ends_with(".pyw") || module.contains('/') {
        module.to_owned()
    } else {
        format!("{}.py", module.replace('.', "/"))
    }
}

/// All scenarios of one interpreter in one tree.
fn table(python: &Interpreter) -> usize {
    let dir = Dir::new();
    dir.innocents();
    let tree = Tree { dir: &dir, python };
    let scenarios: Vec<&Scenario> = SCENARIOS
        .iter()
        .filter(|one| (one.applies)(python))
        .collect();
    for scenario in &scenarios {
        let source = plain_source(scenario);
        let linked = ["alias", "retargeted", "linkedpkg.mod", "package"];
        if !linked.contains(&scenario.module) {
            tree.old(&source);
        }
        (scenario.before)(&tree);
    }
    let tag = &python.tag;
    for (module, value) in tree.import(&scenarios) {
        assert_eq!(value, "old", "{tag}: {module} at first");
    }
    for scenario in &scenarios {
        (scenario.act)(&tree);
    }
    dir.git(&["add", "-A"]);
    dir.git(&["commit", "-q", "-m", "as on disk"]);
    let before = tree.import(&scenarios);
    for scenario in &scenarios {
        let must = if (scenario.stale)(python) {
            "old"
        } else {
            "new"
        };
        let module = scenario.module;
        assert_eq!(before[module], must, "{tag}: {module} before the gate");
    }
    tree.with_prefix(dir.pycgate(&["gate"])).expect(0);
    for (module, value) in tree.import(&scenarios) {
        assert_eq!(value, "new", "{tag}: {module} after the gate");
    }
    assert_eq!(dir.innocent_left().len(), INNOCENTS, "{tag}");
    scenarios.len()
}

/// Runs a job for each item on a few threads, and fails with all the failures.
fn for_each<T: Sync>(items: &[T], job: impl Fn(&T) + Sync) {
    let next = Mutex::new(items.iter());
    let take = || {
        next.lock()
            .unwrap_or_else(|poison| poison.into_inner())
            .next()
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(item) = take() {
                    job(item);
                }
            });
        }
    });
}

#[test]
fn every_interpreter_in_every_scenario() {
    for_each(interpreter::all(), |python| {
        let scenarios = table(python);
        announce(&format!("{}: {scenarios} scenarios", python.tag));
    });
}

/// The race itself, without any time being set: rewritten within the second of the import.
#[test]
fn every_interpreter_within_one_second() {
    for python in interpreter::all() {
        let dir = Dir::new();
        dir.write("other.py", "");
        dir.commit("one");
        race::in_one_second(|| {
            let _ = fs::remove_file(dir.path(dir.entry(python, "mod.py")));
            dir.write("mod.py", OLD);
            assert_eq!(dir.import_value(python, "mod"), "old");
            dir.write("mod.py", NEW);
            let entry = dir.path(dir.entry(python, "mod.py"));
            pyc::matches(&entry, &dir.path("mod.py"), python).then_some(())
        });
        dir.commit("two");
        assert_eq!(dir.import_value(python, "mod"), "old", "{}", python.tag);
        dir.pycgate(&["gate"]).expect(0);
        assert_eq!(dir.import_value(python, "mod"), "new", "{}", python.tag);
    }
}

/// Versions of pytest, what has them pinned, and on which CPythons they run, the best first.
const PYTESTS: [(&str, &[u32]); 6] = [
    ("5.4", &[8, 9]),
    ("6.2", &[9, 10]),
    ("7.4", &[11, 10, 12, 13, 14]),
    ("8.4", &[12, 11, 10, 13, 14]),
    ("9.1", &[13, 12, 11, 10, 14]),
    ("9.2", &[13, 12, 11, 10, 14]),
];

/// Every pytest that this machine has an interpreter for, and one on PyPy.
pub fn pytests() -> Vec<(&'static str, Venv)> {
    let mut found = Vec::new();
    let file = |version| format!("requirements-pytest-{version}.txt");
    for (version, minors) in PYTESTS {
        let python = minors
            .iter()
            .find_map(|&minor| interpreter::cpython(3, minor));
        match python {
            Some(python) => found.push((version, Venv::on(python, &file(version)))),
            None => announce(&format!("no interpreter here for pytest {version}")),
        }
    }
    let pypy = interpreter::all()
        .iter()
        .find(|one| one.pypy && one.version == (3, 9));
    found.extend(pypy.map(|pypy| ("6.2", Venv::on(pypy, &file("6.2")))));
    assert!(!found.is_empty(), "no interpreter here for any pytest");
    found
}

/// A plugin that changes test_racy.py after pytest has read it and before it has rewritten it.
const CHANGER: &str = "
import os
import _pytest.assertion.rewrite as rewrite
original = rewrite.rewrite_asserts
def changed_meanwhile(tree, *rest):
    for name in ('test_racy.py',):
        text = open(name).read()
        if 'old' in text and any(name in str(one) for one in rest):
            before = os.stat(name)
            with open(name, 'w') as file:
                file.write(text.replace('old', 'new'))
            os.utime(name, (before.st_atime, int(before.st_mtime)))
    return original(tree, *rest)
rewrite.rewrite_asserts = changed_meanwhile
";

/// A test module that says what it is, and takes pytest a while to rewrite.
fn test_module(value: &str, functions: usize) -> String {
    let mut text = format!("def test_value():\n    print('V={value};')\n");
    for number in 0..functions {
        text.push_str(&format!(
            "def helper_{number}(a, b):\n    assert a == b and len(a) > {number}, 'text'\n"
        ));
    }
    text
}

/// pytest, then the value that a test module had.
fn pytest_values(dir: &Dir, venv: &Venv, traced: bool, extra: &[&str]) -> BTreeMap<String, String> {
    let python = dir
        .command(&venv.python.path)
        .env("PYTHONPATH", dir.beside("plugin"));
    let data = dir.beside("coverage");
    let data = data.to_str().expect("UTF-8");
    // coverage's tracer in Python, as everywhere without its extension module.
    let python = if traced {
        python.args(["-m", "coverage", "run", "--timid", "--data-file", data])
    } else {
        python
    };
    let said = python
        .args([
            "-m",
            "pytest",
            "-q",
            "-s",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
        ])
        .args(extra)
        .args(["test_plain.py", "test_racy.py"])
        .run();
    assert_eq!(said.status, 0, "{said:?}");
    ["plain", "racy"]
        .into_iter()
        .zip(said.stdout.split("V=").skip(1))
        .map(|(name, rest)| {
            (
                name.to_owned(),
                rest.split(';').next().unwrap_or("").to_owned(),
            )
        })
        .collect()
}

/// A test module that pytest has rewritten, and one that has changed while pytest rewrote it.
fn pytest_tree(venv: &Venv, traced: bool, functions: usize, what: &str) -> Dir {
    for _ in 0..5 {
        let dir = Dir::new();
        fs::create_dir(dir.beside("plugin")).expect("a directory");
        fs::write(dir.beside("plugin/changer.py"), CHANGER).expect("the plugin");
        let then = FileTime::from_unix_time(THEN, 0);
        dir.write("test_plain.py", test_module("old", 0));
        dir.write("test_racy.py", test_module("old", functions));
        for name in ["test_plain.py", "test_racy.py"] {
            set_file_mtime(dir.path(name), then).expect("the mtime");
        }
        let first = pytest_values(&dir, venv, traced, &["-p", "changer"]);
        assert_eq!(
            (&*first["plain"], &*first["racy"]),
            ("old", "old"),
            "{what}"
        );
        let names = dir.names("__pycache__").into_iter();
        let mut entries =
            names.filter(|name| name.starts_with("test_racy.") && name.contains("-pytest-"));
        let entry = entries.next().expect("pytest's entry");
        let entry = dir.path("__pycache__").join(entry);
        if race::within_margin(Margin::Tool, &entry, &dir.path("test_racy.py")) {
            return dir;
        }
    }
    panic!("{what}: pytest never rewrote its module within the margin");
}

/// A test module rewritten with its time restored, and one that changes while pytest rewrites it.
fn pytest_table(version: &str, venv: &Venv, traced: bool) {
    let then = FileTime::from_unix_time(THEN, 0);
    let functions = if traced { 80 } else { 2 };
    let what = format!("pytest {version} on {}, traced: {traced}", venv.python.tag);
    let dir = pytest_tree(venv, traced, functions, &what);
    dir.write("test_plain.py", test_module("new", 0));
    set_file_mtime(dir.path("test_plain.py"), then).expect("the mtime");
    assert_eq!(
        dir.read("test_racy.py"),
        test_module("new", functions).as_bytes()
    );
    dir.commit("as on disk");
    let before = pytest_values(&dir, venv, false, &[]);
    // Since 9.2 pytest compares hashes.
    let must = if version == "9.2" { "new" } else { "old" };
    assert_eq!(
        (&*before["plain"], &*before["racy"]),
        (must, must),
        "{what}"
    );
    dir.pycgate(&["gate"]).expect(0);
    let after = pytest_values(&dir, venv, false, &[]);
    assert_eq!(
        (&*after["plain"], &*after["racy"]),
        ("new", "new"),
        "{what}"
    );
}

#[test]
fn every_pytest() {
    for_each(&pytests(), |(version, venv)| {
        pytest_table(version, venv, false);
    });
}

#[test]
fn every_pytest_under_coverage() {
    for_each(&pytests(), |(version, venv)| {
        pytest_table(version, venv, true);
    });
}
