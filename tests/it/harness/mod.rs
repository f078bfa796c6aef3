//! What the tests stand on: real repositories, real interpreters, and an environment of their own.
//!
//! - [`Dir`]: a scratch repository (or plain directory): write, git, Python, pycgate
//! - [`Situation`]: a git operation that rewrites a source within a second, with hooks and without
//! - [`TestCommand`]: a child with nothing of the caller's environment that steers git or Python
//! - [`interpreter`]: every CPython and PyPy found here
//! - [`race`]: situations that one second must hold, and entries that are old enough to be settled
//! - [`pyc`]: reads headers and source stats as interpreters do, on its own: never with our library
//! - [`venv`]: programs from PyPI, installed once under `target/`
//!
//! A test builds the situation, asserts the stale import without pycgate, acts, and asks Python
//! what it imports. Truth is never our own judgement.
#![allow(
    dead_code,
    unused_imports,
    reason = "a toolbox: not every tool is in use at every moment"
)]

mod command;
mod dir;
pub mod interpreter;
pub mod pyc;
pub mod race;
mod situation;
pub mod venv;

pub use command::{Done, TestCommand, clean, done};
pub use dir::Dir;
pub use interpreter::Interpreter;
pub use situation::Situation;

/// Every command of the program.
pub const COMMANDS: [&str; 10] = [
    "gate",
    "check",
    "purge",
    "explain",
    "hook",
    "install",
    "uninstall",
    "doctor",
    "completions",
    "man",
];

/// The pycgate that cargo has built for these tests.
pub const PYCGATE: &str = env!("CARGO_BIN_EXE_pycgate");

/// A directory under `target/` that stays from run to run.
pub const TARGET_TMP: &str = env!("CARGO_TARGET_TMPDIR");

/// The root of this repository.
pub const MANIFEST: &str = env!("CARGO_MANIFEST_DIR");

/// A user that is not root and owns nothing, and its group.
pub const NOBODY: u32 = 65534;

/// Whether the tests run as root: then permissions hold nobody back, and [`TestCommand::by_nobody`]
/// works.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Says something on the real standard error, past the capture of the test runner.
pub fn announce(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The directory of the program, to put on PATH.
pub fn bin_directory() -> &'static std::path::Path {
    let directory = std::path::Path::new(PYCGATE).parent();
    directory.expect("the program lies in a directory")
}
