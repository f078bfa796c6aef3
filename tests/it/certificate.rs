//! What ran is what is on disk, for every source and not only for the payload.
//!
//! Each test passes its sweep where nothing is compared but the payload.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::race::{Margin, wait_out};
use crate::harness::{Dir, interpreter};
use crate::report::valid;

/// Runs `gate --report` over a script of the shell: the exit status, the reasons, the notes.
fn gate(dir: &Dir, options: &[&str], script: &str) -> (i32, String, String) {
    let file = dir.beside("report.json");
    let _ = fs::remove_file(&file);
    let gate = dir
        .pycgate(&["gate", "--report"])
        .arg(&file)
        .args(options)
        .args(["--", "sh", "-c", script]);
    let done = gate.run();
    let report = valid(&fs::read_to_string(&file).expect("the report"));
    assert_eq!(
        report["sweep"]["exit"], 0,
        "{script}: {report:#}\n{}",
        done.stderr
    );
    let lines = |key: &str| {
        let lines = report[key].as_array().cloned().unwrap_or_default();
        let lines: Vec<_> = lines.iter().filter_map(Value::as_str).collect();
        lines.join("\n")
    };
    (done.status, lines("reasons"), lines("notes"))
}

fn inconclusive(dir: &Dir, options: &[&str], script: &str, expected: &str) {
    let (status, reasons, _) = gate(dir, options, script);
    assert_eq!(status, 125, "{script}: {reasons}");
    assert!(reasons.contains(expected), "{script}: {reasons}");
}

fn passes(dir: &Dir, options: &[&str], script: &str) -> String {
    let (status, reasons, notes) = gate(dir, options, script);
    assert_eq!((status, reasons.as_str()), (0, ""), "{script}");
    notes
}

/// A work tree with the submodule `sub`, in which `s.py` has two commits.
fn with_submodule() -> Dir {
    let dir = Dir::new();
    let other = dir.beside("other");
    fs::create_dir(&other).expect("a directory");
    let git = |arguments: &[&str]| {
        dir.command("git").current_dir(&other).args(arguments).ok();
    };
    git(&["init", "-q"]);
    for content in ["V = 1\n", "V = 2\n"] {
        fs::write(other.join("s.py"), content).expect("a source");
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "one"]);
    }
    let url = other.to_str().expect("a path in UTF-8");
    dir.git(&["submodule", "--quiet", "add", url, "sub"]);
    dir.write("a.py", "V = 1\n");
    dir.commit("one");
    dir
}

#[test]
fn a_submodule_whose_head_moves_is_named() {
    let dir = with_submodule();
    inconclusive(
        &dir,
        &[],
        "git -C sub checkout -q HEAD~1",
        "sub/s.py changed during the sweep",
    );
    dir.git(&["submodule", "--quiet", "update"]);
    // Where nothing on disk changes, nothing ran that is not there.
    passes(&dir, &[], "git -C sub reset -q --soft HEAD~1");
}

#[test]
fn a_submodule_without_a_readable_index_is_covered() {
    let dir = with_submodule();
    fs::write(dir.path(".git/modules/sub/index"), "no index").expect("it is overwritten");
    inconclusive(
        &dir,
        &[],
        "printf 'V = 9\\n' > sub/s.py",
        "sub/s.py changed during the sweep",
    );
    passes(&dir, &[], "true");
}

#[test]
fn a_nested_repository_is_covered_unless_it_is_ignored() {
    let dir = Dir::new();
    dir.write("a.py", "V = 1\n");
    dir.write(".gitignore", "ignored/\n");
    dir.commit("one");
    for nested in ["nested", "ignored/nested"] {
        dir.write(format!("{nested}/n.py"), "V = 1\n");
        dir.write(format!("{nested}/.gitignore"), "made.py\n");
        dir.write(format!("{nested}/made.py"), "V = 1\n");
        dir.git(&["init", "-q", nested]);
        dir.git(&["-C", nested, "add", "n.py"]);
        dir.git(&["-C", nested, "commit", "-q", "-m", "one"]);
    }
    inconclusive(
        &dir,
        &[],
        "printf 'V = 2\\n' > nested/n.py",
        "nested/n.py changed during the sweep",
    );
    inconclusive(
        &dir,
        &[],
        "printf 'V = 2\\n' > nested/new.py",
        "nested/new.py appeared during the sweep",
    );
    passes(&dir, &[], "printf 'V = 2\\n' > nested/made.py");
    passes(&dir, &[], "printf 'V = 2\\n' > ignored/nested/n.py");
}

