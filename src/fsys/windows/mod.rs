//! Directory handles, stats and paths of Windows.
//!
//! Everything in a directory is reached relative to its handle, as on Unix; a symlink, a junction, or
//! whatever else leads elsewhere is opened itself and never followed to a removal. The ctime is the
//! ChangeTime of NTFS, which a call that sets the others moves to the present; the creation time is
//! no birth, since a file that takes the name of one removed in the last 15 seconds inherits it.

pub mod access;
mod handle;
pub mod process;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN_REPARSE_POINT,
};
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_DELETE_PENDING, ERROR_DIRECTORY, ERROR_LOCK_VIOLATION,
    ERROR_SHARING_VIOLATION, ERROR_STOPPED_ON_SYMLINK, ERROR_USER_MAPPED_FILE, ERROR_WRITE_PROTECT,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_READONLY, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_GENERIC_READ,
    FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_TRAVERSE,
};

pub use self::handle::DirBuffer;
use super::{FileType, Obstacle, Recorded, Stat, Time};

/// What stands between the paths of a variable like `PATH`.
pub const LIST_SEPARATOR: &str = ";";

/// The bytes of a name: UTF-8, in which what is no UTF-16 either keeps its place (WTF-8).
pub fn to_git(path: &OsStr) -> Cow<'_, BStr> {
    let bytes = path.as_encoded_bytes();
    if bytes.contains(&b'\\') {
        let slashed = bytes
            .iter()
            .map(|&byte| if byte == b'\\' { b'/' } else { byte });
        Cow::Owned(slashed.collect::<Vec<u8>>().into())
    } else {
        Cow::Borrowed(BStr::new(bytes))
    }
}

/// The path with the separators of Windows.
pub fn from_git(path: &[u8]) -> Cow<'_, Path> {
    let text = text(path);
    if path.contains(&b'/') {
        let units = text.encode_wide();
        let units: Vec<u16> = units
            .map(|unit| {
                if unit == u16::from(b'/') {
                    u16::from(b'\\')
                } else {
                    unit
                }
            })
            .collect();
        return Cow::Owned(OsString::from_wide(&units).into());
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(text) => Cow::Owned(text.into()),
    }
}

/// Text in UTF-8, or in WTF-8; what is neither becomes the sign for that.
pub fn text(bytes: &[u8]) -> Cow<'_, OsStr> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(OsStr::new(text)),
        Err(_) => Cow::Owned(OsString::from_wide(&wide(bytes))),
    }
}

/// UTF-16 of WTF-8: a surrogate without its other half is three bytes there, ED A0..BF 80..BF.
fn wide(mut bytes: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(bytes.len());
    while let Some(chunk) = bytes.utf8_chunks().next() {
        units.extend(chunk.valid().encode_utf16());
        bytes = &bytes[chunk.valid().len()..];
        if let [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..] = *bytes {
            units.push(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F));
            bytes = &bytes[3..];
        } else if !chunk.invalid().is_empty() {
            units.push(0xFFFD);
            bytes = &bytes[chunk.invalid().len()..];
        }
    }
    units
}

/// A path without its drive: `C:` and what else importlib takes for one.
pub fn without_drive(path: &[u8]) -> &[u8] {
    match path {
        [first, b':', rest @ ..] if *first != b'/' => rest,
        _ => path,
    }
}

/// What a person can do something about.
pub fn obstacle(error: &io::Error) -> Option<Obstacle> {
    match u32::try_from(error.raw_os_error()?).ok()? {
        ERROR_ACCESS_DENIED => Some(Obstacle::Access),
        ERROR_WRITE_PROTECT => Some(Obstacle::ReadOnly),
        ERROR_DIRECTORY | ERROR_STOPPED_ON_SYMLINK => Some(Obstacle::Swapped),
        ERROR_SHARING_VIOLATION
        | ERROR_LOCK_VIOLATION
        | ERROR_USER_MAPPED_FILE
        | ERROR_DELETE_PENDING => Some(Obstacle::InUse),
        _ => None,
    }
}

/// No Python of Windows has a bytecode prefix of its own.
pub fn system_prefix() -> Option<PathBuf> {
    None
}

