//! How the program ends: every exit status there is.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::process::ExitCode;

/// An exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// It is done, and nothing is wrong.
    pub const SUCCESS: Self = Self(0);
    /// It is done, and something needs attention: `check` and `doctor` have found something, or not
    /// everything could be removed or installed.
    pub const ATTENTION: Self = Self(1);
    /// It could not be done, or was not asked for in words that are understood.
    pub const ERROR: Self = Self(2);
    /// The gate cannot tell, or has failed itself: as timeout(1) and env(1) have it, and what
    /// `git bisect run` takes for "skip this commit".
    pub const INCONCLUSIVE: Self = Self(125);
    /// The gate's command is not executable.
    pub const NOT_EXECUTABLE: Self = Self(126);
    /// The gate's command is not found.
    pub const NOT_FOUND: Self = Self(127);

    /// What a command that has failed itself, or was used wrongly, ends with.
    pub fn of_failed(command: &OsStr) -> Self {
        match command.to_str() {
            Some("gate") => Self::INCONCLUSIVE,
            // No git operation fails because of us.
            Some("hook") => Self::SUCCESS,
            _ => Self::ERROR,
        }
    }

    /// The sweep's own exit status: 128+n where signal n ended it.
    pub fn of_sweep(status: u8) -> Self {
        Self(status)
    }

    /// [`Exit::ATTENTION`] if something needs it.
    pub fn attention_if(needed: bool) -> Self {
        if needed {
            Self::ATTENTION
        } else {
            Self::SUCCESS
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}
