//! Paths between git's form and the platform's.
//!
//! Inside, a path is what git has in its index: bytes with `/` between the names. Only here does it
//! become what the operating system is asked with.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use bstr::{BStr, BString, ByteSlice as _};

use super::platform;
pub use super::platform::LIST_SEPARATOR;

/// A path or name in git's form.
pub fn to_git(path: &(impl AsRef<OsStr> + ?Sized)) -> Cow<'_, BStr> {
    platform::to_git(path.as_ref())
}

/// The path or name that git's form stands for.
pub fn from_git(path: &[u8]) -> Cow<'_, Path> {
    platform::from_git(path)
}

/// Text of git's that is no path, or stays with the separators it has.
pub fn text(bytes: &[u8]) -> Cow<'_, OsStr> {
    platform::text(bytes)
}

/// The platform's path of what lies at `relative` below `root`; the root itself where that is empty.
pub fn below(root: &Path, relative: &[u8]) -> PathBuf {
    if relative.is_empty() {
        return root.to_path_buf();
    }
    root.join(from_git(relative))
}

/// Where below a bytecode prefix the entries of a directory's sources lie: its absolute path without
/// the drive and the separators it begins with, as importlib's `cache_from_source` makes it.
pub fn in_prefix_of(directory: &Path) -> BString {
    let path = to_git(directory);
    let path = platform::without_drive(&path);
    path.trim_start_with(|c| c == '/').into()
}

/// The directory of sources that a directory below a prefix stands for. Where paths have drives it is
/// the one on the drive of `root`: entries of two drives share one place.
pub fn of_prefix(inside: &[u8], root: &Path) -> PathBuf {
    let mut directory: PathBuf = root
        .components()
        .take_while(|part| !matches!(part, Component::Normal(_)))
        .collect();
    directory.push(from_git(inside));
    directory
}

/// The path without symlinks, in the form that other programs take.
///
/// # Errors
/// What the system calls give; also where there is nothing.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// The name of the program that a command's first word stands for: without directories and without
/// the suffix that programs have on Windows, where case makes no difference.
pub fn program(word: &OsStr) -> String {
    let name = Path::new(word).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let (stem, suffix) = name
        .split_at_checked(name.len().saturating_sub(4))
        .unwrap_or((&name, ""));
    if suffix.eq_ignore_ascii_case(".exe") {
        stem.to_ascii_lowercase()
    } else {
        name.into_owned()
    }
}

/// The way from `root` to a path at or below it, in git's form.
pub fn relative_to(path: &Path, root: &Path) -> Option<BString> {
    let relative = path.strip_prefix(root).ok()?;
    Some(to_git(relative).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_come_back() {
        let root = Path::new("root");
        for relative in ["", "a", "a/b c/é.py", ".hidden"] {
            let path = below(root, relative.as_bytes());
            assert_eq!(relative_to(&path, root).expect("it is below"), relative);
            assert_eq!(*to_git(&*from_git(relative.as_bytes())), *relative);
        }
        assert_eq!(below(root, b"a/b"), root.join("a").join("b"));
        assert_eq!(relative_to(Path::new("rooted"), root), None);
    }
}
