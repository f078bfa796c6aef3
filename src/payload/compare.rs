//! Whether a file on disk is what the index says.
#![forbid(unsafe_code)]

use std::io;

use bstr::ByteSlice;

use super::attributes::Reach;
use crate::fsys::{FileType, Stat};
use crate::git::blob::is_blob;
use crate::git::stat::{Rules, stat_matches};
use crate::git::{Index, IndexEntry};

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
        && stat.may_run() != (entry.mode() & 0o100 != 0)
    {
        return Comparison::Differs;
    }
    // git goes by the size alone, whatever conversions might explain. Zero is what it notes of an
    // entry that it could not tell to be clean.
    if entry.size() != 0 && entry.size() != stat.size as u32 {
        return Comparison::Differs;
    }
    if stat_matches(entry, stat) && entry.mtime().sec < index.written.sec {
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
