//! Where git looks for the hooks of a repository.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bstr::ByteSlice as _;

use crate::fsys::path::from_git;
use crate::git::Git;

/// A repository and the directory that its hooks are run from.
#[derive(Clone, Debug)]
pub struct Site {
    /// Git, in the root of the work tree.
    pub git: Git,
    /// The root of the work tree.
    pub root: PathBuf,
    /// The directory of the hook files; it need not exist.
    pub hooks: PathBuf,
    /// Who has decided on that directory.
    pub chosen: Chosen,
}

/// Who has decided where the hook files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Nobody: it is git's default, shared by all work trees of the repository.
    Default,
    /// `core.hooksPath` of this repository or work tree, or of the command line.
    Here,
    /// `core.hooksPath` for every repository of the user or the machine; the file that sets it.
    Everywhere(String),
}

impl Site {
    /// The repository around `directory`.
    ///
    /// # Errors
    /// Git is missing, or there is no work tree.
    pub fn discover(directory: &Path) -> Result<Self> {
        Self::open(Git::at(directory), directory)
    }

    /// The repository of a submodule that is checked out in `directory`.
    ///
    /// # Errors
    /// As [`Site::discover`].
    pub fn of_submodule(directory: &Path) -> Result<Self> {
        Self::open(Git::apart(directory), directory)
    }

    fn open(git: Git, directory: &Path) -> Result<Self> {
        let answer = git.ask(&["rev-parse", "--show-toplevel"], None)?;
        let printed = answer.stdout.strip_suffix(b"\n").unwrap_or_default();
        if !answer.status.success() || printed.is_empty() {
            let place = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
            let place = place.display();
            let bare = git.ask(&["rev-parse", "--is-bare-repository"], None)?;
            if bare.stdout.starts_with(b"true") {
                bail!(
                    "{place} is a bare repository, without a work tree for Python to run in; \
                     go into one of its work trees"
                );
            }
            if bare.status.success() {
                bail!("{place} is not in a work tree; go into the work tree of this repository");
            }
            bail!(
                "{place} is not in a git repository that git opens ({}); go into one, or name it with -C DIR",
                answer
                    .stderr
                    .to_str_lossy()
                    .trim()
                    .trim_start_matches("fatal: ")
            );
        }
        let root = from_git(printed).into_owned();
        let git = git.moved_to(&root);
        let (hooks, chosen) = hooks_directory(&git, &root)?;
        Ok(Self {
            git,
            root,
            hooks,
            chosen,
        })
    }

    /// The submodules of this repository that are checked out, without their own submodules.
    ///
    /// # Errors
    /// Git cannot list the index.
    pub fn submodules(&self) -> Result<Vec<PathBuf>> {
        let listed = self.git.line(&["ls-files", "--stage", "-z"])?;
        let mut paths: Vec<PathBuf> = listed
            .split(|&byte| byte == 0)
            .filter(|record| record.starts_with(b"160000 "))
            .filter_map(|record| record.splitn(2, |&byte| byte == b'\t').nth(1))
            .map(|path| self.root.join(from_git(path)))
            .filter(|path| path.join(".git").symlink_metadata().is_ok())
            .collect();
        paths.dedup();
        Ok(paths)
    }
}

/// Git's rule: `core.hooksPath` (relative to the root of the work tree, where hooks are run), else
/// `hooks` in the directory that all work trees share.
fn hooks_directory(git: &Git, root: &Path) -> Result<(PathBuf, Chosen)> {
    let arguments = [
        "config",
        "--show-scope",
        "--show-origin",
        "--type=path",
        "-z",
        "--get",
        "core.hooksPath",
    ];
    let answer = git.ask(&arguments, None)?;
    if answer.status.success() {
        let mut fields = answer.stdout.split(|&byte| byte == 0);
        let mut next = || fields.next().unwrap_or_default();
        let (scope, origin, value) = (next(), next(), next());
        let chosen = if matches!(scope, b"global" | b"system") {
            let origin = String::from_utf8_lossy(origin);
            Chosen::Everywhere(origin.trim_start_matches("file:").to_owned())
        } else {
            Chosen::Here
        };
        if value.is_empty() {
            bail!(
                "core.hooksPath is set to nothing, so git runs no hooks in {}; \
                 remove the setting: git config --unset core.hooksPath",
                root.display()
            );
        }
        return Ok((root.join(from_git(value)), chosen));
    }
    // Status 1: it is not set.
    if answer.status.code() != Some(1) {
        bail!(
            "cannot read core.hooksPath: {}",
            answer.stderr.to_str_lossy().trim()
        );
    }
    let common = git.line(&["rev-parse", "--git-common-dir"])?;
    Ok((root.join(from_git(&common)).join("hooks"), Chosen::Default))
}
