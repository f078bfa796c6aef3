//! Asks pytest how the run ended that it is about to do: its exit statuses do not say whether the code
//! is at fault.
//!
//! pytest finds plugins by the entry points of installed distributions. For one run a distribution is
//! added at the end of `PYTHONPATH`. An interpreter that ignores the variable (`-I`, `-E`) then runs as
//! ever and says nothing, where `-p NAME` and `PYTEST_PLUGINS` would fail for want of the module. The
//! distribution is a zip archive, since Python writes no bytecode for what it imports from one; the plugin
//! takes the archive out of the environment and of `sys.path` as soon as it is loaded, so that workers,
//! subprocesses and sessions within tests find everything as the caller has it. JUnit's XML would have
//! collided with the caller's own, and has nothing to say of a conftest that cannot be imported.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use tempfile::TempDir;

use crate::fsys::path::LIST_SEPARATOR;

/// A question that waits for a run of pytest to answer it.
pub struct Question {
    directory: TempDir,
}

/// What is in the archive: the name, and the text.
const FILES: [(&str, &str); 5] = [
    ("pycgate_outcome.py", include_str!("pytest_loader.py")),
    ("pytest_outcome.py", include_str!("pytest_outcome.py")),
    ("pytest_asked.py", include_str!("pytest_asked.py")),
    (
        concat!(
            "pycgate_outcome-",
            env!("CARGO_PKG_VERSION"),
            ".dist-info/METADATA"
        ),
        concat!(
            "Metadata-Version: 2.1\nName: pycgate-outcome\nVersion: ",
            env!("CARGO_PKG_VERSION"),
            "\n"
        ),
    ),
    (
        concat!(
            "pycgate_outcome-",
            env!("CARGO_PKG_VERSION"),
            ".dist-info/entry_points.txt"
        ),
        "[pytest11]\npycgate_outcome = pycgate_outcome:plugin\n",
    ),
];

impl Question {
    /// Prepares a question.
    ///
    /// # Errors
    /// If there is no place for temporary files.
    pub fn new() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pycgate-").tempdir()?;
        let file = std::fs::File::create(directory.path().join(ARCHIVE))?;
        archive(file).map_err(io::Error::other)?;
        Ok(Self { directory })
    }

    /// The `PYTHONPATH` that the run needs: the caller's and the archive.
    pub fn python_path(&self) -> (&'static str, OsString) {
        let mut path = std::env::var_os("PYTHONPATH").unwrap_or_default();
        self.add_to(&mut path);
        ("PYTHONPATH", path)
    }

    /// Adds the archive to a `PYTHONPATH`, or to a word that sets it.
    pub fn add_to(&self, path: &mut OsString) {
        let is_empty = path.is_empty() || path.as_encoded_bytes().ends_with(b"=");
        if !is_empty {
            path.push(LIST_SEPARATOR);
        }
        path.push(self.directory.path().join(ARCHIVE));
    }

    /// The variable that the run needs beside it.
    pub fn variable(&self) -> (&'static str, OsString) {
        ("PYCGATE_OUTCOME", self.answer_file().into())
    }

    /// What pytest has answered, as `pytest_outcome.py` writes it: empty where no session began. `None`
    /// where pytest was not reached.
    pub fn answer(&self) -> Option<Vec<u8>> {
        std::fs::read(self.answer_file()).ok()
    }

    fn answer_file(&self) -> PathBuf {
        self.directory.path().join("outcome")
    }
}

const ARCHIVE: &str = "pycgate-outcome.zip";

fn archive(file: impl Write) -> Result<(), rawzip::Error> {
    let mut archive = rawzip::ZipArchiveWriter::new(file);
    for (name, text) in FILES {
        let (mut entry, config) = archive.new_file(name).start()?;
        let mut writer = config.wrap(&mut entry);
        writer.write_all(text.as_bytes())?;
        let (_, descriptor) = writer.finish()?;
        entry.finish(descriptor)?;
    }
    archive.finish()?;
    Ok(())
}
