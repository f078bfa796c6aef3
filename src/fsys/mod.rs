//! What the operating system says of files: stats and directory handles; threads to ask it in.
//!
//! [`Stat`] and [`Time`] are plain data, so that the rooms above can be pure. What needs a
//! platform (ctime, directory handles, `openat2`) is in one file per platform.

use std::time::{SystemTime, UNIX_EPOCH};

mod obstacle;
pub mod path;
pub mod relative;
mod resolve;
mod threads;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

pub use obstacle::Obstacle;
pub use platform::{Dir, DirBuffer, access, process, system_prefix};
pub use resolve::{Resolved, resolve};
pub use threads::{Shared, WORTH_THREADS, cores, in_threads};

/// A point in time as the file system keeps it: seconds and nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Whole seconds since the epoch; negative before it.
    pub sec: i64,
    /// Nanoseconds within the second, 0 to 999_999_999.
    pub nsec: u32,
}

impl Time {
    /// The time of a clock; the epoch for what is before it.
    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            sec: since.as_secs() as i64,
            nsec: since.subsec_nanos(),
        }
    }

    /// Nanoseconds since the epoch.
    pub fn as_nanos(self) -> i128 {
        i128::from(self.sec) * 1_000_000_000 + i128::from(self.nsec)
    }
}

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink, or what else leads elsewhere.
    Symlink,
    /// A device, a pipe, a socket, or what does not tell.
    Other,
}

/// What `lstat(2)` or `stat(2)` says of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Device the file lies on.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// File type and permission bits (`st_mode`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content; can be set to anything.
    pub mtime: Time,
    /// Last change of the inode; cannot be set back. Where a platform keeps none: the mtime.
    pub ctime: Time,
    /// When the inode was made, where it was asked for and the file system keeps it; cannot be set.
    pub born: Option<Time>,
}

/// What git records in its index of a stat beside mtime and size; `None` where it records something
/// else here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The ctime.
    pub ctime: Option<Time>,
    /// The inode number.
    pub ino: Option<u64>,
    /// Owner and group.
    pub owner: Option<(u32, u32)>,
}

impl Stat {
    /// The type of file.
    pub fn file_type(&self) -> FileType {
        match self.mode & 0o170_000 {
            0o100_000 => FileType::File,
            0o040_000 => FileType::Directory,
            0o120_000 => FileType::Symlink,
            _ => FileType::Other,
        }
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.file_type() == FileType::File
    }

    /// What git would record of it.
    pub fn recorded(&self) -> Recorded {
        platform::recorded(self)
    }

    /// Whether its owner may run it, which is what git records.
    pub fn may_run(&self) -> bool {
        self.mode & 0o100 != 0
    }
}
