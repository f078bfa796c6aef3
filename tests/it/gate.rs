//! The gate as a certificate: verdicts with real pytest, payloads that change, signals, reports.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::done;
use crate::harness::venv::Venv;
use crate::harness::{Dir, interpreter, is_root};
use crate::report::valid;

fn pytest() -> Venv {
    Venv::get("requirements-gate.txt")
}

/// Runs `gate --report` over a command; the exit status and the report.
fn gate(dir: &Dir, options: &[&str], command: &[&str]) -> (i32, Value) {
    let file = dir.beside("report.json");
    let _ = fs::remove_file(&file);
    let gate = dir
        .pycgate(&["gate", "--report"])
        .arg(&file)
        .args(options)
        .arg("--")
        .args(command);
    let status = gate.run().status;
    (
        status,
        valid(&fs::read_to_string(&file).expect("the report")),
    )
}

fn reasons(report: &Value) -> String {
    let reasons = report["reasons"].as_array().expect("a list");
    reasons
        .iter()
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_row_of_the_verdict_table_holds_with_real_pytest() {
    let venv = pytest();
    let program = venv.program("pytest");
    let program = program.to_str().expect("a path in UTF-8");
    let dir = Dir::new();
    dir.write("test_pass.py", "def test_it():\n    pass\n");
    dir.write("test_fail.py", "def test_it():\n    assert False\n");
    dir.write("test_broken.py", "import no_such_module\n");
    dir.write(
        "test_quit.py",
        "import pytest\n\n\ndef test_it():\n    pytest.exit('enough', returncode=2)\n",
    );
    dir.write("test_internal.py", "def test_it():\n    pass\n");
    dir.write(
        "bad/conftest.py",
        "def pytest_collection_modifyitems(items):\n    raise ZeroDivisionError\n",
    );
    dir.write("bad/test_it.py", "def test_it():\n    pass\n");
    dir.write("empty/test_none.py", "");
    dir.write(
        "test_kill.py",
        "import os, signal\n\n\ndef test_it():\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    );
    dir.write("broken/conftest.py", "import no_such_module\n");
    dir.write("broken/test_it.py", "def test_it():\n    pass\n");
    for (arguments, status, verdict) in [
        (&["test_pass.py"][..], 0, "PASS"),
        (&["test_fail.py"], 1, "BLOCK"),
        (&["test_broken.py"], 2, "BLOCK"),
        (&["test_broken.py::test_it"], 4, "BLOCK"),
        (&["test_fail.py", "--stepwise"], 2, "BLOCK"),
        (&["test_quit.py"], 2, "INCONCLUSIVE"),
        (&["bad"], 3, "INCONCLUSIVE"),
        (&["--no-such-option"], 4, "INCONCLUSIVE"),
        (&["no_such_file.py"], 4, "INCONCLUSIVE"),
        (&["test_pass.py::test_no_such"], 4, "INCONCLUSIVE"),
        (&["broken"], 4, "BLOCK"),
        (&["empty"], 5, "INCONCLUSIVE"),
        (&["test_kill.py"], 137, "BLOCK"),
    ] {
        let command = [&[program, "-q"], arguments].concat();
        let (got, report) = gate(&dir, &[], &command);
        let expected = if verdict == "INCONCLUSIVE" {
            125
        } else {
            status
        };
        assert_eq!(
            (got, &report["verdict"]),
            (expected, &verdict.into()),
            "{arguments:?}: {report:#}"
        );
        assert_eq!(report["sweep"]["exit"], status);
        assert_eq!(
            report["reasons"].as_array().expect("a list").is_empty(),
            verdict != "INCONCLUSIVE"
        );
    }
    let (got, report) = gate(&dir, &[], &["sh", "-c", "exit 5"]);
    assert_eq!((got, &report["verdict"]), (5, &"BLOCK".into()));
}

#[test]
fn a_command_that_does_not_start_is_told_apart() {
    let dir = Dir::new();
    dir.write("script.py", "print(1)\n");
    for (command, status, hint) in [
        ("no-such-program", 127, "could not be started"),
        ("./script.py", 126, "python ./script.py"),
        ("./pkg", 126, "pytest ./pkg"),
    ] {
        fs::create_dir_all(dir.path("pkg")).expect("a directory");
        let (got, report) = gate(&dir, &[], &[command]);
        assert_eq!(
            (got, &report["verdict"], &report["sweep"]),
            (status, &"INCONCLUSIVE".into(), &Value::Null)
        );
        assert!(reasons(&report).contains(hint), "{report:#}");
    }
    for arguments in [
        &["gate", "--no-such-flag"][..],
        &["gate", "--dry-run", "true"],
        &["gate", "--isolation", "none"],
    ] {
        dir.pycgate(arguments).expect(125);
    }
    // A child with one of these statuses is told apart by the report.
    let (got, report) = gate(&dir, &[], &["sh", "-c", "exit 125"]);
    assert_eq!(
        (got, &report["verdict"], &report["sweep"]["exit"]),
        (125, &"BLOCK".into(), &125.into())
    );
}

#[test]
fn a_payload_that_changes_during_the_sweep_is_inconclusive_and_named() {
    let dir = Dir::new();
    for name in ["tracked.py", "clean.py", "doomed.py"] {
        dir.write(name, "V = 1\n");
    }
    dir.commit("one");
    dir.write("tracked.py", "V = 2\n");
    for (script, word) in [
        ("echo 'V = 3' > tracked.py", "tracked.py changed"),
        ("echo 'V = 3' > clean.py", "clean.py changed"),
        ("echo 'V = 3' > new.py", "new.py appeared"),
        ("rm tracked.py", "tracked.py vanished"),
        ("rm doomed.py", "doomed.py vanished"),
    ] {
        let (status, report) = gate(&dir, &[], &["sh", "-c", script]);
        assert_eq!(
            (status, &report["verdict"]),
            (125, &"INCONCLUSIVE".into()),
            "{script}"
        );
        assert!(
            reasons(&report).contains(&format!("{word} during the sweep")),
            "{script}: {report:#}"
        );
        assert_eq!(report["sweep"]["exit"], 0);
        dir.git(&["checkout", "-q", "--", "."]);
        dir.git(&["clean", "-q", "-f"]);
        dir.write("tracked.py", "V = 2\n");
    }
    for harmless in [
        "cp tracked.py t && cat t > tracked.py",
        "touch clean.py",
        "chmod g-w clean.py",
        "echo x > notes.txt",
        "true",
    ] {
        let (status, report) = gate(&dir, &[], &["sh", "-c", harmless]);
        assert_eq!(
            (status, &report["verdict"]),
            (0, &"PASS".into()),
            "{harmless}: {report:#}"
        );
    }
    let (_, report) = gate(
        &dir,
        &[],
        &["sh", "-c", "echo 'V = 4' > tracked.py; exit 1"],
    );
    assert_eq!(report["verdict"], "INCONCLUSIVE", "whatever the child said");
}

#[test]
fn a_sweep_that_moves_head_is_seen() {
    let dir = Dir::new();
    dir.write("a.py", "V = 1\n");
    dir.commit("one");
    dir.write("a.py", "V = 2\n");
    dir.commit("two");
    for script in [
        "echo 'V = 3' > a.py; git commit -q -a -m three",
        "git checkout -q HEAD^",
        "rm -rf .git",
    ] {
        let (status, report) = gate(&dir, &[], &["sh", "-c", script]);
        assert_eq!(
            (status, &report["verdict"]),
            (125, &"INCONCLUSIVE".into()),
            "{script}"
        );
        if !script.contains("rm") {
            assert!(reasons(&report).contains("a.py changed"), "{report:#}");
        }
    }
    // A commit of what was there before changes no source.
    let dir = Dir::new();
    dir.write("a.py", "V = 1\n");
    dir.commit("one");
    dir.write("a.py", "V = 2\n");
    let (status, report) = gate(&dir, &[], &["git", "commit", "-q", "-a", "-m", "two"]);
    assert_eq!((status, &report["verdict"]), (0, &"PASS".into()));
    // Options' values are no commands, and bad usage of the gate is never success.
    fs::create_dir(dir.path("hook")).expect("a directory");
    dir.pycgate(&["-C", "hook", "gate", "--no-such-flag"])
        .expect(125);
}

#[test]
fn the_digest_depends_on_paths_and_contents_alone() {
    let dir = Dir::new();
    dir.write("a.py", "V = 1\n");
    dir.commit("one");
    let digest = |dir: &Dir, options: &[&str]| {
        let (_, report) = gate(dir, options, &["true"]);
        report["payload"].clone()
    };
    let clean = digest(&dir, &[]);
    dir.write("b.py", "V = 2\n");
    dir.write("c.py", "V = 3\n");
    let both = digest(&dir, &[]);
    assert_eq!(both["sources"], serde_json::json!(["b.py", "c.py"]));
    assert_ne!(both["digest"], clean["digest"]);
    dir.git(&["add", "b.py"]);
    filetime::set_file_mtime(
        dir.path("c.py"),
        filetime::FileTime::from_unix_time(1_000_000_000, 0),
    )
    .expect("the mtime");
    assert_eq!(digest(&dir, &[])["digest"], both["digest"]);
    let only = digest(&dir, &["--only", "b.py"]);
    assert_eq!(only["sources"], serde_json::json!(["b.py"]));
    dir.git(&["rm", "-q", "a.py"]);
    assert_eq!(
        digest(&dir, &[])["sources"],
        serde_json::json!(["a.py", "b.py", "c.py"])
    );
    dir.git(&["commit", "-q", "-a", "-m", "two"]);
    assert_eq!(
        digest(&dir, &["--base", "HEAD^"])["sources"],
        serde_json::json!(["a.py", "b.py", "c.py"])
    );
    dir.git(&["mv", "b.py", "d.py"]);
    assert_eq!(
        digest(&dir, &[])["sources"],
        serde_json::json!(["b.py", "c.py", "d.py"])
    );
}

#[test]
fn a_base_that_names_nothing_is_an_error_before_the_sweep() {
    let dir = Dir::new();
    dir.write("a.py", "V = 1\n");
    dir.commit("one");
    dir.git(&["checkout", "-q", "--orphan", "other"]);
    dir.git(&["commit", "-q", "-m", "unrelated"]);
    let main = dir.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    let main = main
        .lines()
        .find(|name| *name != "other")
        .expect("the first branch");
    for base in ["no-such-revision", main] {
        dir.write("report.json", "{\"verdict\": \"PASS\"}");
        let done = dir
            .pycgate(&["gate", "--base", base, "--report", "report.json"])
            .args(["--", "touch", "ran"])
            .expect(125);
        let report = valid(&String::from_utf8_lossy(&dir.read("report.json")));
        assert_eq!(report["verdict"], "INCONCLUSIVE");
        assert!(done.stderr.contains(base), "{}", done.stderr);
        assert!(!dir.exists("ran"));
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_before_the_sweep() {
    let dir = Dir::new();
    fs::create_dir(dir.path("closed")).expect("a directory");
    fs::set_permissions(dir.path("closed"), fs::Permissions::from_mode(0o555)).expect("the mode");
    for (place, as_nobody) in [
        ("missing/report.json", false),
        (".", false),
        ("closed/report.json", true),
    ] {
        let mut gate = dir.pycgate(&["gate", "--report", place, "--", "touch", "ran"]);
        if as_nobody {
            if !is_root() {
                continue;
            }
            gate = gate.by_nobody();
        }
        let done = gate.expect(125);
        assert!(done.stderr.contains("--report"), "{}", done.stderr);
        assert!(!dir.exists("ran"));
    }
    dir.pycgate(&[
        "gate",
        "--report",
        "report.json",
        "--",
        "sh",
        "-c",
        "exit 3",
    ])
    .expect(3);
    assert_eq!(
        valid(&String::from_utf8_lossy(&dir.read("report.json")))["verdict"],
        "BLOCK"
    );
    // What is no file is written to and never replaced.
    dir.command("mkfifo").arg("pipe").ok();
    let gate = words(dir.pycgate(&["gate", "--report", "pipe"]));
    let both = "cat pipe > got & \"$@\" > said; wait";
    dir.command("sh").args(["-c", both, "sh"]).args(gate).ok();
    assert_eq!(
        valid(&String::from_utf8_lossy(&dir.read("got")))["verdict"],
        "PASS"
    );
    assert!(
        !fs::symlink_metadata(dir.path("pipe"))
            .expect("the pipe")
            .is_file()
    );
    assert_eq!(
        dir.names(".")
            .iter()
            .filter(|name| name.contains("report"))
            .count(),
        1,
        "no other name is left"
    );
}

/// Starts a gate over a command that writes `started`, sends it a signal, and waits.
fn interrupted(signal: Signal, script: &str) -> (i32, Value, Vec<String>) {
    let dir = Dir::new();
    let temporary = dir.beside("tmp");
    fs::create_dir(&temporary).expect("a directory");
    let report = dir.beside("report.json");
    let gate = dir
        .pycgate(&["gate", "--isolation", "fresh", "--report"])
        .arg(&report);
    let gate = words(gate.args(["--", "sh", "-c", script]));
    // A shell that starts the tests in the background has INT and QUIT ignored.
    let by_default = "import os, signal, sys\n\
                      for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_DFL)\n\
                      os.execv(sys.argv[1], sys.argv[1:])";
    let python = dir
        .command(&interpreter::main().path)
        .args(["-c", by_default]);
    let gate = python.args(gate).env("TMPDIR", &temporary).spawn();
    let begun = Instant::now();
    while !dir.exists("started") {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the sweep never started"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&gate), signal).expect("the gate is there");
    let status = done(gate).status;
    let left = fs::read_dir(&temporary).expect("the directory").flatten();
    let left = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    (
        status,
        valid(&fs::read_to_string(report).expect("the report")),
        left,
    )
}

#[test]
fn signals_reach_the_child_and_the_gate_waits() {
    for (signal, number) in [
        (Signal::TERM, 15),
        (Signal::INT, 2),
        (Signal::HUP, 1),
        (Signal::QUIT, 3),
    ] {
        let (status, report, left) =
            interrupted(signal, "touch started; while :; do sleep 0.05; done");
        assert_eq!(
            (status, &report["sweep"]["exit"]),
            (128 + number, &(128 + number).into()),
            "{signal:?}"
        );
        assert_eq!(report["verdict"], "BLOCK");
        assert!(left.is_empty(), "{left:?}");
    }
    let patient = "trap 'sleep 0.3; echo cleaned > cleaned; exit 9' TERM; touch started; while :; do sleep 0.05; done";
    let (status, report, left) = interrupted(Signal::TERM, patient);
    assert_eq!((status, &report["sweep"]["exit"]), (9, &9.into()));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn odd_children_are_waited_for() {
    let dir = Dir::new();
    for script in [
        "exec <&- >&- 2>&-; exit 4",
        "exec sh -c 'exit 4'",
        "(sleep 5 >/dev/null 2>&1 &) ; exit 4",
    ] {
        let (status, report) = gate(&dir, &["--isolation", "fresh"], &["sh", "-c", script]);
        assert_eq!(
            (status, &report["verdict"]),
            (4, &"BLOCK".into()),
            "{script}"
        );
    }
    // One GiB through the gate's own standard output, which is the child's.
    let head = "head -c 1073741824 /dev/zero";
    let gate = dir.pycgate(&["gate", "--", "sh", "-c", head]);
    let counted = dir
        .command("sh")
        .arg("-c")
        .arg("exec \"$@\" | wc -c")
        .arg("sh")
        .args(words(gate));
    assert_eq!(counted.ok().trim(), "1073741824");
}

fn words(command: crate::harness::TestCommand) -> Vec<std::ffi::OsString> {
    let command = command.into_inner();
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(Into::into)
        .collect()
}

#[test]
fn a_fresh_prefix_exempts_what_it_hides() {
    let python = interpreter::main();
    let dir = Dir::new();
    // Whatever second the machine is in, the entry fits both.
    let write = |text: &str| {
        let second = filetime::FileTime::from_unix_time(1_700_000_000, 0);
        dir.write("mod.py", text);
        filetime::set_file_mtime(dir.path("mod.py"), second).expect("the mtime");
    };
    write("V = 1\n");
    dir.import_value(python, "mod");
    let entry = dir.entry(python, "mod.py");
    dir.git(&["add", "-f", "mod.py", entry.to_str().expect("UTF-8")]);
    dir.git(&["commit", "-q", "-m", "bytecode and all"]);
    write("V = 2\n");
    let program = python.path.to_str().expect("UTF-8");
    let (status, report) = gate(&dir, &[], &[program, "-c", "import mod; print(mod.V)"]);
    assert_eq!(
        (status, &report["verdict"], &report["sweep"]),
        (125, &"INCONCLUSIVE".into(), &Value::Null)
    );
    assert!(reasons(&report).contains("git rm --cached"), "{report:#}");
    let fresh = ["gate", "--isolation", "fresh", "--", program];
    assert_eq!(
        dir.pycgate(&fresh)
            .args(["-c", "import mod; print(mod.V)"])
            .ok(),
        "2"
    );
    // A Python that ignores its environment ignores the prefix.
    dir.pycgate(&fresh)
        .args(["-E", "-c", "import mod"])
        .expect(125);
    assert!(dir.exists(&entry), "what git tracks stays");
}

#[test]
fn two_hundred_rounds_are_two_hundred_right_verdicts() {
    rounds(200, &["-q", "-p", "no:cacheprovider"]);
}

#[test]
#[ignore = "starts 800 workers; its figures are in docs/how-it-decides.md"]
fn two_hundred_rounds_under_xdist() {
    rounds(200, &["-q", "-p", "no:cacheprovider", "-n", "2"]);
}

/// A source is rewritten between right and wrong, as fast as the machine goes, with its mtime put
/// back into the same second; each verdict must be of the present text.
fn rounds(number: usize, arguments: &[&str]) {
    let venv = pytest();
    let run = |gated: bool, rounds: usize| {
        let dir = Dir::new();
        dir.write(
            "test_app.py",
            "import app\n\n\ndef test_it():\n    assert app.answer() == 42\n",
        );
        dir.commit("one");
        let second = filetime::FileTime::from_unix_time(1_700_000_000, 0);
        let mut wrong = 0;
        for round in 0..rounds {
            let right = round % 2 == 0;
            dir.write(
                "app.py",
                format!(
                    "def answer():\n    return {}\n",
                    if right { 42 } else { 41 }
                ),
            );
            filetime::set_file_mtime(dir.path("app.py"), second).expect("the mtime");
            let program = venv.program("pytest");
            let command = if gated {
                dir.pycgate(&["gate", "--"]).arg(program)
            } else {
                dir.command(program)
            };
            let status = command.args(arguments).run().status;
            wrong += usize::from(status != i32::from(!right));
        }
        wrong
    };
    let without = run(false, 20);
    assert!(
        without > 0,
        "without pycgate no verdict was wrong: nothing was shown"
    );
    let with = run(true, number);
    crate::harness::announce(&format!(
        "wrong verdicts: {without} of 20 without pycgate, {with} of {number} with it"
    ));
    assert_eq!(with, 0);
}

#[test]
fn outside_git_the_directory_is_judged_and_it_is_said() {
    let dir = Dir::plain();
    dir.write("mod.py", "V = 1\n");
    dir.import_value(interpreter::main(), "mod");
    let done = dir.pycgate(&["gate"]).expect(0);
    assert!(
        done.stderr.contains("in no git work tree"),
        "{}",
        done.stderr
    );
    assert!(!Path::new(&dir.path(dir.entry(interpreter::main(), "mod.py"))).exists());
}

#[test]
fn control_c_reaches_the_child_once() {
    let dir = Dir::new();
    dir.write(
        "count.py",
        "import signal, sys, time\n\
         seen = []\n\
         signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n\
         print('ready', flush=True)\n\
         end = time.time() + 60\n\
         while not seen and time.time() < end: time.sleep(0.01)\n\
         time.sleep(0.7)\n\
         print('got %d' % len(seen), flush=True)\n\
         sys.exit(7)\n",
    );
    dir.write(
        "terminal.py",
        "import os, pty, sys\n\
         pid, terminal = pty.fork()\n\
         if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
         said = b''\n\
         sent = False\n\
         while True:\n\
         \x20   try: part = os.read(terminal, 1024)\n\
         \x20   except OSError: break\n\
         \x20   if not part: break\n\
         \x20   said += part\n\
         \x20   if b'ready' in said and not sent: sent = bool(os.write(terminal, b'\\x03'))\n\
         _, status = os.waitpid(pid, 0)\n\
         sys.stdout.write(said.decode())\n\
         sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)\n",
    );
    let python = &interpreter::main().path;
    let gate = words(
        dir.pycgate(&["gate", "--only", "nothing.py", "--"])
            .arg(python)
            .arg("count.py"),
    );
    let terminal = dir.command(python).arg("terminal.py").args(gate);
    let done = terminal.expect(7);
    assert!(done.stdout.contains("got 1"), "{}", done.stdout);
}
