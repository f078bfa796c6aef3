//! `gate --wait`: a sweep that is not the gate's child.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Dir, MANIFEST, bin_directory, interpreter, pyc, race};
use crate::report::valid;

/// A gate that waits, and what it has said.
pub struct Waiting {
    gate: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// The first line.
    pub ready: Value,
}

impl Waiting {
    fn start(dir: &Dir, arguments: &[&str]) -> Self {
        let words = [&["gate", "--wait"], arguments].concat();
        let mut command = dir.pycgate(&words).into_inner();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut gate = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(gate.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        Self {
            stdin: gate.stdin.take(),
            gate,
            stdout,
            ready: valid(&line),
        }
    }

    /// What the gate says to this word, and its exit status. Standard input stays open, as it does
    /// where a process that the runner started still has it.
    fn told(mut self, word: &str) -> (Value, i32) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(word.as_bytes()).expect("the gate reads");
        self.end()
    }

    fn end(mut self) -> (Value, i32) {
        let mut line = String::new();
        self.stdout.read_to_string(&mut line).expect("a line");
        assert_eq!(line.lines().count(), 1, "{line}");
        let status = self.gate.wait().expect("it ends").code().expect("a status");
        (valid(&line), status)
    }
}

fn reasons(report: &Value) -> String {
    report["reasons"].to_string()
}

/// A work tree with a stale entry of `mod.py`.
fn stale() -> Dir {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    race::in_one_second(|| {
        let _ = std::fs::remove_dir_all(dir.path("__pycache__"));
        dir.write("mod.py", "V = 1\n");
        dir.import_value(python, "mod");
        dir.write("mod.py", "V = 2\n");
        let entry = dir.path(dir.entry(python, "mod.py"));
        pyc::matches(&entry, &dir.path("mod.py"), python).then_some(())
    });
    dir.commit("two");
    assert_eq!(dir.import_value(python, "mod"), "1", "no incident");
    dir
}

#[test]
fn the_sweep_of_another_runs_what_is_on_disk() {
    let dir = stale();
    let gate = Waiting::start(&dir, &[]);
    assert_eq!(gate.ready["verdict"], "PASS");
    assert_eq!(gate.ready["sweep"], Value::Null);
    assert_eq!(gate.ready["counts"]["purged"], 1);
    assert_eq!(dir.import_value(interpreter::main(), "mod"), "2");
    let (report, status) = gate.told("{\"status\": 0, \"argv\": [\"my\", \"tests\"]}\n");
    assert_eq!((&report["verdict"], status), (&"PASS".into(), 0));
    assert_eq!(report["sweep"]["argv"], serde_json::json!(["my", "tests"]));
    assert_eq!(report["sweep"]["exit"], 0);
}

#[test]
fn verdicts_are_those_of_the_gate() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    for (word, verdict, expected) in [
        ("{\"status\": 0}\n", "PASS", 0),
        ("{\"status\": 3}\n", "BLOCK", 3),
        ("{\"status\": -9}\n", "BLOCK", 137),
        (
            "{\"status\": 2, \"outcome\": \"collection-error\"}\n",
            "BLOCK",
            2,
        ),
        (
            "{\"status\": 0, \"outcome\": \"interrupted\"}\n",
            "INCONCLUSIVE",
            125,
        ),
        (
            "{\"status\": 5, \"outcome\": \"no-tests\"}\n",
            "INCONCLUSIVE",
            125,
        ),
        (
            "{\"status\": 0, \"reasons\": [\"so\"]}\n",
            "INCONCLUSIVE",
            125,
        ),
        ("PASS\n", "INCONCLUSIVE", 125),
    ] {
        let (report, status) = Waiting::start(&dir, &["-q"]).told(word);
        assert_eq!(report["verdict"], verdict, "{word}");
        assert_eq!(status, expected, "{word}");
        assert_eq!(
            reasons(&report) != "[]",
            verdict == "INCONCLUSIVE",
            "{word}"
        );
    }
}

