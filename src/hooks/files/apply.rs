//! Carrying out a plan on disk: every file appears whole or not at all, and what was done is
//! taken back when a later step fails.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::fsys::access;

/// One change on disk.
#[derive(Clone, Debug)]
pub enum Step {
    /// Create a directory and those above it.
    MakeDirectory(PathBuf),
    /// Create a hook that everybody whom the umask allows may run.
    Create {
        /// The file; it does not exist.
        path: PathBuf,
        /// What to write.
        content: Vec<u8>,
    },
    /// Replace the content and keep mode and owner.
    Rewrite {
        /// The file.
        path: PathBuf,
        /// What was read from it.
        before: Vec<u8>,
        /// What to write.
        content: Vec<u8>,
    },
    /// Move a file; whatever is at `to` is replaced.
    Move {
        /// The file.
        from: PathBuf,
        /// Its new name, in the same directory.
        to: PathBuf,
    },
    /// Remove a file of pycgate's own.
    Remove {
        /// The file.
        path: PathBuf,
        /// What was read from it.
        before: Vec<u8>,
    },
}

/// How to take a step back.
enum Undo {
    Unlink(PathBuf),
    RemoveDirectory(PathBuf),
    Write(PathBuf, Vec<u8>, fs::Metadata),
    Rename(PathBuf, PathBuf),
}

/// Carries out all steps, or none.
///
/// # Errors
/// The step that failed; everything is then as it was before, and the message says so.
pub fn all(steps: &[Step]) -> Result<()> {
    let mut done = Vec::new();
    for step in steps {
        if let Err(error) = one(step, &mut done) {
            let mut left = Vec::new();
            while let Some(undo) = done.pop() {
                left.extend(take_back(undo).err());
            }
            let outcome = if left.is_empty() {
                "nothing was changed".to_owned()
            } else {
                let left: Vec<String> = left.iter().map(ToString::to_string).collect();
                format!("and could not be taken back: {}", left.join("; "))
            };
            return Err(error).context(outcome);
        }
    }
    Ok(())
}

fn one(step: &Step, done: &mut Vec<Undo>) -> Result<()> {
    match step {
        Step::MakeDirectory(path) => {
            make_directory(path, done).with_context(|| {
                format!(
                    "cannot create the directory {}: make the one above it writable, or point core.hooksPath elsewhere",
                    path.display()
                )
            })
        }
        Step::Create { path, content } => {
            write(path, content, None).with_context(|| cannot_write(path))?;
            done.push(Undo::Unlink(path.clone()));
            Ok(())
        }
        Step::Rewrite {
            path,
            before,
            content,
        } => {
            let metadata = fs::metadata(path).with_context(|| cannot_write(path))?;
            write(path, content, Some(&metadata)).with_context(|| cannot_write(path))?;
            done.push(Undo::Write(path.clone(), before.clone(), metadata));
            Ok(())
        }
        Step::Move { from, to } => {
            fs::rename(from, to).with_context(|| {
                format!(
                    "cannot rename {} to {}: {}",
                    from.display(),
                    to.display(),
                    MEND
                )
            })?;
            done.push(Undo::Rename(to.clone(), from.clone()));
            Ok(())
        }
        Step::Remove { path, before } => {
            let metadata = fs::metadata(path).with_context(|| cannot_remove(path))?;
            fs::remove_file(path).with_context(|| cannot_remove(path))?;
            done.push(Undo::Write(path.clone(), before.clone(), metadata));
            Ok(())
        }
    }
}

const MEND: &str = "make its directory writable (chmod u+w), or run this as its owner";

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}: {MEND}", path.display())
}

fn cannot_remove(path: &Path) -> String {
    format!("cannot remove {}: {MEND}", path.display())
}

fn make_directory(path: &Path, done: &mut Vec<Undo>) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_directory(parent, done)?;
    }
    fs::create_dir(path)?;
    done.push(Undo::RemoveDirectory(path.to_owned()));
    Ok(())
}

fn take_back(undo: Undo) -> io::Result<()> {
    match undo {
        Undo::Unlink(path) => fs::remove_file(path),
        Undo::RemoveDirectory(path) => fs::remove_dir(path),
        Undo::Write(path, content, metadata) => write(&path, &content, Some(&metadata)),
        Undo::Rename(from, to) => fs::rename(from, to),
    }
}

/// Writes a file beside and renames it into place. Without metadata to keep, the mode is what
/// the umask leaves of 0777, and at least its owner may run it.
fn write(path: &Path, content: &[u8], keep: Option<&fs::Metadata>) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".pycgate-{}", std::process::id()));
    let temporary = PathBuf::from(name);
    let mut file = access::create(&temporary, keep.is_some())?;
    let written = file
        .write_all(content)
        .and_then(|()| match keep {
            Some(keep) => access::keep(&file, keep),
            None => access::let_run(&file),
        })
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
