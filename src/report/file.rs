//! Where `--report` goes: a file that is complete or not there.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

use crate::fsys::access;
use crate::fsys::path::real;

/// A place for a report, found fit to be written to.
pub enum Destination {
    /// A file: the report gets another name first and is then moved into place.
    Whole(NamedTempFile, PathBuf),
    /// A device or a pipe: written as it is, and never replaced.
    Stream(File, PathBuf),
}

impl Destination {
    /// Opens the place, so that one that cannot be written to is known before the sweep.
    ///
    /// # Errors
    /// If it is a directory or cannot be written to.
    pub fn prepare(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        // A link is kept: what it points to is written.
        let path = real(&path).unwrap_or(path);
        let named = || format!("--report {}", path.display());
        if path.components().any(|part| part.as_os_str() == ".git")
            || path.extension().is_some_and(|suffix| suffix == "py")
        {
            bail!(
                "{}: a repository's own files and sources are not overwritten; name another file",
                named()
            );
        }
        match path.metadata() {
            Ok(data) if data.is_dir() => bail!("{}: it is a directory; name a file", named()),
            Ok(data) if !data.is_file() => {
                let file = OpenOptions::new().write(true).open(&path);
                let file = file.with_context(|| format!("{}: it cannot be opened", named()))?;
                Ok(Self::Stream(file, path))
            }
            _ => {
                let directory = path.parent().with_context(named)?;
                let file = tempfile::Builder::new()
                    .prefix(".pycgate-report-")
                    .tempfile_in(directory);
                let file = file
                    .with_context(|| format!("{}: its directory cannot be written to", named()))?;
                Ok(Self::Whole(file, path))
            }
        }
    }

    /// Writes the whole report.
    ///
    /// # Errors
    /// If it cannot be written, as on a full disk.
    pub fn write(self, text: &str) -> Result<()> {
        match self {
            Self::Stream(mut file, path) => file
                .write_all(text.as_bytes())
                .with_context(|| format!("--report {}: it cannot be written", path.display())),
            Self::Whole(mut file, path) => {
                let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
                written.with_context(|| {
                    format!("--report {}: it cannot be written", path.display())
                })?;
                // Temporary files are private; a report is for whoever may read its directory.
                access::let_all_read(file.as_file())?;
                file.persist(&path).with_context(|| {
                    format!("--report {}: it cannot be moved into place", path.display())
                })?;
                Ok(())
            }
        }
    }
}
