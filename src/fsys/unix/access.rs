//! Who may read, run and change a file.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::Path;

/// Whether anybody may run the file.
pub fn may_run(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o111 != 0
}

/// Creates a file that everybody whom the umask allows may run, or that only its owner may read.
///
/// # Errors
/// What the system call gives; also where there is something by that name.
pub fn create(path: &Path, private: bool) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(if private { 0o600 } else { 0o777 })
        .open(path)
}

/// Lets the owner of a file run it, whatever the umask is.
///
/// # Errors
/// What the system calls give.
pub fn let_run(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o500 != 0o500 {
        file.set_permissions(Permissions::from_mode(mode | 0o500))?;
    }
    Ok(())
}

/// Gives a file the mode and the owner of another.
///
/// # Errors
/// What the system calls give.
pub fn keep(file: &File, other: &Metadata) -> io::Result<()> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (other.uid(), other.gid()) {
        fchown(file, Some(other.uid()), Some(other.gid()))?;
    }
    // After fchown, which clears the setuid and setgid bits.
    file.set_permissions(other.permissions())
}

/// Lets whoever reaches a file read it, and its owner write it.
///
/// # Errors
/// What the system call gives.
pub fn let_all_read(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o644))
}