/// Git records neither owner nor inode there, and for the ctime the time of creation.
pub fn recorded(_: &Stat) -> Recorded {
    Recorded::default()
}

/// A time in 100 ns since 1601-01-01 UTC.
fn time(ticks: i64) -> Time {
    const SECOND: i64 = 10_000_000;
    /// Seconds from 1601 to 1970.
    const EPOCH: i64 = 11_644_473_600;
    Time {
        sec: ticks.div_euclid(SECOND) - EPOCH,
        nsec: ticks.rem_euclid(SECOND) as u32 * 100,
    }
}

/// Whether a reparse point stands for another name (symlink, junction), and not for a file that is
/// merely kept in another way (compressed, in the cloud).
fn leads_elsewhere(attributes: u32, tag: u32) -> bool {
    /// The bit of a tag that says so.
    const SURROGATE: u32 = 0x2000_0000;
    attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 && tag & SURROGATE != 0
}

fn file_type(attributes: u32, tag: u32) -> FileType {
    if leads_elsewhere(attributes, tag) {
        FileType::Symlink
    } else if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 {
        FileType::Directory
    } else {
        FileType::File
    }
}

/// What an open file says of itself.
fn stat(file: &impl AsRawHandle) -> io::Result<Stat> {
    let information = handle::information(file)?;
    let times = handle::times(file)?;
    let attributes = information.dwFileAttributes;
    let tag = if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        handle::reparse_tag(file)?
    } else {
        0
    };
    let mode = match file_type(attributes, tag) {
        FileType::Symlink => 0o120_777,
        FileType::Directory => 0o040_755,
        _ if attributes & FILE_ATTRIBUTE_READONLY != 0 => 0o100_444,
        _ => 0o100_644,
    };
    let whole = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let mtime = time(times.LastWriteTime);
    Ok(Stat {
        dev: information.dwVolumeSerialNumber.into(),
        ino: whole(information.nFileIndexHigh, information.nFileIndexLow),
        mode,
        size: whole(information.nFileSizeHigh, information.nFileSizeLow),
        mtime,
        // FAT keeps none.
        ctime: if times.ChangeTime == 0 {
            mtime
        } else {
            time(times.ChangeTime)
        },
        ..Stat::default()
    })
}

fn open(path: &Path, access: u32, flags: u32) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(access)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | flags)
        .open(path)
}

impl Stat {
    /// What a path itself is, whatever it leads to.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn of(path: &Path) -> io::Result<Self> {
        stat(&open(
            path,
            FILE_READ_ATTRIBUTES,
            FILE_FLAG_OPEN_REPARSE_POINT,
        )?)
    }

    /// What a path leads to.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn followed(path: &Path) -> io::Result<Self> {
        stat(&open(path, FILE_READ_ATTRIBUTES, 0)?)
    }
}

const LIST: u32 = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES;

/// An open directory. Everything in it is reached relative to the handle, so that a path swapped
/// in the meantime leads nowhere else.
#[derive(Debug)]
pub struct Dir {
    handle: OwnedHandle,
    /// Where it was opened, for reading symlinks.
    path: PathBuf,
}

