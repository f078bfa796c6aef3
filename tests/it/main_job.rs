//! The main job, end to end: the incident in every form that a source can get new content in, what
//! `gate` answers, what it leaves alone, and bad input.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use filetime::FileTime;

use crate::harness::race::{self, INNOCENTS, Margin};
use crate::harness::{Dir, interpreter, is_root, pyc};

const OLD: &str = "V = 'old'\n";
const NEW: &str = "V = 'new'\n";

/// Python has cached the old content, `act` puts the new one in place, and the entry still fits.
/// Without pycgate the import is stale; under `gate` it is not, and no innocent entry is lost.
fn incident(prepare: impl Fn(&Dir), act: impl Fn(&Dir)) {
    let python = interpreter::main();
    let dir = race::in_one_second(|| {
        let dir = Dir::new();
        prepare(&dir);
        dir.innocents();
        race::start_of_a_second();
        dir.write("mod.py", OLD);
        assert_eq!(dir.import_value(python, "mod"), "old");
        act(&dir);
        let entry = dir.path(dir.entry(python, "mod.py"));
        pyc::matches(&entry, &dir.path("mod.py"), python).then_some(dir)
    });
    assert_eq!(dir.read("mod.py"), NEW.as_bytes());
    assert_eq!(dir.import_value(python, "mod"), "old", "no incident");
    let code = "import mod; print(mod.V)";
    let gate = dir.pycgate(&["gate", "--"]).arg(&python.path);
    assert_eq!(gate.args(["-c", code]).ok(), "new");
    assert_eq!(dir.innocent_left().len(), INNOCENTS);
    assert_eq!(dir.import_value(python, "mod"), "new");
}

#[test]
fn a_tracked_source_is_rewritten_within_a_second() {
    let prepare = |dir: &Dir| {
        dir.write("mod.py", "V = 0\n");
        dir.commit("one");
    };
    incident(prepare, |dir| dir.write("mod.py", NEW));
}

#[test]
fn a_staged_source_is_rewritten_within_a_second() {
    incident(
        |_| {},
        |dir| {
            dir.write("mod.py", NEW);
            dir.git(&["add", "mod.py"]);
        },
    );
}

#[test]
fn an_untracked_source_is_rewritten_within_a_second() {
    incident(|_| {}, |dir| dir.write("mod.py", NEW));
}

#[test]
fn an_ignored_source_is_rewritten_within_a_second() {
    let prepare = |dir: &Dir| {
        dir.write(".gitignore", "mod.py\n");
        dir.commit("one");
    };
    incident(prepare, |dir| dir.write("mod.py", NEW));
}

#[test]
fn a_rewritten_source_is_committed_within_a_second() {
    incident(
        |_| {},
        |dir| {
            dir.write("mod.py", NEW);
            dir.git(&["add", "mod.py"]);
            dir.git(&["commit", "-q", "-m", "two"]);
        },
    );
}

#[test]
fn the_mtime_is_restored_after_a_mutation() {
    incident(
        |_| {},
        |dir| {
            let before = fs::metadata(dir.path("mod.py")).expect("the source");
            dir.write("mod.py", NEW);
            let mtime = FileTime::from_last_modification_time(&before);
            filetime::set_file_mtime(dir.path("mod.py"), mtime).expect("the mtime");
        },
    );
}

#[test]
fn a_source_with_equal_mtime_and_size_is_moved_into_place() {
    incident(
        |_| {},
        |dir| {
            let before = fs::metadata(dir.path("mod.py")).expect("the source");
            let mtime = FileTime::from_last_modification_time(&before);
            let other = dir.beside("other.py");
            fs::write(&other, NEW).expect("a file");
            filetime::set_file_mtime(&other, mtime).expect("the mtime");
            fs::rename(&other, dir.path("mod.py")).expect("the move");
        },
    );
}

