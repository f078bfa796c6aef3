//! The stat that git records of a file, against that of the file on disk.
#![forbid(unsafe_code)]

use super::index::IndexEntry;
use super::repo::Repo;
use crate::fsys::{Stat, Time};

/// Configuration that decides what counts as a difference.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether the executable bit counts (`core.fileMode`).
    pub file_mode: bool,
    /// Whether symlinks are symlinks on disk (`core.symlinks`).
    pub symlinks: bool,
}

impl Rules {
    /// The rules of a repository.
    pub fn of(repo: &Repo) -> Self {
        Self {
            file_mode: repo.config_bool("core.filemode", true),
            symlinks: repo.config_bool("core.symlinks", true),
        }
    }
}

/// Whether the recorded stat is the file's. Nanoseconds count where both sides have them, and the
/// ctime always: `core.trustctime` and `core.checkStat` say what git's index is to take for a change,
/// and a needless mismatch costs a look at the content at most.
pub fn stat_matches(entry: &IndexEntry<'_>, stat: &Stat) -> bool {
    let recorded = stat.recorded();
    entry.size() == stat.size as u32
        && same_time(entry.mtime(), stat.mtime)
        && recorded
            .ctime
            .is_none_or(|ctime| same_time(entry.ctime(), ctime))
        && recorded.ino.is_none_or(|ino| entry.ino() == ino as u32)
        && recorded.owner.is_none_or(|owner| entry.owner() == owner)
}

fn same_time(recorded: Time, actual: Time) -> bool {
    recorded.sec as u32 == actual.sec as u32
        && (recorded.nsec == 0 || actual.nsec == 0 || recorded.nsec == actual.nsec)
}
