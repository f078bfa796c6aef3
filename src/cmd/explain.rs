//! `pycgate explain`: every entry of one source, and why it is judged as it is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bstr::{BStr, BString};
use clap::Args;

use crate::bytecode::{Dialect, Verdict, parse_beside, parse_in_pycache};
use crate::cmd::session::Session;
use crate::exit::Exit;
use crate::fsys::path::{below, of_prefix, real, to_git};
use crate::fsys::relative::split;
use crate::fsys::{Dir, Stat};
use crate::options::{Format, Global};
use crate::report::json::Report;
use crate::report::path_of;
use crate::report::style::{Terminal, output, printable};
use crate::report::timeline::{Explained, explain};
use crate::scan::{self, Entry, Options, Scan, Untouchable, Wanted};

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// A source or an entry
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
}

impl Explain {
    /// Shows the entries of one source.
    ///
    /// # Errors
    /// If there is no such file, or the repository or configuration cannot be read.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let session = Session::open(global, &[])?;
        let (source, entry) = self.meant(&session)?;
        let wanted = Wanted {
            path: source.clone(),
            purge: false,
            // Whatever lies beside it is told, were it gone.
            gone: true,
            beside: true,
        };
        let options = Options {
            read_every_header: true,
            keep_all: true,
            ..session.options(global, None)
        };
        let mut scan = scan::sources(&options, &[wanted])?;
        if let Some(entry) = &entry {
            scan.entries
                .retain(|found| below(&scan.trees[found.tree].root, &found.path) == *entry);
        }
        if let Some(trouble) = scan.troubles.first() {
            bail!("{trouble}");
        }
        if global.format == Format::Json {
            output(&Report::new("explain", &scan, false).text())?;
            return Ok(Exit::SUCCESS);
        }
        let terminal = Terminal::stdout(global.color);
        let parts: Vec<String> = scan
            .entries
            .iter()
            .filter_map(|entry| {
                let explained = explained(&session, &scan, entry).ok()?;
                Some(explain(&explained, terminal))
            })
            .collect();
        if parts.is_empty() {
            output(&format!(
                "{}: it has no entry: the next import compiles it\n",
                printable(&source)
            ))?;
        } else {
            output(&parts.join("\n"))?;
        }
        Ok(Exit::SUCCESS)
    }
}

impl Explain {
    /// The source that is meant, relative to the root, and the entry where the user named one.
    fn meant(&self, session: &Session) -> Result<(BString, Option<PathBuf>)> {
        let absolute = std::path::absolute(&self.path)?;
        let name = absolute
            .file_name()
            .map(|name| to_git(name).to_vec())
            .unwrap_or_default();
        let directory = absolute.parent().unwrap_or(Path::new("/"));
        if absolute.symlink_metadata().is_err() && !name.ends_with(b".py") {
            bail!(
                "{}: there is no such file: name a source or an entry",
                self.path.display()
            );
        }
        if absolute.is_dir() {
            bail!(
                "{}: it is a directory: name a source or an entry, or run `pycgate check`",
                self.path.display()
            );
        }
        let for_prefix = session
            .prefixes
            .iter()
            .find_map(|prefix| directory.strip_prefix(prefix).ok());
        let (parsed, sources) = if let Some(inside) = for_prefix {
            (
                parse_in_pycache(&name),
                of_prefix(&to_git(inside), &session.root),
            )
        } else if directory
            .file_name()
            .is_some_and(|name| name == "__pycache__")
        {
            (
                parse_in_pycache(&name),
                directory.parent().unwrap_or(directory).to_path_buf(),
            )
        } else {
            (parse_beside(&name), directory.to_path_buf())
        };
        let Some(parsed) = parsed else {
            return Ok((session.relative(&self.path)?, None));
        };
        let existing = scan::owners(&sources, &parsed);
        let existing = existing
            .into_iter()
            .min_by_key(|name| !name.ends_with(b".py"));
        let source = existing.unwrap_or_else(|| parsed.likely_source());
        let source = below(&sources, &source);
        let real = absolute
            .parent()
            .and_then(|parent| real(parent).ok())
            .map_or(absolute.clone(), |parent| below(&parent, &name));
        Ok((session.relative(&source)?, Some(real)))
    }
}

/// All that is shown of one entry.
fn explained(session: &Session, scan: &Scan, entry: &Entry) -> Result<Explained> {
    let (directory, name) = entry.split();
    let handle = Dir::open(&scan.trees[entry.tree].root)?;
    let handle = handle
        .open_below(directory)
        .or_else(|_| follow(&handle, directory))?;
    let stat = handle
        .lstat_with_birth(name)
        .with_context(|| format!("{} has vanished", printable(&entry.path)))?;
    let head = handle.read(name, 16).unwrap_or_default();
    let parsed = entry
        .parsed()
        .context("the scan lists nothing but entries")?;
    let source = entry.source.as_ref().and_then(|source| {
        let stat = Stat::followed(&below(&session.root, source)).ok()?;
        Some((source.to_vec(), stat))
    });
    Ok(Explained {
        entry: path_of(scan, entry),
        times: entry.times,
        source,
        stat,
        dialect: Dialect::of(&parsed, &head),
        head,
        verdict: Verdict {
            state: entry.state,
            reason: entry.reason.clone(),
        },
        untouchable: entry.untouchable.map(|why| match why {
            Untouchable::Tracked => "git tracks it",
            Untouchable::Symlinked => "it lies behind a symlink",
            Untouchable::Unknown => "nothing can say whether git tracks it",
        }),
    })
}

/// Opens a directory whose last part is a symlinked `__pycache__`, to look at it.
fn follow(root: &Dir, directory: &BStr) -> std::io::Result<Dir> {
    let (parent, name) = split(directory);
    root.open_below(parent)?.open_followed(name)
}
