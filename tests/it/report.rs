//! The report for programs, against its schema.

use serde_json::Value;

use crate::harness::{Dir, interpreter};

/// Parses a report; it must be as `docs/report.schema.json` says.
pub fn valid(text: &str) -> Value {
    let schema: Value =
        serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("the schema");
    let report: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    report
}

fn racy_tree() -> Dir {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    dir.import_value(interpreter::main(), "mod");
    dir
}

#[test]
fn every_command_reports_by_the_schema() {
    let dir = racy_tree();
    let check = valid(&dir.pycgate(&["check", "--format", "json"]).expect(1).stdout);
    assert_eq!(
        (&check["verdict"], &check["payload"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(check["entries"][0]["action"], "kept");
    let dry = valid(&dir.pycgate(&["gate", "--dry-run", "--format", "json"]).ok());
    assert_eq!(
        (&dry["verdict"], &dry["entries"][0]["action"]),
        (&Value::Null, &"would-purge".into())
    );
    valid(&dir.pycgate(&["explain", "mod.py", "--format", "json"]).ok());
    let gate = valid(&dir.pycgate(&["gate", "--format", "json"]).ok());
    assert_eq!(
        (&gate["verdict"], &gate["sweep"]),
        (&"PASS".into(), &Value::Null)
    );
    assert_eq!(gate["counts"]["purged"], 1);
    dir.import_value(interpreter::main(), "mod");
    let purge = valid(&dir.pycgate(&["--format", "json", "purge", "mod.py"]).ok());
    assert_eq!(purge["entries"][0]["action"], "purged");
}

#[test]
fn names_that_are_not_utf_8_are_given_as_bytes() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("__pycache__")).expect("a directory");
    std::fs::write(dir.path_bytes(b"m\xff.py"), "V = 1\n").expect("a source");
    std::fs::write(dir.path_bytes(b"__pycache__/m\xff.cpython-99.pyc"), "x").expect("an entry");
    let report = valid(&dir.pycgate(&["gate", "--format", "json"]).ok());
    assert_eq!(report["entries"][0]["source_b64"], "bf8ucHk=");
    assert_eq!(report["entries"][0]["action"], "purged");
    assert_eq!(report["payload"]["sources_b64"][0], "bf8ucHk=");
}

#[test]
fn what_is_named_is_counted_by_itself() {
    let python = interpreter::main();
    let dir = Dir::new();
    for name in ["a.py", "pkg/b.py", "pkg/c.py"] {
        dir.write(name, "V = 1\n");
    }
    dir.commit("one");
    dir.python(python, "import sys; sys.path.append('pkg'); import a, b, c");
    let counts = |arguments: &[&str], status| {
        let arguments = [arguments, &["--format", "json"]].concat();
        let report = valid(&dir.pycgate(&arguments).expect(status).stdout);
        let listed = report["entries"].as_array().expect("a list").len();
        let counts = &report["counts"];
        (
            counts["scanned"].clone(),
            counts["racy"].clone(),
            counts["purged"].clone(),
            listed,
        )
    };
    let are = |scanned: u64, racy: u64, purged: u64, listed| {
        (scanned.into(), racy.into(), purged.into(), listed)
    };
    assert_eq!(counts(&["check"], 1), are(3, 3, 0, 3));
    assert_eq!(counts(&["check", "a.py"], 1), are(1, 1, 0, 1));
    assert_eq!(counts(&["check", "pkg"], 1), are(2, 2, 0, 2));
    assert_eq!(counts(&["purge", "pkg"], 0), are(2, 2, 2, 2));
    assert_eq!(counts(&["check", "pkg"], 0), are(0, 0, 0, 0));
    assert_eq!(counts(&["purge", "a.py", "pkg"], 0), are(1, 1, 1, 1));
}
