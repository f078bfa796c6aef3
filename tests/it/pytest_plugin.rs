//! The plugin for pytest, on every pytest here that it is for: what is on disk runs, and nothing else
//! about a run changes. `packaging.rs` has it installed from its wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::venv::Venv;
use crate::harness::{Dir, Done, MANIFEST, TestCommand, bin_directory, pyc, race};
use crate::staleness::pytests;

/// A copy of the plugin that pytest finds as it finds an installed one: by its entry point.
fn site(dir: &Dir) -> PathBuf {
    let site = dir.beside("site");
    let from = Path::new(MANIFEST).join("pytest-pycgate");
    let package = site.join("pytest_pycgate");
    if !package.exists() {
        fs::create_dir_all(&package).expect("a directory");
        for file in fs::read_dir(from.join("pytest_pycgate")).expect("the plugin") {
            let file = file.expect("a file");
            if file.file_name().to_string_lossy().ends_with(".py") {
                fs::copy(file.path(), package.join(file.file_name())).expect("a copy");
            }
        }
        let project = fs::read_to_string(from.join("pyproject.toml")).expect("the project");
        let (_, points) = project
            .split_once("[project.entry-points.pytest11]")
            .expect("an entry point");
        let point = points.lines().nth(1).expect("a line").replace('"', "");
        let info = site.join("pytest_pycgate-0.dist-info");
        fs::create_dir(&info).expect("a directory");
        fs::write(
            info.join("entry_points.txt"),
            format!("[pytest11]\n{point}\n"),
        )
        .expect("a file");
        fs::write(info.join("METADATA"), "Name: pytest-pycgate\nVersion: 0\n").expect("a file");
    }
    site
}

/// pytest with the plugin, and the program on PATH.
fn pytest(dir: &Dir, venv: &Venv, arguments: &[&str]) -> TestCommand {
    dir.command(&venv.python.path)
        .args(["-m", "pytest"])
        .args(arguments)
        .env("PYTHONPATH", site(dir))
        .path_first(bin_directory())
}

/// The versions of pytest that the plugin is for: all but those for old Pythons.
fn supported() -> Vec<(&'static str, Venv)> {
    let mut all = pytests();
    all.retain(|(version, _)| !matches!(*version, "5.4" | "6.2"));
    assert!(!all.is_empty(), "no interpreter here for pytest 7");
    all
}

/// One of them, for what does not depend on the version; it has xdist.
fn one() -> Venv {
    Venv::get("requirements-gate.txt")
}

const TEST: &str = "import mod\n\ndef test_value():\n    assert mod.V == 2\n";

/// A work tree in which `mod.py` has V = 2, and its entry V = 1.
fn stale(dir: &Dir, venv: &Venv) {
    dir.write("conftest.py", "import mod\n");
    dir.write("test_mod.py", TEST);
    dir.write("mod.py", "V = 1\n");
    if dir.exists(".git") {
        dir.commit("one");
    }
    race::in_one_second(|| {
        let _ = fs::remove_dir_all(dir.path("__pycache__"));
        dir.write("mod.py", "V = 1\n");
        dir.import_value(&venv.python, "mod");
        dir.write("mod.py", "V = 2\n");
        let entry = dir.path(dir.entry(&venv.python, "mod.py"));
        pyc::matches(&entry, &dir.path("mod.py"), &venv.python).then_some(())
    });
}

fn shown(done: &Done) -> String {
    format!("{}\n{}\n{}", done.status, done.stdout, done.stderr)
}

#[test]
fn what_is_on_disk_runs() {
    for (version, venv) in supported() {
        let dir = Dir::new();
        stale(&dir, &venv);
        let plain = pytest(&dir, &venv, &["-q", "-p", "no:pycgate"]).run();
        assert_eq!(plain.status, 1, "{version}: no incident {}", shown(&plain));
        let done = pytest(&dir, &venv, &[]).run();
        assert_eq!(done.status, 0, "{version}: {}", shown(&done));
        assert!(
            done.stdout.contains("pycgate: "),
            "{version}: {}",
            shown(&done)
        );
        let again = pytest(&dir, &venv, &["--pycgate=gate"]).run();
        assert_eq!(again.status, 0, "{version}: {}", shown(&again));
        assert!(again.stdout.contains("pycgate: PASS"), "{}", shown(&again));
    }
}

