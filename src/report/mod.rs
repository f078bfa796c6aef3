//! Text, JSON, timeline, progress: knows results, decides nothing.
#![forbid(unsafe_code)]

pub mod file;
pub mod json;
pub mod progress;
pub mod style;
pub mod text;
pub mod timeline;

use bstr::ByteSlice;

use crate::scan::{Entry, Scan, TreeKind};

/// The path people and programs read: relative to the work tree's root, absolute outside it.
pub fn path_of(scan: &Scan, entry: &Entry) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let tree = &scan.trees[entry.tree];
    if tree.kind == TreeKind::Work {
        return entry.path.to_vec();
    }
    let absolute = tree.root.join(entry.path.to_path_lossy());
    match absolute.strip_prefix(&scan.trees[0].root) {
        Ok(relative) => relative.as_os_str().as_bytes().to_vec(),
        Err(_) => absolute.as_os_str().as_bytes().to_vec(),
    }
}