#[test]
fn what_the_outer_repository_tracks_stays_its_payload() {
    for cover in ["touch d/.git", "git init -q d"] {
        let dir = Dir::new();
        dir.write("d/m.py", "V = 1\n");
        dir.write("d/e/m.py", "V = 1\n");
        dir.commit("one");
        inconclusive(
            &dir,
            &[],
            &format!("{cover}; printf 'V = 2\\n' > d/m.py"),
            "d/m.py changed during the sweep",
        );
        dir.write("d/e/m.py", "V = 3\n");
        inconclusive(
            &dir,
            &[],
            "printf 'V = 4\\n' > d/e/m.py",
            "d/e/m.py changed during the sweep",
        );
        let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
        assert_eq!(
            valid(&report)["payload"]["sources"],
            serde_json::json!(["d/e/m.py", "d/m.py"]),
            "{cover}"
        );
    }
}

#[test]
fn what_a_tracked_link_leads_to_is_covered() {
    let dir = Dir::new();
    fs::create_dir(dir.beside("out")).expect("a directory");
    fs::write(dir.beside("out/impl.py"), "V = 1\n").expect("a source");
    dir.write(".gitignore", "made/\nlinked/\n");
    dir.write("made/impl.py", "V = 1\n");
    dir.write("made/other.py", "V = 1\n");
    dir.write("linked/pkg/impl.py", "V = 1\n");
    symlink("../out/impl.py", dir.path("outside.py")).expect("a link");
    symlink("made/impl.py", dir.path("ignored.py")).expect("a link");
    symlink("linked/pkg", dir.path("pkg")).expect("a link");
    dir.commit("one");
    for (script, expected) in [
        ("printf 'V = 2\\n' > ../out/impl.py", "outside.py changed"),
        ("printf 'V = 2\\n' > made/impl.py", "ignored.py changed"),
        (
            "printf 'V = 2\\n' > linked/pkg/impl.py",
            "linked/pkg/impl.py changed",
        ),
        (
            "printf 'V = 2\\n' > linked/pkg/new.py",
            "linked/pkg/new.py appeared",
        ),
        ("ln -sf made/other.py ignored.py", "ignored.py changed"),
        ("rm ../out/impl.py", "outside.py"),
    ] {
        inconclusive(&dir, &[], script, expected);
    }
    // The same content, and what no tracked link leads to.
    let notes = passes(
        &dir,
        &[],
        "cp linked/pkg/impl.py x && cat x > linked/pkg/impl.py",
    );
    assert!(notes.contains("linked/pkg/impl.py"), "{notes}");
    passes(&dir, &[], "printf 'V = 2\\n' > made/new.py");
    passes(&dir, &[], "cp made/new.py x && cat x > made/new.py");
}

#[test]
fn sources_of_further_trees_are_covered() {
    let dir = Dir::new();
    dir.write("a.py", "V = 1\n");
    dir.commit("one");
    fs::create_dir_all(dir.beside("lib/pkg")).expect("a directory");
    fs::write(dir.beside("lib/pkg/m.py"), "V = 1\n").expect("a source");
    for script in [
        "printf 'V = 2\\n' > ../lib/pkg/m.py",
        "printf 'V = 3\\n' > ../lib/pkg/new.py",
        "rm ../lib/pkg/new.py",
    ] {
        let name = if script.contains("new") { "new" } else { "m" };
        inconclusive(
            &dir,
            &["--also", "../lib"],
            script,
            &format!("lib/pkg/{name}.py"),
        );
        passes(&dir, &["--also", "../lib"], "true");
    }
    passes(&dir, &[], "printf 'V = 5\\n' > ../lib/pkg/m.py");
}

#[test]
fn an_environment_at_the_root_switches_nothing_off() {
    let dir = Dir::new();
    dir.write("pkg/m.py", "V = 1\n");
    dir.write("bin/tracked.py", "V = 1\n");
    dir.write("bin/own.py", "V = 1\n");
    dir.write("lib/python3.11/site-packages/x/m.py", "V = 1\n");
    dir.write("pyvenv.cfg", "home = /usr/bin\n");
    dir.git(&["add", "pkg", "bin/tracked.py"]);
    dir.git(&["commit", "-q", "-m", "one"]);
    for (script, expected) in [
        ("printf 'V = 2\\n' > pkg/m.py", "pkg/m.py changed"),
        ("printf 'V = 2\\n' > pkg/new.py", "pkg/new.py appeared"),
        (
            "printf 'V = 2\\n' > bin/tracked.py",
            "bin/tracked.py changed",
        ),
    ] {
        inconclusive(&dir, &[], script, expected);
    }
    passes(&dir, &[], "printf 'V = 2\\n' > bin/own.py");
    passes(
        &dir,
        &[],
        "printf 'V = 2\\n' > lib/python3.11/site-packages/x/m.py",
    );
    let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
    assert_eq!(
        valid(&report)["payload"]["sources"],
        serde_json::json!(["bin/tracked.py", "pkg/m.py", "pkg/new.py"])
    );
}