/// The interpreter has read the old content and is compiling it when the new one is written: the
/// entry is younger than the source, and stale.
#[test]
fn a_source_changes_while_it_is_being_compiled() {
    let python = interpreter::main();
    let code = "\
import importlib.machinery, os
loader = importlib.machinery.SourceFileLoader
compile_it = loader.source_to_code
def changed_meanwhile(self, data, path, **rest):
    if path.endswith('mod.py'):
        before = os.stat(path)
        with open(path, 'w') as file:
            file.write(\"V = 'new'\\n\")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return compile_it(self, data, path, **rest)
loader.source_to_code = changed_meanwhile
import mod
print(mod.V)";
    let (dir, entry) = race::in_one_second(|| {
        let dir = Dir::new();
        dir.innocents();
        dir.write("mod.py", OLD);
        assert_eq!(dir.python(python, code), "old");
        let entry = dir.path(dir.entry(python, "mod.py"));
        race::within_margin(Margin::Plain, &entry, &dir.path("mod.py")).then_some((dir, entry))
    });
    let written = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).expect("it");
    assert!(written(&entry) >= written(&dir.path("mod.py")));
    assert_eq!(dir.read("mod.py"), NEW.as_bytes());
    assert_eq!(dir.import_value(python, "mod"), "old", "no incident");
    dir.pycgate(&["gate"]).expect(0);
    assert_eq!(dir.import_value(python, "mod"), "new");
    assert_eq!(dir.innocent_left().len(), INNOCENTS);
}

#[test]
fn statuses_of_the_gate() {
    let dir = Dir::new();
    dir.write("mod.py", OLD);
    dir.commit("one");
    dir.pycgate(&["gate", "--", "sh", "-c", "exit 7"]).expect(7);
    dir.pycgate(&["gate", "sh", "-c", "exit 7"]).expect(7);
    let missing = dir.pycgate(&["gate", "--", "no-such-program"]).expect(127);
    assert!(missing.stderr.contains("no-such-program"), "{missing:?}");
    dir.pycgate(&["gate", "--no-such-flag"]).expect(125);
    dir.pycgate(&["gate", "--", "kill-me-not/.."]).expect(127);
    dir.write("not-executable", "");
    dir.pycgate(&["gate", "--", "./not-executable"]).expect(126);
    let killed = dir.pycgate(&["gate", "--", "sh", "-c", "kill -9 $$"]).run();
    assert_eq!(killed.status, 137, "{killed:?}");
}

#[test]
fn a_payload_that_changes_during_the_sweep() {
    let dir = Dir::new();
    dir.write("pkg/mod.py", OLD);
    dir.commit("one");
    let script = "echo \"V = 'other'\" > pkg/mod.py";
    let done = dir.pycgate(&["gate", "--", "sh", "-c", script]).expect(125);
    assert!(done.stderr.contains("pkg/mod.py"), "{done:?}");
    assert!(done.stderr.contains("INCONCLUSIVE"), "{done:?}");
    assert!(done.stdout.is_empty(), "{done:?}");
}

/// Everything that looks like bytecode and is somebody's work, beside one entry that has to go.
fn valuables() -> Dir {
    let python = interpreter::main();
    let dir = Dir::new();
    for module in ["held", "lib/x", "plain", "real/linked"] {
        dir.write(format!("{module}.py"), OLD);
    }
    race::wait_out(Margin::Plain, &[dir.path("real/linked.py")]);
    let compile = ["-m", "compileall", "-q", "."];
    dir.command(&python.path).args(compile).ok();
    // A module without source, and its like in a folder of its own.
    let entry = dir.path(dir.entry(python, "lib/x.py"));
    fs::rename(entry, dir.path("lib/x.pyc")).expect("the move");
    fs::remove_file(dir.path("lib/x.py")).expect("the source");
    // A `__pycache__` that is a link.
    fs::rename(dir.path("real/__pycache__"), dir.beside("elsewhere")).expect("the move");
    symlink("../../elsewhere", dir.path("real/__pycache__")).expect("the link");
    dir.write("__pycache__/notes.txt", "mine\n");
    let held = dir.entry(python, "held.py");
    dir.git(&["add", "-f", held.to_str().expect("UTF-8")]);
    dir.commit("one");
    dir.git(&["branch", "fix/cleanup.pyc"]);
    fs::create_dir(dir.path("uploads")).expect("a folder");
    dir
}