#[test]
fn sources_that_change_meanwhile_are_named() {
    for (version, venv) in supported() {
        let dir = Dir::new();
        dir.write("mod.py", "V = 1\n");
        dir.write(
            "test_mod.py",
            "def test_value():\n    open('mod.py', 'w').write('V = 22\\n')\n",
        );
        dir.commit("one");
        for (mode, status) in [("--pycgate=purge", 0), ("--pycgate=gate", 125)] {
            dir.write("mod.py", "V = 1\n");
            let done = pytest(&dir, &venv, &["-q", mode]).run();
            assert_eq!(done.status, status, "{version}: {}", shown(&done));
            let line = "pycgate: mod.py ";
            assert!(done.stdout.contains(line), "{version}: {}", shown(&done));
        }
    }
}

#[test]
fn a_gate_has_the_gates_exit_status() {
    let passes = ("test_it.py", "def test(): pass\n");
    for (version, venv) in supported() {
        for (files, arguments, status) in [
            ([passes, passes], vec![], 0),
            (
                [("test_it.py", "def test(): assert 0\n"), passes],
                vec![],
                1,
            ),
            ([passes, ("test_two.py", "import no_such\n")], vec![], 2),
            ([passes, ("conftest.py", "import no_such\n")], vec![], 4),
            ([("test_it.py", ""), ("mod.py", "")], vec![], 125),
            ([passes, passes], vec!["-k", "no_such"], 125),
            ([passes, passes], vec!["no_such.py"], 125),
            (
                [
                    ("test_it.py", "def test(): raise KeyboardInterrupt\n"),
                    ("mod.py", ""),
                ],
                vec![],
                125,
            ),
            (
                [
                    passes,
                    (
                        "conftest.py",
                        "def pytest_collection_modifyitems(): raise ValueError\n",
                    ),
                ],
                vec![],
                125,
            ),
        ] {
            let dir = Dir::new();
            // The last one written counts.
            for (name, content) in files.iter().rev() {
                dir.write(name, content);
            }
            dir.commit("one");
            let words = [&["--pycgate=gate"], arguments.as_slice()].concat();
            let done = pytest(&dir, &venv, &words).run();
            assert_eq!(done.status, status, "{version}: {files:?} {}", shown(&done));
            // Without being asked the plugin leaves the status as it is.
            if status == 125 {
                let plain = pytest(&dir, &venv, &arguments).run();
                assert!((2..=5).contains(&plain.status), "{}", shown(&plain));
            }
        }
    }
}

