//! Directory handles, stats and symlinks of Unix.

pub mod access;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod macos;
pub mod process;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BStr;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

#[cfg(target_os = "linux")]
use self::linux as own;
#[cfg(not(target_os = "linux"))]
use self::macos as own;
use super::{FileType, Obstacle, Recorded, Stat, Time};
pub use own::{DirBuffer, system_prefix};

impl From<rustix::fs::Stat> for Stat {
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the fields' types differ from platform to platform"
    )]
    fn from(stat: rustix::fs::Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: stat.st_size as u64,
            mtime: Time {
                sec: stat.st_mtime as i64,
                nsec: stat.st_mtime_nsec as u32,
            },
            ctime: Time {
                sec: stat.st_ctime as i64,
                nsec: stat.st_ctime_nsec as u32,
            },
            born: own::birth_of(&stat),
        }
    }
}

/// A time of birth; zero is what file systems give that keep none.
fn birth(sec: i64, nsec: u32) -> Option<Time> {
    ((sec, nsec) != (0, 0)).then_some(Time { sec, nsec })
}

impl Stat {
    /// `lstat(2)`.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(rustix::fs::lstat(path)?.into())
    }

    /// `stat(2)`.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn followed(path: &Path) -> io::Result<Self> {
        Ok(rustix::fs::stat(path)?.into())
    }
}

/// What stands between the paths of a variable like `PATH`.
pub const LIST_SEPARATOR: &str = ":";

/// The bytes of a path are git's form.
pub fn to_git(path: &OsStr) -> Cow<'_, BStr> {
    Cow::Borrowed(BStr::new(path.as_bytes()))
}

/// Git's form is the bytes of a path.
pub fn from_git(path: &[u8]) -> Cow<'_, Path> {
    Cow::Borrowed(Path::new(OsStr::from_bytes(path)))
}

/// Paths have no drives.
pub fn without_drive(path: &[u8]) -> &[u8] {
    path
}

/// Text is bytes.
pub fn text(bytes: &[u8]) -> Cow<'_, OsStr> {
    Cow::Borrowed(OsStr::from_bytes(bytes))
}

/// Longest path handed to the kernel at once; longer ones are opened in pieces.
const PIECE: usize = 4000;

/// A directory and nothing else, without following a symlink that is the last name.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// The type that a listing tells; some file systems do not.
fn of_listing(file_type: rustix::fs::FileType) -> Option<FileType> {
    match file_type {
        rustix::fs::FileType::RegularFile => Some(FileType::File),
        rustix::fs::FileType::Directory => Some(FileType::Directory),
        rustix::fs::FileType::Symlink => Some(FileType::Symlink),
        rustix::fs::FileType::Unknown => None,
        _ => Some(FileType::Other),
    }
}

