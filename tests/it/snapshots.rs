//! What people see: the help of every command, and the main outputs, at 80 columns and at 20, with
//! colour and without. `INSTA_UPDATE=always cargo test snapshots` takes what is seen for right.

use insta::assert_snapshot;

use crate::harness::{COMMANDS, Dir, TestCommand};

fn seen(command: TestCommand, columns: &str, status: i32) -> String {
    let done = command.env("COLUMNS", columns).expect(status);
    format!("{}{}", done.stdout, done.stderr)
}

/// Times differ from run to run.
fn still(text: &str) -> String {
    let mut out = String::new();
    let mut words = text.split_inclusive(char::is_whitespace).peekable();
    while let Some(word) = words.next() {
        let bare = word.trim();
        let is_number = !bare.is_empty()
            && bare.chars().all(|c| c.is_ascii_digit() || c == '.')
            && bare.contains('.');
        let unit = words.peek().is_some_and(|next| {
            next.trim_end_matches([',', ';']).trim() == "s" || next.trim() == "ms"
        });
        if is_number && unit && bare != "2.00" {
            words.next();
            out.push_str("[time] ");
        } else {
            out.push_str(word);
        }
    }
    out
}

/// A tree with one entry of each state that is worth a word, and a ghost.
fn tree() -> Dir {
    let dir = Dir::new();
    for name in ["racy", "tracked", "rejected"] {
        dir.write(format!("{name}.py"), "V = 1\n");
    }
    dir.write(
        "__pycache__/racy.cpython-99.pyc",
        "an interpreter that is not known: judged by times",
    );
    dir.write("__pycache__/tracked.cpython-99.pyc", "so is this");
    dir.write("__pycache__/rejected.cpython-311.pyc", "");
    dir.write("gone/__pycache__/mod.cpython-311.pyc", "its source is gone");
    dir.git(&[
        "add",
        "-f",
        "racy.py",
        "tracked.py",
        "rejected.py",
        "__pycache__/tracked.cpython-99.pyc",
    ]);
    dir.git(&["commit", "-q", "-m", "one"]);
    dir
}

#[test]
fn help() {
    let dir = Dir::plain();
    assert_snapshot!("help", seen(dir.pycgate(&["--help"]), "80", 0));
    assert_snapshot!("help_short", seen(dir.pycgate(&["-h"]), "80", 0));
    for command in COMMANDS {
        assert_snapshot!(
            format!("help_{command}"),
            seen(dir.pycgate(&[command, "--help"]), "80", 0)
        );
    }
}

#[test]
fn outputs() {
    let dir = tree();
    for (name, arguments, status) in [
        ("check", &["check"][..], 1),
        ("check_all", &["check", "--all-entries"], 1),
        ("check_github", &["check", "--format", "github"], 1),
        ("check_quiet", &["check", "-q"], 1),
        ("dry_run", &["gate", "--dry-run"], 0),
        (
            "purge_dry_run",
            &["purge", "--dry-run", "racy.py", "tracked.py"],
            1,
        ),
    ] {
        assert_snapshot!(name, still(&seen(dir.pycgate(arguments), "80", status)));
        let colored = [&["--color", "always"], arguments].concat();
        assert_snapshot!(
            format!("{name}_color"),
            still(&seen(dir.pycgate(&colored), "80", status))
        );
    }
    assert_snapshot!(
        "dry_run_narrow",
        still(&seen(dir.pycgate(&["gate", "--dry-run"]), "20", 0))
    );
    assert_snapshot!(
        "gate_inconclusive",
        still(&seen(dir.pycgate(&["gate"]), "80", 125))
    );
    dir.git(&["rm", "-q", "--cached", "__pycache__/tracked.cpython-99.pyc"]);
    dir.git(&["commit", "-q", "-m", "two"]);
    assert_snapshot!(
        "gate_purges",
        still(&seen(dir.pycgate(&["gate", "--", "true"]), "80", 0))
    );
    assert_snapshot!(
        "gate_all_well",
        still(&seen(dir.pycgate(&["gate", "--", "true"]), "80", 0))
    );
    assert_snapshot!(
        "gate_block",
        still(&seen(dir.pycgate(&["gate", "--", "false"]), "80", 1))
    );
}

#[test]
fn mistakes() {
    let dir = Dir::new();
    for (name, arguments, status) in [
        ("misspelt_command", &["gaet"][..], 2),
        ("misspelt_flag", &["gate", "--isolatoin", "fresh"], 125),
        (
            "misspelt_event",
            &["install", "--events", "post-chekout"],
            2,
        ),
        ("no_path", &["purge"], 2),
    ] {
        assert_snapshot!(name, seen(dir.pycgate(arguments), "80", status));
    }
    dir.write("pycgate.toml", "isolatoin = 'fresh'\n");
    let said = seen(dir.pycgate(&["gate"]), "80", 125);
    assert_snapshot!(
        "misspelt_key",
        said.replace(&dir.root().display().to_string(), "[root]")
    );
}
