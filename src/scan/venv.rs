//! Virtual environments: what is installed in them is nobody's work, and left out.

use std::path::Path;

use bstr::{BStr, ByteSlice};

use crate::fsys::path::below;
use crate::fsys::relative::join;

/// The file that makes a directory the root of a virtual environment.
pub const MARK: &[u8] = b"pyvenv.cfg";

/// Where in a virtual environment a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Venv {
    /// In none.
    Outside,
    /// At the root of one.
    Root,
    /// In one, but not on the way to its packages.
    Inside,
    /// `lib`, `lib64`, `Lib`.
    Lib,
    /// `lib/python3.11` and its like.
    Python,
}

impl Venv {
    /// The same directory, once it is known whether the mark of a root is in it.
    pub fn marked(self, has_mark: bool) -> Self {
        if has_mark { Self::Root } else { self }
    }

    /// Whether what lies there is the environment's own, unless git tracks it.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Inside | Self::Python)
    }

    /// Where a subdirectory is, `None` for installed packages.
    pub fn descend(self, name: &[u8]) -> Option<Self> {
        let packages = matches!(name, b"site-packages" | b"dist-packages");
        match self {
            Self::Outside => Some(Self::Outside),
            Self::Root => Some(match name {
                b"lib" | b"lib32" | b"lib64" | b"Lib" => Self::Lib,
                b"bin" | b"Scripts" | b"include" | b"Include" => Self::Inside,
                // Where pip puts editable installs from version control; or the environment is the
                // root of somebody's project.
                _ => Self::Outside,
            }),
            Self::Lib | Self::Python if packages => None,
            Self::Lib if name.starts_with(b"python") || name.starts_with(b"pypy") => {
                Some(Self::Python)
            }
            Self::Lib => Some(Self::Outside),
            Self::Inside | Self::Python => Some(Self::Inside),
        }
    }

    /// Where a directory below `root` is, `None` for installed packages: what a walk finds on its
    /// way, for a directory that is named.
    pub fn of(root: &Path, directory: &BStr) -> Option<Self> {
        let has_mark = |path: &BStr| {
            let mark = join(path, MARK);
            below(root, &mark).symlink_metadata().is_ok()
        };
        let mut venv = Self::Outside.marked(has_mark(BStr::new("")));
        let mut from = 0;
        while from < directory.len() {
            let end = directory[from..]
                .find_byte(b'/')
                .map_or(directory.len(), |slash| from + slash);
            venv = venv.descend(&directory[from..end])?;
            venv = venv.marked(has_mark(directory[..end].as_bstr()));
            from = end + 1;
        }
        Some(venv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_told_from_what_is_edited() {
        let tree = tempfile::tempdir().expect("a directory");
        let env = tree.path().join("env");
        std::fs::create_dir(&env).expect("a directory");
        std::fs::write(env.join("pyvenv.cfg"), "").expect("the mark");
        for (directory, expected) in [
            ("", Some(Venv::Outside)),
            ("pkg/lib", Some(Venv::Outside)),
            ("env", Some(Venv::Root)),
            ("env/bin", Some(Venv::Inside)),
            ("env/src/app", Some(Venv::Outside)),
            ("env/lib/python3.11", Some(Venv::Python)),
            ("env/lib/python3.11/site-packages", None),
            ("env/lib/python3.11/site-packages/x/y", None),
            ("env/Lib/site-packages", None),
            ("env/lib64/python3.11/test", Some(Venv::Inside)),
            ("lib/python3.11/site-packages", Some(Venv::Outside)),
        ] {
            assert_eq!(
                Venv::of(tree.path(), directory.into()),
                expected,
                "{directory}"
            );
        }
    }
}
