//! What only Linux has: a listing without a copy of each name, and one call that opens a path
//! without following a symlink.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, RawDir, ResolveFlags, Statx, StatxFlags, StatxTimestamp};
use rustix::io::Errno;

use super::{DIRECTORY, FileType, Stat, Time, birth, of_listing, open_each};

/// What listing a directory is read into; kept from one directory to the next.
pub struct DirBuffer(Vec<MaybeUninit<u8>>);

impl Default for DirBuffer {
    fn default() -> Self {
        Self(vec![MaybeUninit::uninit(); 32 * 1024])
    }
}

/// Calls `each` with name and type of everything in a directory, `.` and `..` too.
pub fn list(
    directory: &OwnedFd,
    buffer: &mut DirBuffer,
    mut each: impl FnMut(&[u8], Option<FileType>),
) -> io::Result<()> {
    let mut entries = RawDir::new(directory, &mut buffer.0);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        each(entry.file_name().to_bytes(), of_listing(entry.file_type()));
    }
    Ok(())
}

/// Opens a directory below another; no symlink is followed.
pub fn open_piece(directory: &OwnedFd, relative: &[u8]) -> io::Result<OwnedFd> {
    let opened = rustix::fs::openat2(
        directory,
        relative,
        DIRECTORY,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    );
    match opened {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_each(directory, relative),
        opened => Ok(opened?),
    }
}

/// A `stat` does not tell the time of birth here.
pub fn birth_of(_: &rustix::fs::Stat) -> Option<Time> {
    None
}

/// What stands for a name, with the time of birth where the file system has one.
pub fn with_birth(directory: &OwnedFd, name: &[u8], flags: AtFlags) -> io::Result<Stat> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    match rustix::fs::statx(directory, name, flags, wanted) {
        // Kernels before 4.11, and sandboxes that do not know the call.
        Err(Errno::NOSYS) => Ok(rustix::fs::statat(directory, name, flags)?.into()),
        answer => Ok(answer?.into()),
    }
}

impl From<Statx> for Stat {
    fn from(statx: Statx) -> Self {
        let time = |time: StatxTimestamp| Time {
            sec: time.tv_sec,
            nsec: time.tv_nsec,
        };
        let mask = StatxFlags::from_bits_retain(statx.stx_mask);
        let born = statx.stx_btime;
        Self {
            dev: rustix::fs::makedev(statx.stx_dev_major, statx.stx_dev_minor),
            ino: statx.stx_ino,
            mode: u32::from(statx.stx_mode),
            uid: statx.stx_uid,
            gid: statx.stx_gid,
            size: statx.stx_size,
            mtime: time(statx.stx_mtime),
            ctime: time(statx.stx_ctime),
            born: mask
                .contains(StatxFlags::BTIME)
                .then(|| birth(born.tv_sec, born.tv_nsec))
                .flatten(),
        }
    }
}

/// Whether the caller has a signal ignored.
pub fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// No distribution's Python has a bytecode prefix of its own.
pub fn system_prefix() -> Option<PathBuf> {
    None
}
