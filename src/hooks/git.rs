//! Asking the `git` command, the way a person at a prompt would.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::git::LOCAL_VARIABLES;

/// The `git` command in one directory.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
    inherits: bool,
}

/// What a `git` command said.
#[derive(Debug)]
pub struct Answer {
    /// Whether it exited 0.
    pub success: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, trimmed.
    pub stderr: String,
}

impl Git {
    /// Git in `directory`, with the caller's environment: `GIT_DIR` counts.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            inherits: true,
        }
    }

    /// Git in a submodule: variables that name the outer repository do not count.
    pub fn in_submodule(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            inherits: false,
        }
    }

    /// The same git in another directory.
    #[must_use]
    pub fn moved_to(&self, directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            ..*self
        }
    }

    /// Runs git, whatever its exit status. It takes no optional lock and runs no hook of ours.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn ask<I>(&self, arguments: I) -> Result<Answer>
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.directory)
            .args(arguments)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .env("PYCGATE_SKIP", "1")
            .stdin(Stdio::null());
        if !self.inherits {
            for name in LOCAL_VARIABLES {
                command.env_remove(name);
            }
        }
        let output = command
            .output()
            .context("cannot start `git`: install it, or put it on PATH")?;
        Ok(Answer {
            success: output.status.success(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Runs git and gives its standard output without the last newline.
    ///
    /// # Errors
    /// Git cannot be started, or fails; its own message is in the error.
    pub fn line(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut answer = self.ask(arguments)?;
        if !answer.success {
            bail!("`git {}` failed: {}", arguments.join(" "), answer.stderr);
        }
        if answer.stdout.ends_with(b"\n") {
            answer.stdout.pop();
        }
        Ok(answer.stdout)
    }

    /// Git's version, as in `(2, 47)`. None if it is not told in the usual form.
    ///
    /// # Errors
    /// Git cannot be started, or fails.
    pub fn version(&self) -> Result<Option<(u32, u32)>> {
        let said = self.line(&["version"])?;
        Ok(parse_version(&String::from_utf8_lossy(&said)))
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
    fn versions() {
        assert_eq!(parse_version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(parse_version("git version 2.54.0.windows.1"), Some((2, 54)));
        assert_eq!(
            parse_version("git version 2.39.5 (Apple Git-154)"),
            Some((2, 39))
        );
        assert_eq!(parse_version("hub 1"), None);
    }
}