#[test]
fn nothing_else_is_lost() {
    let python = interpreter::main();
    let dir = valuables();
    dir.write("racy.py", OLD);
    dir.import_value(python, "racy");
    let mut expected = dir.all_paths();
    dir.pycgate(&["gate"]).expect(0);
    let purged = dir.entry(python, "racy.py");
    expected.retain(|path| *path != purged);
    assert_eq!(dir.all_paths(), expected);
    assert!(dir.beside("elsewhere").read_dir().expect("it").count() == 1);
    assert_eq!(
        dir.git(&["branch", "--list", "fix/cleanup.pyc"]).trim(),
        "fix/cleanup.pyc"
    );
    assert_eq!(dir.git(&["status", "--porcelain", "-uno"]), "");
    let code = "import sys; sys.path.insert(0, 'lib'); import x; print(x.V)";
    assert_eq!(dir.python(python, code), "old");
}

#[test]
fn what_may_not_be_purged_makes_the_gate_inconclusive() {
    let python = interpreter::main();
    let dir = valuables();
    let held = dir.entry(python, "held.py");
    let linked = dir.entry(python, "real/linked.py");
    let expected = dir.all_paths();
    for (source, entry) in [("held.py", &held), ("real/linked.py", &linked)] {
        let before = fs::metadata(dir.path(source)).expect("the source");
        dir.write(source, NEW);
        let mtime = FileTime::from_last_modification_time(&before);
        filetime::set_file_mtime(dir.path(source), mtime).expect("the mtime");
        let done = dir.pycgate(&["gate", "--", "true"]).expect(125);
        let name = entry.to_str().expect("UTF-8");
        assert!(done.stderr.contains(name), "{name} in {}", done.stderr);
    }
    let done = dir.pycgate(&["gate"]).expect(125);
    let advice = format!("git rm --cached {}", held.display());
    assert!(done.stderr.contains(&advice), "{}", done.stderr);
    assert_eq!(dir.all_paths(), expected);
}

#[test]
fn a_dry_run_changes_nothing_and_lists() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write("mod.py", OLD);
    dir.import_value(python, "mod");
    let expected = dir.all_paths();
    let entry = dir.entry(python, "mod.py");
    let done = dir.pycgate(&["gate", "--dry-run"]).expect(0);
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains(entry.to_str().expect("UTF-8")), "{said}");
    let done = dir.pycgate(&["check"]).expect(1);
    assert!(done.stdout.contains("could be stale"), "{done:?}");
    dir.pycgate(&["purge", "--dry-run", "mod.py"]).expect(0);
    assert_eq!(dir.all_paths(), expected);
    dir.pycgate(&["gate", "--dry-run", "--", "true"])
        .expect(125);
    dir.pycgate(&["purge", "mod.py"]).expect(0);
    assert!(!dir.exists(entry));
    dir.pycgate(&["check"]).expect(0);
}

#[test]
fn json_has_every_key() {
    let dir = Dir::new();
    dir.write("mod.py", OLD);
    dir.import_value(interpreter::main(), "mod");
    let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    for key in [
        "schema", "command", "root", "payload", "entries", "ghosts", "counts", "sweep", "verdict",
        "reasons",
    ] {
        assert!(report.get(key).is_some(), "{key} in {report}");
    }
    assert_eq!(report["verdict"], "PASS");
    assert_eq!(report["counts"]["purged"], 1);
    assert_eq!(report["payload"]["sources"][0], "mod.py");
}

const EVENTS: [&[&str]; 11] = [
    &["pre-commit"],
    &["pre-merge-commit"],
    &["post-index-change", "1", "0"],
    &["post-checkout", "HEAD", "HEAD", "1"],
    &["post-checkout", "HEAD", "HEAD", "0"],
    &["post-merge", "0"],
    &["post-commit"],
    &["post-rewrite", "amend"],
    &["post-applypatch"],
    &["auto"],
    &["no-such-event", "x"],
];

/// Hooks say nothing and end well, whatever they find.
fn hooks_are_silent(dir: &Dir) {
    for event in EVENTS {
        let hook = dir.pycgate(&["hook"]).args(event);
        let done = hook.input("junk\0 \n\n").expect(0);
        assert!(done.stdout.is_empty(), "{event:?}: {done:?}");
        assert!(done.stderr.is_empty(), "{event:?}: {done:?}");
    }
}

/// The same, and they remove nothing.
fn hooks_do_nothing(dir: &Dir) {
    let expected = dir.all_paths();
    hooks_are_silent(dir);
    assert_eq!(dir.all_paths(), expected);
}

