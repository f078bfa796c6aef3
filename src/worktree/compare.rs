//! Whether a file on disk is what the index says.
#![forbid(unsafe_code)]

use std::io;

use bstr::ByteSlice;

use super::attributes::Reach;
use super::index::{Index, IndexEntry};
use super::repo::Repo;
use crate::fsys::{FileType, Stat, Time};

/// Configuration that decides what counts as a difference.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether the executable bit counts (`core.fileMode`).
    pub file_mode: bool,
    /// Whether symlinks are symlinks on disk (`core.symlinks`).
    pub symlinks: bool,
    /// Whether the ctime counts (`core.trustctime`).
    pub ctime: bool,
}

impl Rules {
    /// The rules of a repository.
    pub fn of(repo: &Repo) -> Self {
        Self {
            file_mode: repo.config_bool("core.filemode", true),
            symlinks: repo.config_bool("core.symlinks", true),
            ctime: repo.config_bool("core.trustctime", true),
        }
    }
}

/// What comparing a file with its index entry gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The file is what the index says.
    Same,
    /// It differs.
    Differs,
    /// Its bytes are the same; it differs if its attributes name a command or an encoding.
    DependsOnCommand,
    /// The conversions git makes (line ends, `$Id$`) decide.
    DependsOnConversion,
}

/// Compares as git does (`ie_match_stat`, racy-git): by stat, and by content where the stat differs
/// or where the file may have changed after the index was written. `reach` tells what attributes can
/// do to it; it and `read` are asked only where the content counts.
pub fn compare(
    index: &Index,
    entry: &IndexEntry<'_>,
    stat: &Stat,
    rules: Rules,
    reach: impl FnOnce() -> Reach,
    read: impl FnOnce() -> io::Result<Vec<u8>>,
) -> Comparison {
    if entry.is_intent_to_add() || entry.is_unmerged() {
        return Comparison::Differs;
    }
    let link = stat.file_type() == FileType::Symlink;
    // Without symlinks a symlink's entry is a plain file that holds its target.
    if !link && !stat.is_file()
        || link && !entry.is_symlink()
        || !link && entry.is_symlink() && rules.symlinks
    {
        return Comparison::Differs;
    }
    if rules.file_mode
        && !link
        && !entry.is_symlink()
        && (stat.mode & 0o100 != 0) != (entry.mode() & 0o100 != 0)
    {
        return Comparison::Differs;
    }
    // git goes by the size alone, whatever conversions might explain. Zero is what it notes of an
    // entry that it could not tell to be clean.
    if entry.size() != 0 && entry.size() != stat.size as u32 {
        return Comparison::Differs;
    }
    if stat_matches(entry, stat, rules) && entry.mtime().sec < index.written.sec {
        return Comparison::Same;
    }
    let Ok(bytes) = read() else {
        return Comparison::Differs;
    };
    let same = is_blob(entry, &bytes);
    let reach = if entry.is_symlink() {
        Reach::default()
    } else {
        reach()
    };
    if reach.any && (bytes.contains(&b'\r') || bytes.contains_str("$Id:")) {
        Comparison::DependsOnConversion
    } else if !same {
        Comparison::Differs
    } else if reach.command {
        Comparison::DependsOnCommand
    } else {
        Comparison::Same
    }
}

/// Whether the recorded stat is the file's. Nanoseconds count where both sides have them: it costs
/// a look at the content at most.
pub fn stat_matches(entry: &IndexEntry<'_>, stat: &Stat, rules: Rules) -> bool {
    entry.size() == stat.size as u32
        && same_time(entry.mtime(), stat.mtime)
        && (!rules.ctime || same_time(entry.ctime(), stat.ctime))
        && entry.ino() == stat.ino as u32
        && entry.owner() == (stat.uid, stat.gid)
}

fn same_time(recorded: Time, actual: Time) -> bool {
    recorded.sec as u32 == actual.sec as u32
        && (recorded.nsec == 0 || actual.nsec == 0 || recorded.nsec == actual.nsec)
}

/// Whether `bytes` hash to the entry's id.
pub fn is_blob(entry: &IndexEntry<'_>, bytes: &[u8]) -> bool {
    blob_id(entry.hash_kind(), bytes).is_some_and(|id| id.as_bytes() == entry.id())
}

/// The id git gives a blob. `None` for content made to collide.
pub fn blob_id(kind: gix_hash::Kind, bytes: &[u8]) -> Option<gix_hash::ObjectId> {
    let mut hasher = gix_hash::hasher(kind);
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.try_finalize().ok()
}
