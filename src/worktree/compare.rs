//! Whether a file on disk is what the index says.
#![forbid(unsafe_code)]

use std::io;

use bstr::ByteSlice;

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
    /// Its bytes differ, but the conversions git makes (line ends, `$Id$`) may be all of it.
    DependsOnAttributes,
}

/// Compares as git does (`ie_match_stat`, racy-git): by stat, and by content where the stat differs
/// or where the file may have changed after the index was written.
pub fn compare(
    index: &Index,
    entry: &IndexEntry<'_>,
    stat: &Stat,
    rules: Rules,
    read: impl FnOnce() -> io::Result<Vec<u8>>,
) -> Comparison {
    if entry.is_intent_to_add() || entry.is_unmerged() {
        return Comparison::Differs;
    }
    let link = stat.file_type() == FileType::Symlink;
    if !link && !stat.is_file() || link != entry.is_symlink() && rules.symlinks {
        return Comparison::Differs;
    }
    if rules.file_mode
        && !link
        && !entry.is_symlink()
        && (stat.mode & 0o100 != 0) != (entry.mode() & 0o100 != 0)
    {
        return Comparison::Differs;
    }
    if stat_matches(entry, stat, rules) && entry.mtime().sec < index.written.sec {
        return Comparison::Same;
    }
    let Ok(bytes) = read() else {
        return Comparison::Differs;
    };
    if is_blob(entry, &bytes) {
        Comparison::Same
    } else if bytes.contains_str("\r\n") || bytes.contains_str("$Id") {
        Comparison::DependsOnAttributes
    } else {
        Comparison::Differs
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
    let mut hasher = gix_hash::hasher(entry.hash_kind());
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher
        .try_finalize()
        .is_ok_and(|id| id.as_bytes() == entry.id())
}

/// Whether the file is what the index says after the conversions that its attributes and the
/// configuration ask for: line ends, and `$Id$`. Conversions by commands are not made.
pub fn same_after_conversion(repo: &Repo, entry: &IndexEntry<'_>, bytes: &[u8]) -> bool {
    let attribute = |name| repo.attribute(entry.path, name);
    if attribute("filter").is_some() || attribute("working-tree-encoding").is_some() {
        return false;
    }
    let mut converted = bytes.to_vec();
    if attribute("ident").is_some() {
        converted = without_ids(&converted);
    }
    let text = attribute("text").or_else(|| attribute("crlf"));
    let configured = repo
        .config("core.autocrlf")
        .is_some_and(|value| !matches!(value.as_str(), "false" | "no" | "off" | "0"));
    let convert = match text.as_deref() {
        Some("auto") => !is_binary(bytes),
        Some(_) => true,
        None => attribute("eol").is_some() || configured && !is_binary(bytes),
    };
    if convert {
        converted = converted.replace("\r\n", "\n");
    }
    is_blob(entry, &converted)
}

/// git's guess: a NUL, or a lone carriage return.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.contains(&0) || bytes.replace("\r\n", "").contains(&b'\r')
}

/// `$Id: anything$` becomes `$Id$`.
fn without_ids(bytes: &[u8]) -> Vec<u8> {
    let mut rest = bytes;
    let mut out = Vec::with_capacity(bytes.len());
    while let Some(at) = rest.find("$Id: ") {
        let end = rest[at + 5..]
            .iter()
            .position(|&byte| byte == b'$' || byte == b'\n');
        match end.map(|end| at + 5 + end).filter(|&end| rest[end] == b'$') {
            Some(end) => {
                out.extend_from_slice(&rest[..at]);
                out.extend_from_slice(b"$Id$");
                rest = &rest[end + 1..];
            }
            None => {
                out.extend_from_slice(&rest[..at + 5]);
                rest = &rest[at + 5..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_folded() {
        assert_eq!(
            without_ids(b"# $Id: 0123$ x\n$Id$\n$Id: open\n$"),
            b"# $Id$ x\n$Id$\n$Id: open\n$"
        );
    }
}
