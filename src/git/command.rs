//! The `git` command: the one place that starts it.
//!
//! It takes no optional lock, fetches nothing, runs no hook and no file monitor, asks nobody, and speaks
//! English.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, anyhow};
use bstr::ByteSlice as _;

/// Variables that tie a command to one repository; they are not for submodules and nested ones.
pub const LOCAL_VARIABLES: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// The `git` command, in one directory.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
    /// Whether the variables that name another repository are taken from its environment.
    apart: bool,
    /// What names the repository, once it is known: paths are relative to its root then.
    bound: Vec<(&'static str, PathBuf)>,
}

impl Git {
    /// Commands run in `directory` and find the repository as git does: `GIT_DIR` counts.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            apart: false,
            bound: Vec::new(),
        }
    }

    /// As [`Git::at`], for a repository that is not the one `GIT_DIR` names.
    pub fn apart(directory: &Path) -> Self {
        Self {
            apart: true,
            ..Self::at(directory)
        }
    }

    /// The same git in another directory.
    #[must_use]
    pub fn moved_to(self, directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            ..self
        }
    }

    /// The same repository, asked from the root of its work tree.
    pub(super) fn bound_to(self, git_dir: &Path, root: &Path, index: &Path) -> Self {
        let mut bound = vec![
            ("GIT_DIR", git_dir.to_path_buf()),
            ("GIT_WORK_TREE", root.to_path_buf()),
            ("GIT_INDEX_FILE", index.to_path_buf()),
        ];
        if let Some(common) = std::env::var_os("GIT_COMMON_DIR").filter(|_| !self.apart) {
            let common = self.directory.join(common);
            let common = std::path::absolute(&common).unwrap_or(common);
            bound.push(("GIT_COMMON_DIR", common));
        }
        Self {
            bound,
            ..self.moved_to(root)
        }
    }

    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.directory)
            .arg("--no-optional-locks")
            .args(["-c", "core.fsmonitor=false"]);
        // These two run no hook, and are to say which are configured.
        if !matches!(arguments, [first, ..] if *first == "config" || *first == "rev-parse") {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        command
            .args(arguments)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env("PYCGATE_SKIP", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.apart {
            for name in LOCAL_VARIABLES {
                command.env_remove(name);
            }
        }
        command.envs(self.bound.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs git, whatever its exit status. `input` is its standard input.
    ///
    /// # Errors
    /// If git does not start.
    pub fn ask<S: AsRef<OsStr>>(&self, arguments: &[S], input: Option<Vec<u8>>) -> Result<Output> {
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        let mut command = self.command(&arguments);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command
            .spawn()
            .context("cannot start `git`: install it or put it on PATH")?;
        let stdin = child.stdin.take();
        let writer = stdin.zip(input).map(|(mut stdin, input)| {
            // Git may end before it has read everything; its status tells.
            std::thread::spawn(move || drop(stdin.write_all(&input)))
        });
        let output = child.wait_with_output().context("cannot read from `git`")?;
        if let Some(writer) = writer {
            let _ = writer.join();
        }
        Ok(output)
    }

    /// Standard output of a git command.
    ///
    /// # Errors
    /// If git does not start or fails; the message carries what it said.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>> {
        let output = self.ask(arguments, None)?;
        if !output.status.success() {
            return Err(self.failure(arguments, &output));
        }
        Ok(output.stdout)
    }

    /// As [`Git::run`], without the line end behind it.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn line<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>> {
        let mut line = self.run(arguments)?;
        if line.ends_with(b"\n") {
            line.pop();
        }
        Ok(line)
    }

    pub(super) fn failure<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        output: &Output,
    ) -> anyhow::Error {
        let words: Vec<_> = arguments
            .iter()
            .map(|word| word.as_ref().to_string_lossy())
            .collect();
        let said = output.stderr.to_str_lossy();
        anyhow!(
            "`git {}` failed in {}: {}",
            words.join(" "),
            self.directory.display(),
            said.trim().lines().next().unwrap_or("it said nothing")
        )
    }

    /// Git's version, as in `(2, 47)`. `None` if it is not told in the usual form.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn version(&self) -> Result<Option<(u32, u32)>> {
        Ok(parse_version(&self.run(&["version"])?.to_str_lossy()))
    }
}

fn parse_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_guarded_and_still_says_where_hooks_are() {
        let git = Git::apart(Path::new("place"));
        for (question, off) in [
            ("diff-index", true),
            ("config", false),
            ("rev-parse", false),
        ] {
            let command = git.command(&[question.as_ref()]);
            let words: Vec<_> = command.get_args().filter_map(OsStr::to_str).collect();
            assert_eq!(
                words.contains(&"core.hooksPath=/dev/null"),
                off,
                "{words:?}"
            );
            for guard in ["--no-optional-locks", "core.fsmonitor=false"] {
                assert!(words.contains(&guard), "{words:?}");
            }
            let variable = |name: &str| {
                let mut variables = command.get_envs();
                variables
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value)
            };
            for name in ["GIT_NO_LAZY_FETCH", "PYCGATE_SKIP"] {
                assert_eq!(variable(name), Some(Some("1".as_ref())), "{name}");
            }
            assert_eq!(variable("LC_ALL"), Some(Some("C".as_ref())));
            assert_eq!(variable("GIT_DIR"), Some(None));
        }
    }

    #[test]
    fn versions() {
        assert_eq!(parse_version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(parse_version("git version 2.54.0.windows.1"), Some((2, 54)));
        assert_eq!(
            parse_version("git version 2.39.5 (Apple Git-154)"),
            Some((2, 39))
        );
        assert_eq!(parse_version("hub 1"), None);
    }
}
