//! Text, JSON, timeline, progress: knows results, decides nothing.
#![forbid(unsafe_code)]

pub mod file;
pub mod json;
pub mod progress;
pub mod style;
pub mod text;
pub mod timeline;
pub mod words;

use crate::fsys::path::{below, to_git};
use crate::scan::{Entry, Scan, TreeKind};

/// The path people and programs read: relative to the work tree's root, absolute outside it.
pub fn path_of(scan: &Scan, entry: &Entry) -> Vec<u8> {
    let tree = &scan.trees[entry.tree];
    if tree.kind == TreeKind::Work {
        return entry.path.to_vec();
    }
    let absolute = below(&tree.root, &entry.path);
    let shown = absolute.strip_prefix(&scan.trees[0].root);
    to_git(shown.unwrap_or(&absolute)).to_vec()
}