/// A `pycgate` on PATH that notes each of its calls.
fn counted(dir: &Dir) -> (PathBuf, impl Fn() -> usize) {
    use std::os::unix::fs::PermissionsExt as _;
    let bin = dir.beside("counting");
    let log = dir.beside("calls");
    fs::create_dir_all(&bin).expect("a directory");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>'{}'\nexec '{}' \"$@\"\n",
        log.display(),
        crate::harness::PYCGATE
    );
    fs::write(bin.join("pycgate"), script).expect("a script");
    fs::set_permissions(bin.join("pycgate"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let calls = move || fs::read_to_string(&log).map_or(0, |text| text.lines().count());
    (bin, calls)
}

#[test]
fn under_xdist_the_controller_alone_has_a_gate() {
    let venv = one();
    let dir = Dir::new();
    stale(&dir, &venv);
    let (bin, calls) = counted(&dir);
    let done = pytest(&dir, &venv, &["-n2", "--pycgate=gate"])
        .path_first(&bin)
        .run();
    assert_eq!(done.status, 0, "{}", shown(&done));
    assert_eq!(calls(), 1);
    // A pytest that a test starts has a tree of its own, and a gate of its own.
    let test = "import subprocess, sys\n\ndef test():\n    assert subprocess.call([sys.executable, \
                '-m', 'pytest', '--pycgate=gate', 'inner']) == 125\n";
    dir.write("test_mod.py", test);
    dir.write("inner/test_inner.py", "");
    let done = pytest(&dir, &venv, &["-n1", "test_mod.py"])
        .path_first(&bin)
        .run();
    assert_eq!(done.status, 0, "{}", shown(&done));
    assert_eq!(calls(), 3);
}

#[test]
fn however_pytest_is_called() {
    let venv = one();
    // What IDEs do: pytest in their own process, with plugins and streams of their own.
    let in_process = "import io, sys, pytest\nsys.stdout = io.StringIO()\nclass Listener:\n    pass\n\
                      first = pytest.main(['-s', '-p', 'no:cacheprovider'], [Listener()])\n\
                      second = pytest.main(['-q'], [Listener()])\nsys.exit(first * 10 + second)\n";
    let ways: [(&str, &[&str]); 7] = [
        ("pytest", &["-p", "no:cacheprovider"]),
        ("pytest", &["-p", "no:terminal"]),
        ("pytest", &["--collect-only", "-q"]),
        ("pytest", &["--rootdir=.", "-c", "/dev/null"]),
        (
            "python",
            &["-m", "pytest", "-W", "error", "--strict-config"],
        ),
        ("python", &["-c", in_process]),
        ("python", &["-X", "pycache_prefix=.cache", "-m", "pytest"]),
    ];
    for (program, arguments) in ways {
        let dir = Dir::new();
        stale(&dir, &venv);
        let (bin, calls) = counted(&dir);
        let done = dir
            .command(venv.program(program))
            .args(arguments)
            .env("PYTHONPATH", site(&dir))
            .path_first(&bin)
            .run();
        assert_eq!(done.status, 0, "{arguments:?} {}", shown(&done));
        let expected = if arguments[0] == "-c" { 2 } else { 1 };
        assert_eq!(calls(), expected, "{arguments:?}");
    }
}

/// The entries of a prefix that only the interpreter knows of are judged too.
#[test]
fn a_prefix_that_no_variable_names() {
    let venv = one();
    let dir = Dir::new();
    dir.write("test_mod.py", TEST);
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    let python = || {
        let python = dir.command(&venv.python.path).env("PYTHONPATH", site(&dir));
        python
            .args(["-X", "pycache_prefix=../prefix"])
            .path_first(bin_directory())
    };
    let said = race::in_one_second(|| {
        let _ = fs::remove_dir_all(dir.beside("prefix"));
        dir.write("mod.py", "V = 1\n");
        let stamp = pyc::stamp(&dir.path("mod.py"));
        python().args(["-c", "import mod"]).ok();
        dir.write("mod.py", "V = 2\n");
        let said = python().args(["-c", "import mod; print(mod.V)"]).ok();
        (pyc::stamp(&dir.path("mod.py")) == stamp).then_some(said)
    });
    assert_eq!(said, "1", "no incident");
    let done = python().args(["-m", "pytest", "-q"]).run();
    assert_eq!(done.status, 0, "{}", shown(&done));
}

#[test]
fn without_a_repository() {
    let venv = one();
    let dir = Dir::plain();
    stale(&dir, &venv);
    let done = pytest(&dir, &venv, &["--pycgate=gate"]).run();
    assert_eq!(done.status, 0, "{}", shown(&done));
}

#[test]
fn without_the_program() {
    let venv = one();
    let dir = Dir::new();
    dir.write("test_it.py", "def test(): pass\n");
    dir.commit("one");
    let pytest = |arguments: &[&str]| {
        let pytest = dir.command(&venv.python.path).args(["-m", "pytest"]);
        let pytest = pytest.args(arguments).env("PYTHONPATH", site(&dir));
        pytest.env("PATH", "/usr/bin:/bin").run()
    };
    let done = pytest(&[]);
    assert_eq!(done.status, 0, "{}", shown(&done));
    assert_eq!(
        done.stdout.matches("pycgate does not run").count(),
        1,
        "{}",
        shown(&done)
    );
    assert!(
        done.stdout.contains("1 passed, 1 warning"),
        "{}",
        shown(&done)
    );
    let strict = pytest(&["-W", "error"]);
    assert_eq!(strict.status, 0, "{}", shown(&strict));
    let gate = pytest(&["--pycgate=gate"]);
    assert_eq!(gate.status, 125, "{}", shown(&gate));
    assert!(!gate.stdout.contains("passed"), "{}", shown(&gate));
    assert_eq!(pytest(&["--pycgate=off"]).status, 0);
}

#[test]
fn where_something_stays_that_can_lie() {
    let venv = one();
    let dir = Dir::new();
    dir.write("test_it.py", "import mod\n\ndef test(): pass\n");
    dir.write("mod.py", "V = 1\n");
    dir.import_value(&venv.python, "mod");
    dir.git(&["add", "-f", "."]);
    dir.git(&["commit", "-q", "-m", "with bytecode"]);
    let purge = pytest(&dir, &venv, &[]).run();
    assert_eq!(purge.status, 0, "{}", shown(&purge));
    assert!(
        purge.stdout.contains("git rm --cached"),
        "{}",
        shown(&purge)
    );
    let gate = pytest(&dir, &venv, &["--pycgate=gate"]).run();
    assert_eq!(gate.status, 125, "{}", shown(&gate));
    assert!(!gate.stdout.contains("passed"), "{}", shown(&gate));
    assert!(gate.stderr.contains("git rm --cached"), "{}", shown(&gate));
}

/// `-p` imports before any plugin that is installed has a say.
#[test]
fn modules_imported_before_the_purge_are_named() {
    let venv = one();
    let dir = Dir::new();
    stale(&dir, &venv);
    dir.write("plug.py", "import mod\n");
    let purge = pytest(&dir, &venv, &["-p", "plug"]).run();
    assert_eq!(
        purge.status,
        1,
        "it runs what was in memory: {}",
        shown(&purge)
    );
    assert!(
        purge.stdout.contains("mod.py was imported before"),
        "{}",
        shown(&purge)
    );
    stale(&dir, &venv);
    let gate = pytest(&dir, &venv, &["-p", "plug", "--pycgate=gate"]).run();
    assert_eq!(gate.status, 125, "{}", shown(&gate));
}

#[test]
fn it_can_be_turned_off() {
    let venv = one();
    let dir = Dir::new();
    stale(&dir, &venv);
    let (bin, calls) = counted(&dir);
    let run = |arguments: &[&str], skip: &str| {
        let pytest = pytest(&dir, &venv, arguments).path_first(&bin);
        pytest.env("PYCGATE_SKIP", skip).run().status
    };
    assert_eq!(run(&["--pycgate=off"], ""), 1);
    assert_eq!(run(&[], "1"), 1);
    assert_eq!(run(&["--help"], ""), 0);
    assert_eq!(run(&["--version"], ""), 0);
    assert_eq!(calls(), 0);
    dir.write("pytest.ini", "[pytest]\npycgate = gate\n");
    assert_eq!(
        run(&["-k", "no_such"], "1"),
        125,
        "a gate that is asked for is not skipped"
    );
    dir.write("pytest.ini", "[pytest]\npycgate = no_such\n");
    assert_eq!(run(&[], ""), 4);
}

/// A process that a test leaves behind has the pipes of the gate, and holds nothing up.
#[test]
fn processes_left_behind_hold_nothing_up() {
    let venv = one();
    let dir = Dir::new();
    let test = "import os, time\n\ndef test():\n    child = os.fork()\n    if child == 0:\n        \
                time.sleep(60)\n        os._exit(0)\n    open('../child', 'w').write(str(child))\n";
    dir.write("test_it.py", test);
    dir.commit("one");
    // Not through a pipe: the child has that too.
    let mut pytest = pytest(&dir, &venv, &["--pycgate=gate"]).into_inner();
    let status = pytest.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert_eq!(status.expect("pytest starts").code(), Some(0));
    let child = fs::read_to_string(dir.beside("child")).expect("the test ran");
    let child = Pid::from_raw(child.parse().expect("a number")).expect("an id");
    kill_process(child, Signal::KILL).expect("the child outlives the gate");
}

/// Trees beside the root that the run imports from are judged with it.
#[test]
fn files_named_outside_the_root() {
    let venv = one();
    let dir = Dir::new();
    let elsewhere = Dir::plain();
    stale(&elsewhere, &venv);
    dir.write("pytest.ini", "[pytest]\n");
    dir.commit("one");
    let test = elsewhere.path("test_mod.py");
    let test = test.to_str().expect("UTF-8");
    let root = format!("--rootdir={}", dir.root().display());
    let done = pytest(
        &dir,
        &venv,
        &["--pycgate=gate", &root, "-c", "pytest.ini", test],
    )
    .run();
    assert_eq!(done.status, 0, "{}", shown(&done));
}
