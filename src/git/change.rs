//! What happened to a source between two states.
#![forbid(unsafe_code)]

use bstr::BString;

/// What happened to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It has other content or another mode.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It was a file and is a symlink, or the other way round.
    TypeChanged,
}

/// One difference. A rename is a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// Path relative to the root.
    pub path: BString,
    /// What happened.
    pub kind: ChangeKind,
}

/// Whether a path is a Python source by its name.
pub fn is_python(path: &[u8]) -> bool {
    path.ends_with(b".py")
}