#[test]
fn a_source_that_changes_meanwhile_is_named() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    let gate = Waiting::start(&dir, &["--report", "../report.json"]);
    dir.write("mod.py", "V = 2\n");
    let (report, status) = gate.told("{\"status\": 0}\n");
    assert_eq!((&report["verdict"], status), (&"INCONCLUSIVE".into(), 125));
    assert!(reasons(&report).contains("mod.py"), "{report}");
    let file = std::fs::read_to_string(dir.beside("report.json")).expect("the report");
    assert_eq!(valid(&file), report);
}

/// A runner that was killed has told nothing, and nothing is no success.
#[test]
fn an_end_without_a_word_is_inconclusive() {
    let dir = Dir::new();
    let mut gate = Waiting::start(&dir, &[]);
    gate.stdin = None;
    let (report, status) = gate.end();
    assert_eq!((&report["verdict"], status), (&"INCONCLUSIVE".into(), 125));
    assert!(reasons(&report).contains("without telling"), "{report}");
}

#[test]
fn a_key_at_the_terminal_does_not_end_the_waiting() {
    let dir = Dir::new();
    let gate = Waiting::start(&dir, &[]);
    for signal in [Signal::INT, Signal::QUIT] {
        kill_process(Pid::from_child(&gate.gate), signal).expect("it runs");
    }
    let (report, status) = gate.told("{\"status\": 2, \"outcome\": \"interrupted\"}\n");
    assert_eq!((&report["verdict"], status), (&"INCONCLUSIVE".into(), 125));
    assert!(reasons(&report).contains("interrupted"), "{report}");
}

/// Where the gate is not ready it says so once, and waits for nothing.
#[test]
fn a_gate_that_is_not_ready_does_not_wait() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.import_value(interpreter::main(), "mod");
    dir.git(&["add", "-f", "."]);
    dir.commit("one");
    let mut gate = Waiting::start(&dir, &[]);
    assert_eq!(gate.ready["verdict"], "INCONCLUSIVE");
    assert!(reasons(&gate.ready).contains("git rm --cached"));
    assert_eq!(gate.gate.wait().expect("it ends").code(), Some(125));

    dir.write("pycgate.toml", "no-such-key = 1\n");
    let mut gate = Waiting::start(&dir, &[]);
    assert_eq!(gate.ready["verdict"], "INCONCLUSIVE");
    assert!(reasons(&gate.ready).contains("no-such-key"));
    assert_eq!(gate.gate.wait().expect("it ends").code(), Some(125));
    dir.pycgate(&["gate", "--wait", "--", "true"]).expect(125);
    dir.pycgate(&["gate", "--wait", "--isolation", "fresh"])
        .expect(125);
}

/// The runners of docs/runners.md.
#[test]
fn runners_of_the_examples() {
    let python = interpreter::main();
    let run = |dir: &Dir, name: &str| {
        let script = Path::new(MANIFEST)
            .join("examples/configs/runners")
            .join(name);
        let (program, bin) = if name.ends_with(".py") {
            (python.path.clone(), None)
        } else {
            ("bash".into(), python.path.parent())
        };
        let mut command = dir.command(program).arg(script).path_first(bin_directory());
        if let Some(bin) = bin {
            command = command.path_first(bin);
        }
        command.run()
    };
    let test =
        "import unittest, mod\n\nclass Test(unittest.TestCase):\n    def test(self):\n        ";
    for name in ["gated_unittest.py", "gated.sh"] {
        let dir = stale();
        dir.write("test_mod.py", format!("{test}self.assertEqual(mod.V, 2)\n"));
        let done = run(&dir, name);
        assert_eq!(done.status, 0, "{name}: {}{}", done.stdout, done.stderr);
        dir.write("test_mod.py", format!("{test}self.assertEqual(mod.V, 1)\n"));
        assert_eq!(run(&dir, name).status, 1, "{name}");
        let changes =
            format!("{test}open('mod.py', 'a').close(); open('mod.py', 'w').write('V=22')\n");
        dir.write("test_mod.py", changes);
        let done = run(&dir, name);
        assert_eq!(done.status, 125, "{name}: {}{}", done.stdout, done.stderr);
        assert!(done.stderr.contains("mod.py"), "{name}: {}", done.stderr);
    }
    let dir = Dir::new();
    assert_eq!(run(&dir, "gated_unittest.py").status, 125, "no tests");
}
