//! `pycgate check`: report only, change nothing.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::bytecode::State;
use crate::cmd::session::Session;
use crate::exit::Exit;
use crate::options::{Format, Global};
use crate::report::json::Report;
use crate::report::progress::Progress;
use crate::report::style::{Terminal, count, message, output, printable};
use crate::report::{text, words};
use crate::scan::{self, Options, Scan};

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Ask the interpreter about racy entries
    #[arg(long)]
    pub prove: bool,
    /// An interpreter for --prove (repeatable)
    #[arg(long, value_name = "PATH")]
    pub python: Vec<PathBuf>,
    /// Exit 0 whatever is found
    #[arg(long)]
    pub exit_zero: bool,
    /// Sources or directories; without any, the whole work tree
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

impl Check {
    /// Reports what can lie.
    ///
    /// # Errors
    /// If the repository or configuration cannot be read.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let session = Session::open(global, &[])?;
        let terminal = Terminal::stdout(global.color);
        let mut scan = {
            let progress = Progress::new(Terminal::stderr(global.color), global.quiet);
            let seen = |directories| progress.seen(directories);
            // What is named is counted by itself, the settled entries too.
            let options = Options {
                progress: Some(&seen),
                keep_all: global.all_entries || !self.paths.is_empty(),
                ..session.options(global, None)
            };
            let mut scan = scan::whole(&options)?;
            if !self.paths.is_empty() {
                narrow(&session, &mut scan, &self.paths)?;
            }
            if !global.all_entries {
                scan.keep_noteworthy();
            }
            scan
        };
        if self.prove {
            crate::cmd::prove::acquit(&mut scan, &self.python)?;
        }
        for trouble in &scan.troubles {
            message(&format!("pycgate: {trouble}"));
        }
        // Without it nothing can be purged, which would be a surprise in the gate.
        let index = session
            .repo
            .as_ref()
            .map_or(Ok(()), |repo| repo.index().map(drop));
        if let Err(error) = &index {
            message(&format!("pycgate: {error:#}"));
        }
        let excluded = [session.config.exclude.as_slice(), &global.exclude].concat();
        let found = scan.lying().count() + scan.ghosts.len();
        match global.format {
            Format::Json => output(&Report::new("check", &scan, false).text())?,
            format => output(&self.lines(global, &scan, terminal, format, found, &excluded))?,
        }
        if !scan.troubles.is_empty() || index.is_err() {
            return Ok(Exit::ERROR);
        }
        Ok(Exit::attention_if(found > 0 && !self.exit_zero))
    }
}

impl Check {
    fn lines(
        &self,
        global: &Global,
        scan: &Scan,
        terminal: Terminal,
        format: Format,
        found: usize,
        excluded: &[String],
    ) -> String {
        let mut lines = String::new();
        for entry in scan.entries.iter().filter(|entry| {
            global.all_entries
                || entry.state >= State::Racy
                || entry.state == State::Orphan && format != Format::Github
        }) {
            lines.push_str(&match format {
                Format::Github => text::annotation(scan, entry),
                _ => text::finding(scan, entry, terminal),
            });
            lines.push('\n');
        }
        for ghost in &scan.ghosts {
            lines.push_str(&match format {
                Format::Github => text::ghost_annotation(ghost),
                _ => text::ghost(ghost),
            });
            lines.push('\n');
        }
        if !global.quiet && format != Format::Github {
            lines.push_str(&summary(scan, found));
            for glob in excluded {
                let glob = printable(glob.as_bytes());
                lines.push_str(&format!("left out: {glob} (excluded)\n"));
            }
        }
        lines
    }
}

/// What was found in one line, and what to do about it in the next.
fn summary(scan: &Scan, found: usize) -> String {
    let all = words::entries(scan.counts.scanned);
    if found == 0 {
        return if scan.counts.scanned == 0 {
            "no cache entries\n".to_owned()
        } else {
            format!("nothing stale ({all})\n")
        };
    }
    let lying = scan.lying().count();
    let mut parts = Vec::new();
    if lying > 0 {
        parts.push(format!("{lying} of {all} could be stale"));
    }
    let ghosts = scan.ghosts.len() as u64;
    if ghosts > 0 {
        let what = count(ghosts, "deleted directory", "deleted directories");
        parts.push(format!("{what} can still be imported"));
    }
    let removable = scan.ghosts.len()
        + scan
            .lying()
            .filter(|entry| entry.untouchable.is_none())
            .count();
    let hint = match removable {
        0 => "",
        _ if removable == found => "`pycgate gate` removes them\n",
        _ => "`pycgate gate` removes the others\n",
    };
    format!("{}\n{hint}", parts.join("; "))
}

/// Leaves of a scan that has kept everything only what belongs to the paths a user names: sources,
/// entries, or directories with all below.
///
/// # Errors
/// If a path lies outside the work tree, or does not exist.
fn narrow(session: &Session, scan: &mut Scan, paths: &[PathBuf]) -> Result<()> {
    let mut wanted = Vec::new();
    for path in paths {
        let relative = session.relative(path)?;
        let known = scan
            .entries
            .iter()
            .any(|entry| entry.source.as_ref() == Some(&relative));
        if !known && session.directory.join(path).symlink_metadata().is_err() {
            bail!("{}: there is no such file or directory", path.display());
        }
        wanted.push(relative);
    }
    scan.keep_below(&wanted);
    Ok(())
}