impl Dir {
    /// Opens a directory by its path, symlinks followed: the root of a tree.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn open(path: &Path) -> io::Result<Self> {
        let handle = open(path, LIST, 0)?;
        if stat(&handle)?.file_type() != FileType::Directory {
            return Err(io::Error::from_raw_os_error(ERROR_DIRECTORY as i32));
        }
        Ok(Self {
            handle: handle.into(),
            path: path.to_path_buf(),
        })
    }

    /// Opens the directory `relative` (components separated by `/`) below this one without
    /// following a symlink on the way.
    ///
    /// # Errors
    /// What the system calls give; [`Obstacle::Swapped`] where there is a symlink.
    pub fn open_below(&self, relative: &[u8]) -> io::Result<Self> {
        let mut opened = Self {
            handle: self.handle.try_clone()?,
            path: self.path.clone(),
        };
        if relative.is_empty() {
            return Ok(opened);
        }
        for name in relative.split(|&byte| byte == b'/') {
            if name == b"." {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            opened = opened.open_child(name)?;
        }
        Ok(opened)
    }

    /// Opens the directory `name` in this one; a symlink is refused.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn open_child(&self, name: &[u8]) -> io::Result<Self> {
        let handle = self.open_name(name, LIST, FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT)?;
        if stat(&handle)?.file_type() != FileType::Directory {
            return Err(io::Error::from_raw_os_error(
                ERROR_STOPPED_ON_SYMLINK as i32,
            ));
        }
        Ok(self.child(handle, name))
    }

    /// Opens the directory `name` in this one, symlinks followed: only to look at, never to
    /// remove from.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn open_followed(&self, name: &[u8]) -> io::Result<Self> {
        let handle = self.open_name(name, LIST, FILE_DIRECTORY_FILE)?;
        Ok(self.child(handle, name))
    }

    fn child(&self, handle: OwnedHandle, name: &[u8]) -> Self {
        Self {
            handle,
            path: self.path.join(from_git(name)),
        }
    }

    /// Opens one name in the directory. `.` is the directory itself.
    fn open_name(&self, name: &[u8], access: u32, options: u32) -> io::Result<OwnedHandle> {
        // No separator, and no stream of a file.
        if name.is_empty() || name == b".." || name.iter().any(|byte| b"/\\:".contains(byte)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let name = if name == b"." { &b""[..] } else { name };
        handle::open_at(&self.handle, &wide(name), access, options)
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
        handle::list(&self.handle, buffer, |name, attributes, tag| {
            let name = OsString::from_wide(name);
            let name = name.as_encoded_bytes();
            if !matches!(name, b"." | b"..") {
                each(name, file_type(attributes, tag));
            }
        })
    }

    /// What a name in the directory is, whatever it leads to.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn lstat(&self, name: &[u8]) -> io::Result<Stat> {
        stat(&self.open_name(name, FILE_READ_ATTRIBUTES, FILE_OPEN_REPARSE_POINT)?)
    }

    /// What a name in the directory leads to.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn stat(&self, name: &[u8]) -> io::Result<Stat> {
        stat(&self.open_name(name, FILE_READ_ATTRIBUTES, 0)?)
    }

    /// As [`Dir::lstat`]: there is no time of birth to be trusted.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn lstat_with_birth(&self, name: &[u8]) -> io::Result<Stat> {
        self.lstat(name)
    }

    /// As [`Dir::stat`]: there is no time of birth to be trusted.
    ///
    /// # Errors
    /// What the system calls give.
    pub fn stat_with_birth(&self, name: &[u8]) -> io::Result<Stat> {
        self.stat(name)
    }

    /// Reads at most `limit` bytes of a regular file, symlinks followed. Anything but a regular
    /// file is refused without waiting for it.
    ///
    /// # Errors
    /// What the system calls give; `InvalidInput` for what is no regular file.
    pub fn read(&self, name: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let file = self.open_name(name, FILE_GENERIC_READ, FILE_NON_DIRECTORY_FILE)?;
        if !handle::is_on_disk(&file) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let mut bytes = Vec::new();
        File::from(file).take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Where the symlink `name` points to, as git records it: with `/`.
    ///
    /// # Errors
    /// What the system call gives.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        let target = std::fs::read_link(self.path.join(from_git(name)))?;
        Ok(to_git(target.as_os_str()).into_owned().into())
    }

    /// Removes the file or symlink `name`. Only `purge` calls this.
    ///
    /// # Errors
    /// What the system calls give.
    pub(crate) fn unlink(&self, name: &[u8]) -> io::Result<()> {
        let options = FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT;
        handle::remove(&self.open_name(name, DELETE | FILE_READ_ATTRIBUTES, options)?)
    }

    /// Removes the empty directory `name`. Only `purge` calls this.
    ///
    /// # Errors
    /// What the system calls give; `DirectoryNotEmpty` where there is anything in it.
    pub(crate) fn rmdir(&self, name: &[u8]) -> io::Result<()> {
        let options = FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT;
        let directory = self.open_name(name, DELETE | FILE_READ_ATTRIBUTES, options)?;
        if stat(&directory)?.file_type() != FileType::Directory {
            return Err(io::Error::from_raw_os_error(
                ERROR_STOPPED_ON_SYMLINK as i32,
            ));
        }
        handle::remove(&directory)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn names_come_back() {
        for units in [
            &[0x61, 0x62][..],
            &[0xE9],
            &[0xD83D, 0xDE00],
            &[0xD83D],
            &[0x61, 0xDE00, 0x62],
        ] {
            let name = OsString::from_wide(units);
            let bytes = to_git(&name);
            assert_eq!(wide(&bytes), units);
            assert_eq!(from_git(&bytes).as_os_str(), name);
        }
        assert_eq!(*to_git(OsStr::new("C:\\a\\b")), *"C:/a/b");
        assert_eq!(from_git(b"a/b").as_os_str(), "a\\b");
    }

    #[test]
    fn drives_are_left_out_of_a_prefix() {
        for (path, inside) in [
            ("C:\\a\\b", "a/b"),
            ("\\\\server\\share\\a", "server/share/a"),
        ] {
            assert_eq!(crate::fsys::path::in_prefix_of(Path::new(path)), inside);
        }
        let root = Path::new("D:\\work");
        assert_eq!(
            crate::fsys::path::of_prefix(b"a/b", root),
            Path::new("D:\\a\\b")
        );
    }

    #[test]
    fn a_directory_is_listed_and_emptied() {
        let tree = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(tree.path().join("a/b")).expect("directories");
        fs::write(tree.path().join("a/file"), "12345").expect("a file");
        let root = Dir::open(tree.path()).expect("the root");
        let a = root.open_below(b"a").expect("a directory");
        let mut names = Vec::new();
        let mut buffer = DirBuffer::default();
        for _ in 0..2 {
            names.clear();
            a.list(&mut buffer, |name, file_type| {
                names.push((name.to_vec(), file_type))
            })
            .expect("a listing");
            names.sort_by(|one, other| one.0.cmp(&other.0));
            let expected = [
                (b"b".to_vec(), FileType::Directory),
                (b"file".to_vec(), FileType::File),
            ];
            assert_eq!(names, expected);
        }
        assert_eq!(a.lstat(b"file").expect("stat").size, 5);
        assert_eq!(a.read(b"file", 2).expect("content"), b"12");
        assert!(a.read(b"b", 2).is_err());
        for path in [&b"../a"[..], b"a/../a", b"a\\b", b"/a", b"a/file"] {
            assert!(root.open_below(path).is_err());
        }
        assert!(a.rmdir(b"file").is_err());
        assert!(a.unlink(b"b").is_err());
        assert!(root.rmdir(b"a").is_err());
        a.unlink(b"file").expect("it is removed");
        a.rmdir(b"b").expect("it is removed");
        drop(a);
        root.rmdir(b"a").expect("it is removed");
    }

    #[test]
    fn setting_times_moves_the_ctime() {
        let tree = tempfile::tempdir().expect("a directory");
        let path = tree.path().join("file");
        fs::write(&path, "").expect("a file");
        let old = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_700);
        let file = OpenOptions::new()
            .write(true)
            .open(&path)
            .expect("it opens");
        file.set_modified(old).expect("a time");
        drop(file);
        let stat = Stat::of(&path).expect("stat");
        assert_eq!(
            stat.mtime,
            Time {
                sec: 1_000_000_000,
                nsec: 123_456_700
            }
        );
        assert!(stat.ctime > stat.mtime);
    }

    #[test]
    fn what_is_held_open_is_named_as_that() {
        let tree = tempfile::tempdir().expect("a directory");
        let path = tree.path().join("file");
        fs::write(&path, "").expect("a file");
        let held = OpenOptions::new()
            .read(true)
            .share_mode(1)
            .open(&path)
            .expect("it opens");
        let root = Dir::open(tree.path()).expect("the root");
        let error = root.unlink(b"file").expect_err("it is in use");
        assert_eq!(obstacle(&error), Some(Obstacle::InUse), "{error}");
        drop(held);
        root.unlink(b"file").expect("it is removed");
    }
}