/// Opens a directory below another name by name.
fn open_each(directory: &OwnedFd, relative: &[u8]) -> io::Result<OwnedFd> {
    let mut handle: Option<OwnedFd> = None;
    for name in relative.split(|&byte| byte == b'/') {
        if matches!(name, b"" | b"." | b"..") {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let from = handle.as_ref().unwrap_or(directory);
        handle = Some(rustix::fs::openat(from, name, DIRECTORY, Mode::empty())?);
    }
    handle.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Git records what there is.
pub fn recorded(stat: &Stat) -> Recorded {
    Recorded {
        ctime: Some(stat.ctime),
        ino: Some(stat.ino),
        owner: Some((stat.uid, stat.gid)),
    }
}

/// What a person can do something about.
pub fn obstacle(error: &io::Error) -> Option<Obstacle> {
    match Errno::from_io_error(error)? {
        Errno::ACCESS => Some(Obstacle::Access),
        Errno::PERM => Some(Obstacle::Protected),
        Errno::ROFS => Some(Obstacle::ReadOnly),
        Errno::LOOP | Errno::NOTDIR => Some(Obstacle::Swapped),
        _ => None,
    }
}

/// An open directory. Everything in it is reached relative to the handle, so that a path swapped
/// in the meantime leads nowhere else.
#[derive(Debug)]
pub struct Dir(OwnedFd);

impl Dir {
    /// Opens a directory by its path, symlinks followed: the root of a tree.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens the directory `relative` (components separated by `/`) below this one without
    /// following a symlink on the way.
    ///
    /// # Errors
    /// What the system call gives; `ELOOP` or `ENOTDIR` where there is a symlink.
    pub fn open_below(&self, relative: &[u8]) -> io::Result<Self> {
        if relative.is_empty() {
            return Ok(Self(rustix::io::fcntl_dupfd_cloexec(&self.0, 0)?));
        }
        let mut rest = relative;
        let mut handle: Option<Self> = None;
        while !rest.is_empty() {
            let length = piece(rest)?;
            let from = handle.as_ref().unwrap_or(self);
            handle = Some(Self(own::open_piece(&from.0, &rest[..length])?));
            rest = rest[length..].strip_prefix(b"/").unwrap_or(&rest[length..]);
        }
        handle.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens the directory `name` in this one; a symlink is refused.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn open_child(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(
            &self.0,
            name,
            DIRECTORY,
            Mode::empty(),
        )?))
    }

    /// Opens the directory `name` in this one, symlinks followed: only to look at, never to
    /// remove from.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn open_followed(&self, name: &[u8]) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(
            &self.0,
            name,
            flags,
            Mode::empty(),
        )?))
    }

    /// Calls `each` with name and type of everything in the directory but `.` and `..`.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn list(
        &self,
        buffer: &mut DirBuffer,
        mut each: impl FnMut(&[u8], FileType),
    ) -> io::Result<()> {
        own::list(&self.0, buffer, |name, file_type| {
            if !matches!(name, b"." | b"..") {
                let asked = || {
                    self.lstat(name)
                        .map_or(FileType::Other, |stat| stat.file_type())
                };
                each(name, file_type.unwrap_or_else(asked));
            }
        })
    }

    /// `lstat` of a name in the directory.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn lstat(&self, name: &[u8]) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }

    /// `stat` of a name in the directory, symlinks followed.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn stat(&self, name: &[u8]) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::empty())?.into())
    }

    /// `lstat` of a name in the directory, with the time of birth where the file system has one.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn lstat_with_birth(&self, name: &[u8]) -> io::Result<Stat> {
        own::with_birth(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// `stat` of a name in the directory, symlinks followed, with the time of birth where the file
    /// system has one.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn stat_with_birth(&self, name: &[u8]) -> io::Result<Stat> {
        own::with_birth(&self.0, name, AtFlags::empty())
    }

    /// Reads at most `limit` bytes of a regular file, symlinks followed. Anything but a regular
    /// file is refused without waiting for it.
    ///
    /// # Errors
    /// What the system calls give; `InvalidInput` for what is no regular file.
    pub fn read(&self, name: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        if !Stat::from(rustix::fs::fstat(&file)?).is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let mut bytes = Vec::new();
        File::from(file).take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Where the symlink `name` points to.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Removes the file or symlink `name`. Only `purge` calls this.
    ///
    /// # Errors
    /// What the system call gives.
    pub(crate) fn unlink(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes the empty directory `name`. Only `purge` calls this.
    ///
    /// # Errors
    /// What the system call gives; `ENOTEMPTY` where there is anything in it.
    pub(crate) fn rmdir(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }
}

/// Length of the longest beginning of `path` that ends with a component and that the kernel takes.
fn piece(path: &[u8]) -> io::Result<usize> {
    if path.len() <= PIECE {
        return Ok(path.len());
    }
    path[..PIECE]
        .iter()
        .rposition(|&byte| byte == b'/')
        .filter(|&end| end > 0)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_symlink_is_followed_below() {
        let tree = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(tree.path().join("a/b")).expect("directories");
        symlink("a", tree.path().join("link")).expect("a link");
        let root = Dir::open(tree.path()).expect("the root");
        assert!(root.open_below(b"a/b").is_ok());
        assert!(root.open_below(b"").is_ok());
        for path in [&b"link/b"[..], b"link", b"../x", b"a/../../x", b"/etc"] {
            assert!(
                root.open_below(path).is_err(),
                "{}",
                String::from_utf8_lossy(path)
            );
        }
    }

    #[test]
    fn paths_longer_than_the_kernel_takes_are_opened() {
        let tree = tempfile::tempdir().expect("a directory");
        let name = "d".repeat(200);
        let mut path = Vec::new();
        let mut handle = Dir::open(tree.path()).expect("the root");
        for _ in 0..40 {
            rustix::fs::mkdirat(&handle.0, &name, Mode::RWXU).expect("a directory");
            handle = handle.open_child(name.as_bytes()).expect("it opens");
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
        }
        let root = Dir::open(tree.path()).expect("the root");
        let deep = root.open_below(&path).expect("8,000 bytes of path");
        assert_eq!(
            deep.lstat(b".").expect("stat").ino,
            handle.lstat(b".").expect("stat").ino
        );
    }
}
