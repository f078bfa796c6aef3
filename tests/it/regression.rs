//! One function a fault that was reported: the situation, what is done, and what Python imports
//! then. A fault that was fixed gets its function here, with the right value, before its fix.
//!
//! [`Dir::make_stale`] is the incident itself, with no clock to wait for.

use crate::harness::Dir;

/// The incident, and the gate: what every other function here is a variation of.
#[test]
fn a_source_rewritten_at_its_size_with_its_time_put_back() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    dir.make_stale("mod.py", "V = 2\n");
    dir.pycgate(["gate"]).expect(0);
    assert_eq!(dir.value("mod"), "2");
}

/// A package that git deletes stays importable for as long as its caches lie there.
#[test]
fn a_package_that_is_deleted() {
    let dir = Dir::new();
    dir.write("pkg/__init__.py", "V = 1\n");
    dir.commit("one");
    dir.install();
    assert_eq!(dir.value("pkg"), "1");
    dir.git(["rm", "-q", "-r", "pkg"]);
    assert!(!dir.importable("pkg"));
}
