//! The removals themselves: entries and ghosts.
//!
//! Every removal is relative to an open directory that was reached without following a symlink, of
//! a name that parses as a cache entry, of a file that is no directory, and of what git does not
//! track. Directories are removed by rmdir alone, and only ghosts.
#![forbid(unsafe_code)]

use std::io;
use std::path::Path;

use bstr::{BStr, ByteSlice};

use crate::bytecode::{parse_beside, parse_in_pycache};
use crate::fsys::relative::split;
use crate::fsys::{Dir, DirBuffer, FileType, Obstacle, Shared, in_threads};

/// Name of the directory of entries (PEP 3147).
const CACHE: &[u8] = b"__pycache__";

/// An entry to remove.
#[derive(Clone, Copy, Debug)]
pub struct Target<'t> {
    /// Root of the tree it lies in, absolute.
    pub root: &'t Path,
    /// Whether that tree is a bytecode prefix, where every directory holds entries.
    pub prefix: bool,
    /// Its directory below the root.
    pub directory: &'t BStr,
    /// Its name.
    pub name: &'t BStr,
}

/// Removes entries, and tells for each in the order given whether it is gone or why it is not. One
/// that has vanished meanwhile is gone: another process was faster.
///
/// A `__pycache__` that holds nothing any more goes as well. Left behind, it would keep git from
/// removing the directory of a package that it deletes later, and Python from noticing that it is
/// gone.
///
/// Killed half-way it leaves whole files only, since each removal is one system call.
pub fn entries(targets: &[Target<'_>]) -> Vec<Result<(), String>> {
    let of_roots = targets.chunk_by(|one, other| one.root == other.root);
    let roots: Vec<_> = of_roots
        .map(|targets| (Dir::open(targets[0].root), targets))
        .collect();
    let directories: Vec<_> = roots
        .iter()
        .flat_map(|(root, targets)| {
            let directories = targets.chunk_by(|one, other| one.directory == other.directory);
            directories.map(move |targets| (root.as_ref(), targets))
        })
        .collect();
    let waiting = Shared::new(&directories);
    let parts = in_threads(
        directories.len(),
        || (),
        || {
            let mut outcomes = Vec::new();
            while let Some((at, &(root, targets))) = waiting.next() {
                outcomes.push((at, in_directory(root, targets)));
            }
            outcomes
        },
    );
    let mut outcomes: Vec<_> = parts.into_iter().flatten().collect();
    outcomes.sort_unstable_by_key(|&(at, _)| at);
    outcomes
        .into_iter()
        .flat_map(|(_, outcomes)| outcomes)
        .collect()
}

/// Removes entries of one directory, and the directory if it is a `__pycache__` that they leave
/// empty.
fn in_directory(root: Result<&Dir, &io::Error>, targets: &[Target<'_>]) -> Vec<Result<(), String>> {
    let (parent, name) = split(targets[0].directory);
    let is_cache = !targets[0].prefix && name == CACHE;
    let above = if is_cache {
        parent
    } else {
        targets[0].directory
    };
    let out_of_reach = |error: &io::Error| targets.iter().map(|_| failure(error)).collect();
    let root = match root {
        Ok(root) => root,
        Err(error) => return out_of_reach(error),
    };
    let opened = root.open_below(above).and_then(|above| {
        let cache = is_cache.then(|| above.open_child(name)).transpose()?;
        Ok((above, cache))
    });
    let (above, cache) = match opened {
        Ok(opened) => opened,
        Err(error) => return out_of_reach(&error),
    };
    let directory = cache.as_ref().unwrap_or(&above);
    let outcomes: Vec<_> = targets
        .iter()
        .map(|target| remove(directory, target))
        .collect();
    if is_cache && outcomes.iter().any(Result::is_ok) {
        // Refused where anything is in it, which is right.
        let _ = above.rmdir(name);
    }
    outcomes
}

/// Removes one entry, whatever the scan says of it, only if its name is that of an entry.
fn remove(directory: &Dir, target: &Target<'_>) -> Result<(), String> {
    let (path, name) = (target.directory, target.name);
    let in_cache = target.prefix || split(path).1 == CACHE;
    let is_entry = if in_cache {
        parse_in_pycache(name).is_some()
    } else {
        parse_beside(name).is_some()
    };
    if !is_entry || path.split_str("/").any(|part| part == b".git") {
        return Err("it has no name of a cache entry".into());
    }
    match directory.lstat(name) {
        Ok(stat) if matches!(stat.file_type(), FileType::File | FileType::Symlink) => {}
        Ok(_) => return Err("it is no file".into()),
        Err(error) => return failure(&error),
    }
    directory.unlink(name).or_else(|error| failure(&error))
}

fn failure(error: &io::Error) -> Result<(), String> {
    if error.kind() == io::ErrorKind::NotFound {
        return Ok(());
    }
    let hint = match Obstacle::of(error) {
        Some(Obstacle::Access) => ": its directory cannot be written to",
        Some(Obstacle::Protected) => ": it is immutable, or another user's in a sticky directory",
        Some(Obstacle::ReadOnly) => ": the file system is mounted read-only",
        Some(Obstacle::Swapped) => ": a directory became a symlink meanwhile",
        Some(Obstacle::InUse) => ": another process has it open",
        None => "",
    };
    Err(format!("{error}{hint}"))
}

/// Removes a ghost if it holds nothing but an empty `__pycache__`. A directory that is not empty
/// stays: rmdir refuses it.
pub fn ghost(root: &Path, ghost: &BStr) -> bool {
    let Ok(root) = Dir::open(root) else {
        return false;
    };
    let (parent, name) = split(ghost);
    let Ok(parent) = root.open_below(parent) else {
        return false;
    };
    let Ok(directory) = parent.open_child(name) else {
        return false;
    };
    let mut buffer = DirBuffer::default();
    let mut only_cache = true;
    let listed = directory.list(&mut buffer, |name, file_type| {
        only_cache &= name == CACHE && file_type == FileType::Directory;
    });
    if listed.is_err() || !only_cache {
        return false;
    }
    match directory.rmdir(CACHE) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => return false,
    }
    parent.rmdir(name).is_ok()
}
