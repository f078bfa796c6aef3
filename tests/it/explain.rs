//! `explain`: what is shown of an entry.

use crate::harness::{Dir, interpreter, race};

#[test]
fn a_source_and_an_entry_are_explained() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.write("old.py", "V = 1\n");
    race::wait_out(race::Margin::Plain, &[dir.path("old.py")]);
    dir.write("mod.py", "V = 2\n");
    dir.import_value(python, "mod");
    dir.import_value(python, "old");
    let racy = dir.pycgate(&["explain", "mod.py"]).ok();
    for part in [
        "racy",
        "within the margin of 2.0",
        "magic",
        "(checked by mtime and size)",
        "6 bytes = its source's",
        "source last touched",
        "entry written: too soon to be sure",
        "compiling what was there before has ended",
    ] {
        assert!(racy.contains(part), "{part}\n{racy}");
    }
    let entry = dir.entry(python, "old.py");
    let settled = dir.pycgate(&["explain"]).arg(&entry).ok();
    assert!(
        settled.contains("later than that, so it is settled"),
        "{settled}"
    );
    assert!(
        settled.lines().all(|line| line.chars().count() <= 80),
        "{settled}"
    );
    assert!(!settled.contains('\u{1b}'));
    assert!(
        dir.pycgate(&["explain", "--color", "always", "mod.py"])
            .ok()
            .contains('\u{1b}')
    );
    dir.write("new.py", "V = 1\n");
    assert!(
        dir.pycgate(&["explain", "new.py"])
            .ok()
            .contains("no entry")
    );
    for (path, status) in [("missing.txt", 2), (".", 2), ("/etc/passwd", 2)] {
        dir.pycgate(&["explain", path]).expect(status);
    }
}

#[test]
fn entries_of_every_kind_are_explained() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    for name in [
        "mod.cpython-311.pyc",
        "mod.cpython-36.pyc",
        "mod.cpython-311-pytest-8.3.4.pyc",
        "mod.graalpy242-311.pyc",
        "mod.f-1.py311.nbi",
        "gone.cpython-311.pyc",
    ] {
        dir.write(format!("__pycache__/{name}"), "short");
        let shown = dir
            .pycgate(&["explain", &format!("__pycache__/{name}")])
            .ok();
        assert!(
            shown.starts_with(&format!("__pycache__/{name}: ")),
            "{shown}"
        );
    }
    let prefix = dir.beside("prefix");
    let inside = prefix.join(dir.root().strip_prefix("/").expect("absolute"));
    std::fs::create_dir_all(&inside).expect("directories");
    std::fs::write(inside.join("mod.cpython-311.pyc"), "short").expect("an entry");
    let explain = dir
        .pycgate(&["explain", "--pycache-prefix"])
        .arg(&prefix)
        .arg(inside.join("mod.cpython-311.pyc"));
    assert!(explain.ok().contains("rejected"));
}
