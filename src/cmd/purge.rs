//! `pycgate purge`: purge the entries of given sources.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bstr::{BString, ByteSlice};
use clap::Args;

use crate::bytecode::State;
use crate::cmd::session::Session;
use crate::exit::Exit;
use crate::fsys::path::{below, from_git};
use crate::options::{Format, Global};
use crate::purge;
use crate::report::json::Report;
use crate::report::path_of;
use crate::report::style::{Terminal, message, output, printable};
use crate::report::{text, words};
use crate::scan::{self, Action, Scan, Wanted};

/// Arguments of `purge`.
#[derive(Args, Debug)]
pub struct Purge {
    /// Change nothing; list what would be purged
    #[arg(long)]
    pub dry_run: bool,
    /// Read the paths from FILE, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub pathspec_from_file: Option<PathBuf>,
    /// The paths in FILE end with NUL instead of a newline
    #[arg(long, requires = "pathspec_from_file")]
    pub pathspec_file_nul: bool,
    /// Sources or directories
    #[arg(value_name = "PATH", required_unless_present = "pathspec_from_file")]
    pub paths: Vec<PathBuf>,
}

impl Purge {
    /// Purges the entries of the sources that are named.
    ///
    /// # Errors
    /// If a path lies outside the work tree, or the repository or configuration cannot be read.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let session = Session::open(global, &[])?;
        let mut paths = self.paths.clone();
        if let Some(file) = &self.pathspec_from_file {
            paths.extend(self.read_paths(file)?);
        }
        let mut files = Vec::new();
        let mut directories = Vec::new();
        for path in &paths {
            let relative = session.relative(path)?;
            if is_directory(&session.root, &relative) {
                directories.push(relative);
            } else {
                files.push(wanted(&session, relative));
            }
        }
        let options = session.options(global, None);
        let mut scan = scan::sources(&options, &files)?;
        purge::due(&mut scan, self.dry_run);
        if !directories.is_empty() {
            let mut below = scan::whole(&scan::Options {
                keep_all: true,
                ..options
            })?;
            below.keep_below(&directories);
            for entry in &mut below.entries {
                entry.due =
                    entry.untouchable.is_none() && entry.state != State::Orphan || entry.due;
            }
            purge::due(&mut below, self.dry_run);
            scan.join(below);
        }
        self.tell(global, &scan)
    }
}

impl Purge {
    fn read_paths(&self, file: &Path) -> Result<Vec<PathBuf>> {
        let mut bytes = Vec::new();
        if file.as_os_str() == "-" {
            std::io::stdin()
                .read_to_end(&mut bytes)
                .context("cannot read paths from standard input")?;
        } else {
            bytes = std::fs::read(file)
                .with_context(|| format!("cannot read paths from {}", file.display()))?;
        }
        let separator = if self.pathspec_file_nul { 0 } else { b'\n' };
        let names = bytes.split(|&byte| byte == separator).map(|name| {
            if self.pathspec_file_nul {
                name
            } else {
                name.strip_suffix(b"\r").unwrap_or(name)
            }
        });
        Ok(names
            .filter(|name| !name.is_empty())
            .map(|name| from_git(name).into_owned())
            .collect())
    }

    fn tell(&self, global: &Global, scan: &Scan) -> Result<Exit> {
        let mut failed = false;
        for trouble in &scan.troubles {
            failed = true;
            message(&format!("pycgate: {trouble}"));
        }
        for entry in &scan.entries {
            let path = printable(&path_of(scan, entry));
            if let Action::Failed(why) = &entry.action {
                failed = true;
                message(&format!("pycgate: {path} could not be removed: {why}"));
            }
            if entry.untouchable.is_some() {
                message(&format!(
                    "pycgate: {path} is tracked by git or behind a symlink, and stays ({})",
                    entry.state
                ));
                failed |= entry.state >= State::Racy;
            }
        }
        match global.format {
            Format::Json => output(&Report::new("purge", scan, false).text())?,
            _ if !global.quiet && (self.dry_run || global.verbose) => {
                let terminal = Terminal::stdout(global.color);
                output(&format!(
                    "{}{}\n",
                    text::table(scan, terminal, global.verbose, self.dry_run),
                    words::summary(scan, self.dry_run)
                ))?;
            }
            _ => {}
        }
        Ok(Exit::attention_if(failed))
    }
}

fn is_directory(root: &Path, path: &BString) -> bool {
    below(root, path)
        .symlink_metadata()
        .is_ok_and(|data| data.is_dir())
}

/// A source the user names. `mod.pyc` beside one that is gone may go only if git knows the source.
fn wanted(session: &Session, path: BString) -> Wanted {
    let gone = below(&session.root, &path).symlink_metadata().is_err();
    let repo = session.repo.as_ref();
    let beside = gone && repo.is_some_and(|repo| repo.knows(path.as_bstr()));
    Wanted {
        path,
        purge: true,
        gone,
        beside,
    }
}
