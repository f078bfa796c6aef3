//! A repository of the harness whose root can move and whose commands share variables, with the
//! hooks of `pycgate install` or without; and the situations that one second must hold.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::UNIX_EPOCH;

use crate::harness::{Dir, interpreter};

pub use crate::harness::PYCGATE;
use crate::harness::race::ATTEMPTS;
pub use crate::harness::race::start_of_a_second;

/// A work tree, and what its commands get in their environment.
pub struct Lab {
    directory: Dir,
    /// The root of the work tree.
    pub root: PathBuf,
    variables: Vec<(String, PathBuf)>,
}

impl Lab {
    /// An empty repository on branch `main`.
    pub fn new() -> Self {
        let directory = Dir::new();
        Self {
            root: directory.root().to_owned(),
            directory,
            variables: Vec::new(),
        }
    }

    /// A path beside the work tree that the lab began with.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.beside(name)
    }

    /// Gives all later commands a variable.
    pub fn set(&mut self, name: &str, value: &Path) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// A command in the work tree, in a clean environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.directory.command(program).into_inner();
        command
            .current_dir(&self.root)
            .env("GIT_EDITOR", "true")
            .stdin(Stdio::null())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs git and gives its standard output; it must succeed.
    pub fn git<I>(&self, arguments: I) -> String
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        succeeded(self.command("git").args(arguments))
    }

    /// Runs git with something on its standard input; it must succeed.
    pub fn git_fed(&self, arguments: &[&str], input: &str) -> String {
        let mut child = self
            .command("git")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input.as_bytes()).expect("git reads");
        drop(stdin);
        text(&child.wait_with_output().expect("git ends"))
    }

    /// Runs git, whatever comes of it.
    pub fn git_may_fail(&self, arguments: &[&str]) -> Output {
        self.command("git")
            .args(arguments)
            .output()
            .expect("git starts")
    }

    /// Runs pycgate, whatever comes of it.
    pub fn pycgate(&self, arguments: &[&str]) -> Output {
        self.command(PYCGATE)
            .args(arguments)
            .output()
            .expect("pycgate starts")
    }

    /// Installs every hook.
    pub fn install(&self) {
        succeeded(self.command(PYCGATE).arg("install"));
    }

    /// Writes a file of the work tree, and the directories it needs.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, content).expect("a file");
    }

    /// Stages everything and commits.
    pub fn commit(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Adds a submodule at `path`: a new repository with one commit.
    pub fn submodule(&self, path: &str) {
        self.git(["init", "-q", "../inner"]);
        let commit = ["commit", "-q", "--allow-empty", "-m", "one"];
        self.git(["-C", "../inner"].iter().chain(&commit));
        self.git(["submodule", "add", "-q", "../inner", path]);
    }

    /// What plain Python prints.
    pub fn python(&self, code: &str) -> String {
        succeeded(self.command(python()).args(["-c", code]))
    }

    /// Whether plain Python can run it.
    pub fn python_runs(&self, code: &str) -> bool {
        let output = self.command(python()).args(["-c", code]).output();
        output.expect("Python starts").status.success()
    }

    /// What Python prints when it can find no bytecode: the truth.
    pub fn truth(&self, code: &str) -> String {
        let fresh = tempfile::tempdir().expect("a temporary directory");
        let mut command = self.command(python());
        succeeded(
            command
                .args(["-c", code])
                .env("PYTHONPYCACHEPREFIX", fresh.path()),
        )
    }
}

/// The standard output of a command that must succeed.
pub fn succeeded(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(
        output.status.success(),
        "{command:?} ended with {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    text(&output)
}

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// The interpreter of these tests.
pub fn python() -> &'static Path {
    &interpreter::main().path
}

/// The second that a file was last changed in, and its size: what Python compares.
pub fn stamp(path: &Path) -> (u64, u64) {
    let metadata = fs::metadata(path).expect("the source");
    let modified = metadata.modified().expect("a time");
    let second = modified
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs();
    (second, metadata.len())
}

/// One situation: two states of a repository that the same second holds.
pub struct Situation {
    /// Builds the history; hooks are not yet installed.
    pub prepare: fn(&mut Lab),
    /// What is written just before Python runs for the first time, in the second that counts.
    pub edit: fn(&Lab),
    /// The git operation.
    pub act: fn(&Lab),
    /// The source that changes, relative to the work tree.
    pub source: &'static str,
    /// What Python runs before and after.
    pub code: &'static str,
    /// What the second run must print.
    pub right: &'static str,
    /// More hooks than those of the repository itself.
    pub install: fn(&Lab),
}

impl Situation {
    /// Plain Python runs the old code without the hooks, and the new code with them.
    pub fn check(&self) {
        let without = self.run(false);
        assert_ne!(
            without, self.right,
            "the incident did not happen without hooks"
        );
        let with = self.run(true);
        assert_eq!(with, self.right, "stale with hooks");
    }

    /// What plain Python prints after the operation, in a run where both states of the source
    /// have the same stamp.
    fn run(&self, hooks: bool) -> String {
        for _ in 0..ATTEMPTS {
            let mut lab = Lab::new();
            (self.prepare)(&mut lab);
            if hooks {
                lab.install();
                (self.install)(&lab);
            }
            let source = lab.root.join(self.source);
            start_of_a_second();
            (self.edit)(&lab);
            let before = stamp(&source);
            let old = lab.python(self.code);
            (self.act)(&lab);
            let printed = lab.python(self.code);
            if stamp(&source) == before {
                assert_eq!(
                    lab.truth(self.code),
                    self.right,
                    "the operation did what it should"
                );
                assert_ne!(old, self.right, "the operation changed something");
                return printed;
            }
        }
        panic!("the operation never ended in the second it began in");
    }
}