/// A message, not a panic.
fn is_clear(said: &str, parts: &[&str]) {
    assert!(!said.contains("panicked"), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} in {said}");
    }
}

#[test]
fn outside_of_a_repository() {
    let python = interpreter::main();
    let dir = Dir::plain();
    dir.write("mod.py", OLD);
    dir.import_value(python, "mod");
    hooks_do_nothing(&dir);
    let done = dir.pycgate(&["gate"]).expect(0);
    is_clear(&done.stderr, &[dir.root().to_str().expect("UTF-8")]);
    assert!(!dir.exists(dir.entry(python, "mod.py")), "judged anyway");
    let done = dir.pycgate(&["-C", "no/such/place", "gate"]).expect(125);
    is_clear(&done.stderr, &["no/such/place"]);
}

#[test]
fn in_a_bare_repository() {
    let dir = Dir::plain();
    dir.git(&["init", "-q", "--bare", "."]);
    hooks_do_nothing(&dir);
    for (command, status) in [("gate", 125), ("check", 2)] {
        let done = dir.pycgate(&[command]).expect(status);
        is_clear(&done.stderr, &["bare", dir.root().to_str().expect("UTF-8")]);
    }
}

#[test]
fn before_the_first_commit() {
    let python = interpreter::main();
    let dir = Dir::new();
    hooks_do_nothing(&dir);
    dir.pycgate(&["gate"]).expect(0);
    dir.write("mod.py", OLD);
    dir.import_value(python, "mod");
    hooks_do_nothing(&dir);
    let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["payload"]["sources"][0], "mod.py");
    assert!(!dir.exists(dir.entry(python, "mod.py")));
    let done = dir.pycgate(&["gate", "--base", "HEAD"]).expect(125);
    is_clear(&done.stderr, &["HEAD"]);
}

#[test]
fn with_a_corrupt_index() {
    let dir = Dir::new();
    dir.write("mod.py", OLD);
    dir.import_value(interpreter::main(), "mod");
    dir.commit("one");
    for junk in [b"".as_slice(), b"junk", &[0; 4096]] {
        fs::write(dir.path(".git/index"), junk).expect("the index");
        hooks_do_nothing(&dir);
        let index = dir.path(".git/index");
        let index = index.to_str().expect("UTF-8");
        let expected = dir.all_paths();
        let done = dir.pycgate(&["gate", "--", "true"]).expect(125);
        is_clear(&done.stderr, &[index]);
        assert_eq!(dir.all_paths(), expected);
        // Judging needs no index; knowing what may be removed does.
        let done = dir.pycgate(&["check"]).expect(2);
        is_clear(&done.stderr, &[index]);
        is_clear(&done.stdout, &["__pycache__/mod.", ": could be stale: "]);
    }
}

#[test]
fn with_an_unknown_revision() {
    let dir = Dir::new();
    dir.write("mod.py", OLD);
    dir.commit("one");
    for revision in ["nope", "HEAD~7", "-x", "", "HEAD:mod.py", "a..b"] {
        let base = format!("--base={revision}");
        let done = dir.pycgate(&["gate", &base, "--", "true"]).expect(125);
        is_clear(&done.stderr, &[revision]);
    }
}

#[test]
fn with_a_directory_that_cannot_be_read() {
    let dir = Dir::new();
    dir.write("pkg/inner/mod.py", OLD);
    dir.commit("one");
    dir.git(&["config", "--global", "safe.directory", "*"]);
    let forbid = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(dir.path("pkg/inner"), permissions).expect("the mode");
    };
    forbid(0o000);
    let run = |arguments: &[&str]| {
        let command = dir.pycgate(arguments);
        if is_root() {
            command.by_nobody()
        } else {
            command
        }
    };
    let done = run(&["gate", "--", "true"]).expect(125);
    is_clear(&done.stderr, &["pkg/inner", "ermission denied"]);
    let done = run(&["hook", "post-checkout", "HEAD", "HEAD", "1"]).expect(0);
    assert!(done.stderr.is_empty(), "{done:?}");
    forbid(0o755);
    run(&["gate", "--", "true"]).expect(0);
}

