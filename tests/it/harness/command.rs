//! Children of the tests.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Variables that steer git, Python or their tools: nothing of the caller's gets in.
const STEERING: [&str; 12] = [
    "PYTHON",
    "PYTEST",
    "PYENV_VERSION",
    "PYPY",
    "GIT_",
    "PYCGATE",
    "PRE_COMMIT",
    "PREK_",
    "LEFTHOOK",
    "VIRTUAL_ENV",
    "COVERAGE",
    "XDG_",
];

/// What a child left behind.
#[derive(Debug)]
pub struct Done {
    /// The exit status, or 128+n where signal n ended it.
    pub status: i32,
    /// Everything on standard output.
    pub stdout: String,
    /// Everything on standard error.
    pub stderr: String,
}

/// A command in a scratch directory, in a clean environment, with nothing on standard input.
#[derive(Debug)]
pub struct TestCommand {
    command: Command,
    input: Option<Vec<u8>>,
    /// Where a copy of the program can be put for a user that cannot reach `target/`.
    scratch: PathBuf,
}

impl TestCommand {
    /// A command that runs in `directory`, with `base/home` as its home.
    pub fn new(program: impl AsRef<OsStr>, directory: &Path, base: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(directory).stdin(Stdio::null());
        clean(&mut command);
        command
            .env("HOME", base.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .env("LC_ALL", "C.UTF-8")
            // Signed-off interpreters and pip keep their caches where the caller has them.
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        Self {
            command,
            input: None,
            scratch: base.to_owned(),
        }
    }

    /// One more argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// More arguments.
    pub fn args<I>(mut self, arguments: I) -> Self
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Puts a directory first on PATH.
    pub fn path_first(mut self, directory: &Path) -> Self {
        let mut path = OsString::from(directory);
        path.push(":");
        let before = self.command.get_envs().find(|(name, _)| *name == "PATH");
        let before = before.and_then(|(_, value)| value.map(OsStr::to_owned));
        path.push(
            before
                .or_else(|| std::env::var_os("PATH"))
                .unwrap_or_default(),
        );
        self.command.env("PATH", path);
        self
    }

    /// Runs it somewhere else.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// What it reads on standard input.
    pub fn input(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.input = Some(bytes.as_ref().to_owned());
        self
    }

    /// Runs it as a user that is not root; the test must be root. The program is copied to where
    /// that user can reach it.
    pub fn by_nobody(self) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        assert!(super::is_root(), "only root can become another user");
        let program = Path::new(self.command.get_program());
        let mut reachable = program.to_owned();
        if program == Path::new(super::PYCGATE) {
            reachable = self.scratch.join("pycgate-for-others");
            if !reachable.exists() {
                // By another process: a child that is forked meanwhile would keep the copy open for
                // writing, and then nobody can start it.
                let copied = Command::new("cp").arg(program).arg(&reachable).status();
                assert!(
                    copied.expect("cp starts").success(),
                    "a copy of the program"
                );
            }
            for directory in [&self.scratch, &reachable] {
                let open = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(directory, open).expect("others may pass");
            }
        }
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={}", super::NOBODY))
            .arg(format!("--regid={}", super::NOBODY))
            .args(["--clear-groups", "--"])
            .arg(reachable)
            .args(self.command.get_args())
            .stdin(Stdio::null());
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self { command, ..self }
    }

    /// Starts it and leaves it running, with its output collected by `Child::wait_with_output`.
    pub fn spawn(mut self) -> Child {
        self.command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{:?} does not start: {error}", self.command))
    }

    /// Runs it to its end, whatever comes of it.
    pub fn run(mut self) -> Done {
        if self.input.is_some() {
            self.command.stdin(Stdio::piped());
        }
        let input = self.input.take();
        let mut child = self.spawn();
        if let Some(input) = input {
            let mut stdin = child.stdin.take().expect("it is piped");
            // A child that does not read its input is no failure of the test.
            let _ = stdin.write_all(&input);
        }
        done(child)
    }

    /// Runs it; it must end with this status.
    pub fn expect(self, status: i32) -> Done {
        let shown = format!("{:?}", self.command);
        let done = self.run();
        assert_eq!(
            done.status, status,
            "{shown}\n--- stdout\n{}--- stderr\n{}",
            done.stdout, done.stderr
        );
        done
    }

    /// Runs it; it must succeed. Its standard output without the last newline.
    pub fn ok(self) -> String {
        let mut stdout = self.expect(0).stdout;
        stdout.truncate(stdout.trim_end_matches('\n').len());
        stdout
    }

    /// The command itself, for what this type has no method for.
    pub fn into_inner(self) -> Command {
        self.command
    }
}

/// Waits for a child made by [`TestCommand::spawn`].
pub fn done(child: Child) -> Done {
    use std::os::unix::process::ExitStatusExt as _;
    let output = child.wait_with_output().expect("the child ends");
    let status = output.status;
    Done {
        status: status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
            .expect("ended by itself or by a signal"),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Takes what steers git and Python out of a command's environment.
pub fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if STEERING.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}
