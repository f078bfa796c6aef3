//! Who may read, run and change a file: what its directory lets files inherit.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Whether anybody may run the file: that depends on its name alone.
pub fn may_run(_: &Metadata) -> bool {
    true
}

/// Creates a file with what its directory lets it inherit.
///
/// # Errors
/// What the system call gives; also where there is something by that name.
pub fn create(path: &Path, _private: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Everybody who may read a file may run it.
///
/// # Errors
/// None.
pub fn let_run(_: &File) -> io::Result<()> {
    Ok(())
}

/// Makes a file read-only where another is.
///
/// # Errors
/// What the system call gives.
pub fn keep(file: &File, other: &Metadata) -> io::Result<()> {
    file.set_permissions(other.permissions())
}

/// Leaves what the directory lets the file inherit.
///
/// # Errors
/// None.
pub fn let_all_read(_: &File) -> io::Result<()> {
    Ok(())
}