#[test]
fn with_names_of_every_kind() {
    let python = interpreter::main();
    let dir = Dir::new();
    let names: [&[u8]; 9] = [
        b"with space",
        b"new\nline",
        b"quo'te\"s",
        b"-dash",
        b"--all",
        "\u{fc}nicode".as_bytes(),
        b"non-utf8-\xff\xfe",
        b"tab\tand\\backslash",
        b"dotted.name.py",
    ];
    for name in names {
        let source = [name, b".py"].concat();
        fs::write(dir.path_bytes(&source), OLD).expect("a source");
    }
    let compile = ["-m", "compileall", "-q", "."];
    dir.command(&python.path).args(compile).ok();
    dir.commit("names");
    assert_eq!(dir.names("__pycache__").len(), names.len());
    let report = dir.pycgate(&["check", "--format", "json"]).expect(1).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let entries = report["entries"].as_array().expect("a list");
    assert_eq!(entries.len(), names.len(), "{report}");
    let lossy = entries.iter().filter(|one| one.get("path_b64").is_some());
    assert_eq!(lossy.count(), 1, "{report}");
    // One by one through a file of names, as hook frameworks would.
    let listed: Vec<u8> = names[..4]
        .iter()
        .flat_map(|name| [name, b".py\0".as_slice()].concat())
        .collect();
    dir.pycgate(&["purge", "--pathspec-from-file=-", "--pathspec-file-nul"])
        .input(listed)
        .expect(0);
    assert_eq!(dir.names("__pycache__").len(), names.len() - 4);
    dir.pycgate(&["purge", "--", "--all.py"]).expect(0);
    assert_eq!(dir.names("__pycache__").len(), names.len() - 5);
    dir.pycgate(&["gate"]).expect(0);
    assert!(dir.names("__pycache__").is_empty());
    for name in names {
        let source = [name, b".py"].concat();
        assert!(
            dir.path_bytes(&source).exists(),
            "{}",
            source.escape_ascii()
        );
    }
}

/// git's own commands go on with hooks that find an index they cannot read, names they cannot
/// print, or no pycgate.
#[test]
fn git_never_fails_because_of_the_hooks() {
    let dir = Dir::new();
    dir.pycgate(&["install"]).expect(0);
    fs::write(dir.path_bytes(b"non-utf8-\xff.py"), OLD).expect("a source");
    dir.commit("one");
    dir.git(&["checkout", "-q", "-b", "topic"]);
    dir.write("mod.py", OLD);
    dir.commit("two");
    fs::write(dir.path("pycgate.toml"), "exclude = [\"[\"]\nno such key").expect("a file");
    for branch in ["main", "topic", "main"] {
        dir.git(&["checkout", "-q", branch]);
    }
    dir.git(&["merge", "-q", "--no-ff", "--no-edit", "topic"]);
    let elsewhere = dir.command("git").env("PATH", "/usr/bin:/bin");
    elsewhere.args(["checkout", "-q", "topic"]).ok();
}

/// Sources and entries from the future and from before 1970 are judged like any other.
#[test]
fn with_times_out_of_the_ordinary() {
    let python = interpreter::main();
    let dir = Dir::new();
    let far = SystemTime::now() + Duration::from_secs(3600 * 24 * 365);
    dir.write("future.py", OLD);
    dir.write("past.py", OLD);
    filetime::set_file_mtime(dir.path("future.py"), FileTime::from(far)).expect("the mtime");
    let early = FileTime::from_unix_time(-1000, 0);
    filetime::set_file_mtime(dir.path("past.py"), early).expect("the mtime");
    for module in ["future", "past"] {
        dir.import_value(python, module);
        let entry = dir.path(dir.entry(python, &format!("{module}.py")));
        filetime::set_file_mtime(&entry, FileTime::from(far)).expect("the mtime");
    }
    for (module, mtime) in [("future", FileTime::from(far)), ("past", early)] {
        let source = format!("{module}.py");
        dir.write(&source, NEW);
        filetime::set_file_mtime(dir.path(&source), mtime).expect("the mtime");
        assert_eq!(dir.import_value(python, module), "old", "{module}");
    }
    dir.pycgate(&["gate"]).expect(0);
    for module in ["future", "past"] {
        assert_eq!(dir.import_value(python, module), "new", "{module}");
    }
}