#[test]
fn outside_git_every_source_is_covered() {
    let dir = Dir::plain();
    dir.write("m.py", "V = 1\n");
    for (script, expected) in [
        ("printf 'V = 2\\n' > m.py", "m.py changed"),
        ("printf 'V = 2\\n' > new.py", "new.py appeared"),
        ("rm new.py", "new.py vanished"),
    ] {
        inconclusive(&dir, &[], script, expected);
    }
    passes(&dir, &[], "cp m.py x; cat x > m.py");
}

#[test]
fn the_words_fit_what_happened() {
    let dir = Dir::new();
    dir.write(".gitignore", "made.py\n");
    for name in ["clean.py", "dirty.py", "left.py", "mode.py"] {
        dir.write(name, "V = 1\n");
    }
    dir.write("made.py", "V = 1\n");
    dir.commit("one");
    dir.write("dirty.py", "V = 2\n");
    dir.write("left.py", "V = 2\n");
    for (script, expected) in [
        ("printf 'V = 7\\n' > clean.py", "clean.py changed"),
        ("git checkout -q -- dirty.py", "dirty.py changed"),
        ("rm clean.py", "clean.py vanished"),
        ("git checkout -q -- clean.py", "clean.py appeared"),
    ] {
        inconclusive(&dir, &[], script, expected);
    }
    // `--only` limits the payload, and not what ran.
    inconclusive(
        &dir,
        &["--only", "clean.py"],
        "printf 'V = 8\\n' > left.py",
        "left.py changed",
    );
    let notes = passes(
        &dir,
        &["--only", "clean.py"],
        "cp left.py x; cat x > left.py",
    );
    assert!(notes.contains("left.py was rewritten"), "{notes}");
    for harmless in [
        "chmod +x mode.py",
        "chmod 600 clean.py",
        "ln clean.py ../link",
        "printf 'V = 2\\n' > made.py",
        "printf 'V = 2\\n' > made.py; rm made.py",
        "git commit -q -a -m two",
        "true",
    ] {
        assert_eq!(passes(&dir, &[], harmless), "", "{harmless}");
    }
}

/// Rewrites `m.py`, imports it and puts it back. With `write`, the import leaves
/// its entry, which is accepted for what was there before as well.
fn put_back(write: bool) -> String {
    let python = interpreter::main().path.display().to_string();
    let (flag, time) = if write {
        ("", "touch -r ../kept m.py")
    } else {
        ("-B", "true")
    };
    format!(
        "cp -p m.py ../kept; printf 'V = 2\\n' > m.py; {time}; \
         {python} {flag} -c 'import m; assert m.V == 2'; cat ../kept > m.py; {time}"
    )
}

#[test]
fn code_that_ran_and_is_not_on_disk_is_convicted() {
    let dir = Dir::new();
    dir.write("m.py", "V = 1\n");
    dir.commit("one");
    wait_out(Margin::Plain, &[dir.path("m.py")]);
    let (status, reasons, _) = gate(&dir, &[], &put_back(true));
    assert_eq!(status, 125, "{reasons}");
    assert!(
        reasons.contains("m.py") && reasons.contains("code ran that is not on disk"),
        "{reasons}"
    );
    // What is left is right.
    assert_eq!(dir.import_value(interpreter::main(), "m"), "1");
    // Without an entry nobody can tell what ran: a note, and with --strict a reason.
    let notes = passes(&dir, &[], &put_back(false));
    assert!(
        notes.contains("m.py was rewritten during the sweep with the same content"),
        "{notes}"
    );
    inconclusive(&dir, &["--strict"], &put_back(false), "m.py was rewritten");
    dir.write("pycgate.toml", "strict = true\n");
    inconclusive(&dir, &[], &put_back(false), "m.py was rewritten");
}

#[test]
fn a_generator_that_writes_the_same_again_is_no_reason() {
    let dir = Dir::new();
    dir.write("m.py", "V = 1\n");
    dir.commit("one");
    let python = interpreter::main().path.display().to_string();
    // The import after it leaves an entry that only an interpreter can acquit.
    let script = format!("cp m.py ../x; cat ../x > m.py; {python} -c 'import m'");
    let notes = passes(&dir, &[], &script);
    assert!(notes.contains("m.py was rewritten"), "{notes}");
    let entry = dir.path(dir.entry(interpreter::main(), "m.py"));
    assert!(entry.exists(), "what is acquitted stays");
    // Where no interpreter can be asked, it counts as convicted.
    let kept = dir.beside("entry");
    fs::copy(&entry, &kept).expect("a copy");
    let other = entry.with_file_name("m.cpython-377.pyc");
    let copy = format!(
        "mkdir -p __pycache__; cp {} {}",
        kept.display(),
        other.display()
    );
    let script = format!("cp -p m.py ../x; cp ../x m.py; touch -r ../x m.py; {copy}");
    passes(&dir, &[], &script);
    let script = format!("cp -p m.py ../x; mv ../x m.py; {copy}");
    inconclusive(&dir, &[], &script, "code ran that is not on disk");
    assert!(!other.exists(), "what nobody acquits goes");
}
