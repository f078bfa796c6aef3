//! What is left out of a scan.

use anyhow::{Context, Result};
use bstr::{BStr, ByteSlice};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::fsys::path::from_git;
use crate::fsys::relative::split;

/// Globs as in a `.gitignore`: with a slash they hold from the root on, without one at any depth;
/// a slash at the end means directories only.
#[derive(Debug, Default)]
pub struct Exclude {
    any: GlobSet,
    directories: GlobSet,
    empty: bool,
}

impl Exclude {
    /// Compiles the globs.
    ///
    /// # Errors
    /// If one of them is no glob; the message names it.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self> {
        let mut any = GlobSetBuilder::new();
        let mut directories = GlobSetBuilder::new();
        for glob in globs {
            let glob = glob.as_ref();
            let (text, only_directories) = match glob.strip_suffix('/') {
                Some(text) => (text, true),
                None => (glob, false),
            };
            let text = match text.strip_prefix('/') {
                Some(text) => text.to_owned(),
                None if text.contains('/') => text.to_owned(),
                None => format!("**/{text}"),
            };
            let compiled = GlobBuilder::new(&text)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .with_context(|| format!("`{glob}` is no glob"))?;
            directories.add(compiled.clone());
            if !only_directories {
                any.add(compiled);
            }
        }
        Ok(Self {
            any: any.build()?,
            directories: directories.build()?,
            empty: globs.is_empty(),
        })
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Whether a directory of the tree is left out, with all below it.
    pub fn directory(&self, path: &BStr) -> bool {
        !self.empty && !path.is_empty() && self.directories.is_match(&*from_git(path))
    }

    /// Whether a file is left out by its own name; its directories are asked about on the way.
    pub fn file(&self, path: &BStr) -> bool {
        !self.empty && self.any.is_match(&*from_git(path))
    }

    /// Whether a directory or one above it is left out.
    pub fn directory_or_above(&self, path: &BStr) -> bool {
        let above = || {
            path.find_iter("/")
                .any(|slash| self.directory(path[..slash].as_bstr()))
        };
        !self.empty && (above() || self.directory(path))
    }

    /// Whether a path is left out by its own name or a directory above it.
    pub fn path(&self, path: &BStr) -> bool {
        let (directory, _) = split(path);
        !self.empty && (self.directory_or_above(directory) || self.file(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_gitignore_like() {
        let exclude =
            Exclude::new(&["build/", "/vendored", "gen/*.py", "*_pb2.py"]).expect("globs");
        for (path, expected) in [
            ("build/a.py", true),
            ("src/build/a.py", true),
            ("build", false),
            ("vendored/a.py", true),
            ("src/vendored/a.py", false),
            ("gen/a.py", true),
            ("gen/sub/a.py", false),
            ("src/x_pb2.py", true),
            ("src/x.py", false),
        ] {
            assert_eq!(exclude.path(path.into()), expected, "{path}");
        }
        let below = Exclude::new(&["*/"]).expect("a glob");
        assert!(!below.path("a.py".into()) && below.path("a/b.py".into()));
        assert!(Exclude::new(&["a["]).is_err());
    }
}
