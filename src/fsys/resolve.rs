//! Where a path leads, and by which symlinks.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{FileType, Stat, Time};

/// So many symlinks are followed in one path, as in the kernel of Linux.
const MOST: usize = 40;

/// Where a path leads, and what was passed on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path without symlinks.
    pub path: PathBuf,
    /// The latest ctime of the symlinks passed on the way, or when one of the directories after the
    /// first symlink can have got its name, if that is later.
    pub links_touched: Option<Time>,
    /// The latest time at which any of the directories passed can have got its name.
    pub named: Option<Time>,
}

/// Follows an absolute path as the kernel does, and notes every symlink and directory passed.
///
/// A rename moves the ctimes of the directory renamed and of the one it is in, so no directory got its
/// name later than the earlier of the two.
///
/// # Errors
/// What the system calls give, and after 40 symlinks.
pub fn resolve(path: &Path) -> io::Result<Resolved> {
    let mut todo = VecDeque::new();
    let mut done = begin(path, &mut todo).unwrap_or_default();
    // The stats of `done` and of every directory above it.
    let mut stats = vec![Stat::of(&done)?];
    let mut links_touched: Option<Time> = None;
    let mut named: Option<Time> = None;
    // The directory of the first symlink: what lies above it moves with it.
    let mut first: Option<PathBuf> = None;
    let mut links = 0;
    while let Some(name) = todo.pop_front() {
        if name == ".." {
            if done.pop() {
                stats.pop();
            }
            continue;
        }
        let here = done.join(&name);
        let stat = Stat::of(&here)?;
        if stat.file_type() != FileType::Symlink {
            // The root of a file system cannot be renamed.
            if let Some(above) = stats.last()
                && stat.file_type() == FileType::Directory
                && stat.dev == above.dev
            {
                let earlier = stat.ctime.min(above.ctime);
                named = named.max(Some(earlier));
                if first
                    .as_ref()
                    .is_some_and(|first| !first.starts_with(&here))
                {
                    links_touched = links_touched.max(Some(earlier));
                }
            }
            stats.push(stat);
            done = here;
            continue;
        }
        links += 1;
        if links > MOST {
            return Err(io::Error::other(
                "more than 40 symlinks, one after the other",
            ));
        }
        links_touched = links_touched.max(Some(stat.ctime));
        first.get_or_insert_with(|| done.clone());
        if let Some(root) = begin(&std::fs::read_link(&here)?, &mut todo) {
            // On the same drive where it names none.
            done = done.join(root);
            stats = vec![Stat::of(&done)?];
        }
    }
    Ok(Resolved {
        path: done,
        links_touched,
        named,
    })
}

/// Puts the names of a path in front of those that are to be followed; gives the root it begins at,
/// where it has one.
fn begin(path: &Path, todo: &mut VecDeque<OsString>) -> Option<PathBuf> {
    let mut root = PathBuf::new();
    let mut names = Vec::new();
    for component in dunce::simplified(path).components() {
        match component {
            Component::Prefix(_) | Component::RootDir => root.push(component),
            Component::CurDir => {}
            Component::ParentDir | Component::Normal(_) => names.push(component.as_os_str()),
        }
    }
    for name in names.into_iter().rev() {
        todo.push_front(name.to_os_string());
    }
    (root != Path::new("")).then_some(root)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_symlink_on_the_way_is_noted() {
        let tree = tempfile::tempdir().expect("a directory");
        let root = tree.path().canonicalize().expect("a real path");
        fs::create_dir(root.join("real")).expect("a directory");
        fs::write(root.join("real/impl.py"), "").expect("a file");
        symlink("real", root.join("dir")).expect("a link");
        symlink("dir/../dir/impl.py", root.join("alias.py")).expect("a link");
        symlink(root.join("alias.py"), root.join("whole.py")).expect("a link");
        symlink("loop", root.join("loop")).expect("a link");
        let ctime = |name: &str| Stat::of(&root.join(name)).expect("stat").ctime;
        let real = ctime("real").min(ctime(""));
        for (name, links) in [
            ("alias.py", &["dir", "alias.py"][..]),
            ("whole.py", &["dir", "alias.py", "whole.py"]),
            ("real/./impl.py", &[]),
        ] {
            let found = resolve(&root.join(name)).expect("it resolves");
            assert_eq!(found.path, root.join("real/impl.py"), "{name}");
            let touched = links.iter().map(|name| ctime(name)).max();
            assert_eq!(
                found.links_touched,
                touched.map(|touched| touched.max(real)),
                "{name}"
            );
        }
        assert!(resolve(&root.join("loop")).is_err());
    }
}
