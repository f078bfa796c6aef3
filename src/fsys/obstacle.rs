//! Why the operating system refuses to do something to a file.

use std::io;

use super::platform;

/// An obstacle that a person can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The directory, or the file, may not be written to.
    Access,
    /// The file is immutable, or another user's in a sticky directory.
    Protected,
    /// The file system is mounted read-only.
    ReadOnly,
    /// What was a directory is none any more, or a symlink.
    Swapped,
    /// Another process has the file open.
    InUse,
}

impl Obstacle {
    /// What is behind an error, if it is one of these.
    pub fn of(error: &io::Error) -> Option<Self> {
        platform::obstacle(error)
    }
}
