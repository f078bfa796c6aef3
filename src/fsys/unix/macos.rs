//! What macOS and the BSDs do otherwise than Linux. It is compiled for macOS in each release, and
//! has been run on none of them yet.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::AtFlags;

use super::{FileType, Stat, Time, birth, of_listing, open_each};

/// Nothing is kept from one directory to the next: the C library reads the listing.
#[derive(Default)]
pub struct DirBuffer;

/// Calls `each` with name and type of everything in a directory, `.` and `..` too.
pub fn list(
    directory: &OwnedFd,
    _: &mut DirBuffer,
    mut each: impl FnMut(&[u8], Option<FileType>),
) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        each(entry.file_name().to_bytes(), of_listing(entry.file_type()));
    }
    Ok(())
}

/// Opens a directory below another; no symlink is followed.
pub fn open_piece(directory: &OwnedFd, relative: &[u8]) -> io::Result<OwnedFd> {
    open_each(directory, relative)
}

/// The time of birth, which each `stat` tells.
pub fn birth_of(stat: &rustix::fs::Stat) -> Option<Time> {
    birth(stat.st_birthtime, stat.st_birthtime_nsec as u32)
}

/// What stands for a name, with the time of birth where the file system has one.
pub fn with_birth(directory: &OwnedFd, name: &[u8], flags: AtFlags) -> io::Result<Stat> {
    Ok(rustix::fs::statat(directory, name, flags)?.into())
}

/// Whether the caller has a signal ignored.
pub fn is_ignored(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only fills `now`, whole where it succeeds.
    #[allow(unsafe_code)]
    let handler = unsafe {
        if libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) != 0 {
            return false;
        }
        now.assume_init().sa_sigaction
    };
    handler == libc::SIG_IGN
}

/// The prefix that the Python of Apple's developer tools writes its bytecode to.
pub fn system_prefix() -> Option<PathBuf> {
    cfg!(target_os = "macos")
        .then(|| env::var_os("HOME"))
        .flatten()
        .map(|home| PathBuf::from(home).join("Library/Caches/com.apple.python"))
}
