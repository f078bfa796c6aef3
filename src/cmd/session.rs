//! What every command that looks at a work tree begins with.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bstr::BString;

use crate::config::{Config, Numba};
use crate::exclude::Exclude;
use crate::fsys::path::{real, relative_to};
use crate::fsys::system_prefix;
use crate::git::Repo;
use crate::options::Global;
use crate::payload::Base;
use crate::report::style::message;
use crate::scan::Options;

/// The work tree, its configuration and what the command line adds.
pub struct Session {
    /// Where the command was started, absolute.
    pub directory: PathBuf,
    /// The repository; `None` outside git.
    pub repo: Option<Repo>,
    /// Root of the work tree, absolute and without symlinks; outside git the directory.
    pub root: PathBuf,
    /// What the configuration file says.
    pub config: Config,
    /// Bytecode prefixes, absolute.
    pub prefixes: Vec<PathBuf>,
    /// Further trees, absolute.
    pub also: Vec<PathBuf>,
    /// What is left out.
    pub exclude: Exclude,
}

impl Session {
    /// Finds the repository as git does, reads the configuration, and merges the command line.
    ///
    /// # Errors
    /// If the directory, the repository or the configuration cannot be read.
    pub fn open(global: &Global, also: &[PathBuf]) -> Result<Self> {
        let directory = current_directory()?;
        let repo = Repo::discover(&directory)?;
        let root = root_of(&directory, repo.as_ref())?;
        let config = Config::load(&root, global.config.as_deref())?;
        Self::with(global, also, directory, repo, config)
    }

    /// As [`Session::open`], for the repository git has started a hook in. `None` outside git. A
    /// configuration that cannot be read is one warning, and what it says does not count.
    ///
    /// # Errors
    /// If the directory or the repository cannot be read.
    pub fn for_hook(global: &Global) -> Result<Option<Self>> {
        let directory = current_directory()?;
        match Repo::for_hook(&directory)? {
            None => Ok(None),
            Some(repo) => {
                let config = Config::load(repo.root(), global.config.as_deref());
                let config = config.unwrap_or_else(|error| {
                    let why = format!("{error:#}").replace('\n', " ");
                    message(&format!("pycgate: warning: {why}"));
                    Config::default()
                });
                Self::with(global, &[], directory, Some(repo), config).map(Some)
            }
        }
    }

    fn with(
        global: &Global,
        also: &[PathBuf],
        directory: PathBuf,
        repo: Option<Repo>,
        config: Config,
    ) -> Result<Self> {
        let root = root_of(&directory, repo.as_ref())?;
        let globs: Vec<&String> = config.exclude.iter().chain(&global.exclude).collect();
        let exclude = Exclude::new(&globs)?;
        let mut prefixes: Vec<PathBuf> = global
            .pycache_prefix
            .iter()
            .map(|prefix| directory.join(prefix))
            .collect();
        prefixes.extend(config.pycache_prefix.iter().cloned());
        prefixes.extend(interpreter_prefixes(&directory));
        prefixes.sort();
        prefixes.dedup();
        let also = also
            .iter()
            .map(|path| {
                let path = directory.join(path);
                real(&path).with_context(|| format!("cannot find {} (--also)", path.display()))
            })
            .collect::<Result<Vec<PathBuf>>>()?;
        if let Some(above) = also
            .iter()
            .find(|path| root.starts_with(path) && **path != root)
        {
            bail!(
                "--also {}: the work tree lies in it; name a directory beside it",
                above.display()
            );
        }
        // What lies in the work tree is judged with it.
        let also = also
            .into_iter()
            .filter(|path| !path.starts_with(&root))
            .collect();
        Ok(Self {
            directory,
            repo,
            root,
            config,
            prefixes,
            also,
            exclude,
        })
    }

    /// The options of a scan over this work tree.
    pub fn options<'a>(&'a self, global: &Global, payload: Option<&'a Base>) -> Options<'a> {
        Options {
            root: &self.root,
            repo: self.repo.as_ref(),
            prefixes: &self.prefixes,
            also: &self.also,
            exclude: &self.exclude,
            read_every_header: global.all_entries,
            keep_all: global.all_entries,
            numba_all: self.config.numba == Numba::All,
            payload,
            stamp: false,
            progress: None,
        }
    }

    /// A path of the user's, relative to the root.
    ///
    /// # Errors
    /// If it lies outside the work tree.
    pub fn relative(&self, path: &Path) -> Result<BString> {
        let absolute = plain(&self.directory.join(path));
        // The last component may itself be a symlink, which is what is meant then.
        let resolved = match (
            absolute.parent().and_then(|parent| existing(parent).ok()),
            absolute.file_name(),
        ) {
            (Some(parent), Some(name)) if absolute != self.root => parent.join(name),
            _ => real(&absolute).unwrap_or_else(|_| absolute.clone()),
        };
        for candidate in [&resolved, &absolute] {
            if let Some(relative) = relative_to(candidate, &self.root) {
                return Ok(relative);
            }
        }
        bail!(
            "{} lies outside the work tree {}",
            path.display(),
            self.root.display()
        )
    }
}

fn root_of(directory: &Path, repo: Option<&Repo>) -> Result<PathBuf> {
    match repo {
        Some(repo) => Ok(repo.root().to_path_buf()),
        None => real(directory).with_context(|| format!("cannot find {}", directory.display())),
    }
}

fn current_directory() -> Result<PathBuf> {
    env::current_dir().context("the current directory cannot be found: does it still exist?")
}

/// A path without `.` and `..`, taken lexically.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The real path of a directory of which the end may be missing.
fn existing(path: &Path) -> std::io::Result<PathBuf> {
    match (real(path), path.parent(), path.file_name()) {
        (Ok(real), ..) => Ok(real),
        (Err(_), Some(parent), Some(name)) => Ok(existing(parent)?.join(name)),
        (Err(error), ..) => Err(error),
    }
}

/// Where interpreters put entries without being told on the command line: `PYTHONPYCACHEPREFIX`,
/// relative to the process's directory, and on macOS the prefix of the system's Python.
fn interpreter_prefixes(directory: &Path) -> Vec<PathBuf> {
    let mut prefixes = Vec::new();
    if let Some(prefix) = env::var_os("PYTHONPYCACHEPREFIX").filter(|prefix| !prefix.is_empty()) {
        prefixes.push(directory.join(prefix));
    }
    prefixes.extend(system_prefix());
    prefixes
}
