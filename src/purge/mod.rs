//! The only code that removes anything: entries and ghosts.
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
use crate::fsys::{Dir, DirBuffer, FileType};

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

/// Removes entries, in the order given, and tells for each whether it is gone or why it is not.
/// One that has vanished meanwhile is gone: another process was faster.
///
/// Killed half-way it leaves whole files only, since each removal is one system call.
pub fn entries(targets: &[Target<'_>]) -> Vec<Result<(), String>> {
    let mut outcomes = Vec::with_capacity(targets.len());
    for of_root in targets.chunk_by(|one, other| one.root == other.root) {
        let root = Dir::open(of_root[0].root);
        for together in of_root.chunk_by(|one, other| one.directory == other.directory) {
            let opened = root
                .as_ref()
                .map(|root| root.open_below(together[0].directory));
            let handle = opened
                .as_ref()
                .map_err(|error| *error)
                .and_then(io::Result::as_ref);
            outcomes.extend(together.iter().map(|target| match handle {
                Ok(handle) => remove(handle, target),
                Err(error) => failure(error),
            }));
        }
    }
    outcomes
}

/// Removes one entry, whatever the scan says of it, only if its name is that of an entry.
fn remove(directory: &Dir, target: &Target<'_>) -> Result<(), String> {
    let (path, name) = (target.directory, target.name);
    let in_cache = target.prefix || split(path).1 == "__pycache__";
    let is_entry = if in_cache {
        parse_in_pycache(name).is_some()
    } else {
        parse_beside(name).is_some()
    };
    if !is_entry || path.split_str("/").any(|part| part == b".git") {
        return Err("it has no name of a cache entry".into());
    }
    match directory.lstat(name) {
        Ok(stat) if matches!(stat.file_type(), FileType::RegularFile | FileType::Symlink) => {}
        Ok(_) => return Err("it is no file".into()),
        Err(error) => return failure(&error),
    }
    directory.unlink(name).or_else(|error| failure(&error))
}

fn failure(error: &io::Error) -> Result<(), String> {
    if error.kind() == io::ErrorKind::NotFound {
        return Ok(());
    }
    let hint = match error
        .raw_os_error()
        .map(rustix::io::Errno::from_raw_os_error)
    {
        Some(rustix::io::Errno::ACCESS) => ": its directory cannot be written to",
        Some(rustix::io::Errno::PERM) => {
            ": it is immutable, or another user's in a sticky directory"
        }
        Some(rustix::io::Errno::ROFS) => ": the file system is mounted read-only",
        Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            ": a directory became a symlink meanwhile"
        }
        _ => "",
    };
    Err(format!("{error}{hint}"))
}

/// Removes each `__pycache__` that holds nothing any more. Left behind, it would keep git from
/// removing the directory of a package that it deletes later, and Python from noticing that it is
/// gone.
pub fn emptied_caches<'c>(root: &Path, directories: impl Iterator<Item = &'c BStr>) {
    let Ok(root) = Dir::open(root) else { return };
    for directory in directories {
        let (parent, name) = split(directory);
        if name == "__pycache__"
            && let Ok(parent) = root.open_below(parent)
        {
            // Refused where anything is in it, which is right.
            let _ = parent.rmdir(b"__pycache__");
        }
    }
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
        only_cache &= name == b"__pycache__" && file_type == FileType::Directory;
    });
    if listed.is_err() || !only_cache {
        return false;
    }
    match directory.rmdir(b"__pycache__") {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => return false,
    }
    parent.rmdir(name).is_ok()
}
