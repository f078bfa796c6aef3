//! Questions to the `git` command, for the repositories that libgit2 does not open.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use bstr::{BString, ByteSlice as _};

use super::change::{Change, ChangeKind, is_python};
use super::command::Git;
use crate::fsys::path::{from_git, text};

/// What `git rev-parse` says of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub git_dir: PathBuf,
    pub common_dir: PathBuf,
    pub root: Option<PathBuf>,
    pub sha256: bool,
}

impl Git {
    pub(super) fn shape(&self) -> Result<Shape> {
        let absolute = "--path-format=absolute";
        let path = |bytes: &[u8]| from_git(bytes).into_owned();
        let all = self.run(&[
            "rev-parse",
            absolute,
            "--show-object-format",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ]);
        if let Ok(answer) = &all
            && let [format, git_dir, common_dir, root, b""] =
                answer.split(|&byte| byte == b'\n').collect::<Vec<_>>()[..]
        {
            return Ok(Shape {
                git_dir: path(git_dir),
                common_dir: path(common_dir),
                root: Some(path(root)),
                sha256: format == b"sha256",
            });
        }
        // A bare repository, or a path with line ends in it: one answer each.
        let line = |question: &str| self.line(&["rev-parse", absolute, question]);
        Ok(Shape {
            git_dir: path(&line("--git-dir")?),
            common_dir: path(&line("--git-common-dir")?),
            root: line("--show-toplevel").ok().map(|root| path(&root)),
            sha256: line("--show-object-format")? == b"sha256",
        })
    }

    /// The id a revision names, in hex, or `None` if there is no such thing.
    pub(super) fn resolve(&self, revision: &str) -> Option<String> {
        let line = self
            .run(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                revision,
            ])
            .ok()?;
        Some(line.to_str_lossy().trim().to_owned())
    }

    /// Whether HEAD names a branch that has no commit yet. False where git cannot say (before 2.43).
    pub(super) fn is_unborn(&self) -> bool {
        let Ok(name) = self.line(&["symbolic-ref", "--quiet", "HEAD"]) else {
            return false;
        };
        let question = ["show-ref".as_ref(), "--exists".as_ref(), &*text(&name)];
        let exists = self.ask(&question, None);
        // 2 for a reference that is missing, 1 for one that cannot be read.
        exists.is_ok_and(|output| output.status.code() == Some(2))
    }

    pub(super) fn merge_base(&self, one: &str, two: &str) -> Result<String> {
        Ok(self
            .run(&["merge-base", one, two])?
            .to_str_lossy()
            .trim()
            .to_owned())
    }

    /// Differences between two trees, renames as deletion and addition.
    pub(super) fn diff_trees(&self, old: &str, new: &str) -> Result<Vec<Change>> {
        parse_name_status(&self.run(&[
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-status",
            old,
            new,
            "--",
        ])?)
    }

    /// Differences of the index against a tree.
    pub(super) fn diff_index(&self, tree: &str) -> Result<Vec<Change>> {
        parse_name_status(&self.run(&[
            "diff-index",
            "--cached",
            "--ita-invisible-in-index",
            "-z",
            "--no-renames",
            "--name-status",
            tree,
            "--",
        ])?)
    }

    /// The files of a tree that `wanted` takes by their names.
    pub(super) fn files(&self, tree: &str, wanted: fn(&[u8]) -> bool) -> Result<Vec<BString>> {
        let answer = self.run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree])?;
        let files = split_nul(&answer).filter(|path| wanted(path));
        Ok(files.map(Into::into).collect())
    }

    /// The bytes of a blob.
    pub(super) fn blob(&self, id: &str) -> Result<Vec<u8>> {
        self.run(&["cat-file", "blob", id])
    }

    pub(super) fn config(&self, key: &str) -> Option<String> {
        let value = self.run(&["config", "--get", key]).ok()?;
        Some(value.to_str_lossy().trim_end_matches('\n').to_owned())
    }

    pub(super) fn config_as(&self, kind: &str, key: &str) -> Option<String> {
        let value = self.run(&["config", "--type", kind, "--get", key]).ok()?;
        Some(value.to_str_lossy().trim_end_matches('\n').to_owned())
    }

    /// Those of `paths` that are ignored.
    pub(super) fn ignored(&self, paths: &[BString]) -> Result<Vec<BString>> {
        // A colon in front would have a meaning of its own.
        let input: Vec<u8> = paths
            .iter()
            .flat_map(|path| [b"./", path.as_slice(), b"\0"].concat())
            .collect();
        // Status 1 means that none of them is.
        let question = ["check-ignore", "-z", "--stdin"];
        let output = self.ask(&question, Some(input))?;
        if output.status.code().is_none_or(|status| status > 1) {
            return Err(self.failure(&question, &output));
        }
        Ok(split_nul(&output.stdout)
            .map(|path| path.strip_prefix(b"./").unwrap_or(path).into())
            .collect())
    }

    /// The values of attributes of paths, path by path in the order of `names`.
    pub(super) fn attributes(&self, paths: &[BString], names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let input: Vec<u8> = paths
            .iter()
            .flat_map(|path| path.iter().copied().chain([0]))
            .collect();
        let question = [&["check-attr", "-z", "--stdin"], names].concat();
        let output = self.ask(&question, Some(input))?;
        if !output.status.success() {
            return Err(self.failure(&question, &output));
        }
        let values: Vec<Vec<u8>> = split_nul(&output.stdout)
            .skip(2)
            .step_by(3)
            .map(<[u8]>::to_vec)
            .collect();
        anyhow::ensure!(
            values.len() == paths.len() * names.len(),
            "`git check-attr` answered {} of {} questions",
            values.len(),
            paths.len() * names.len()
        );
        Ok(values)
    }
}

fn split_nul(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|&byte| byte == 0)
        .filter(|part| !part.is_empty())
}

/// Parses `--name-status -z`: a status, NUL, a path, NUL. Only Python sources are kept.
///
/// # Errors
/// If there is a status without a path or one that git does not document.
pub fn parse_name_status(answer: &[u8]) -> Result<Vec<Change>> {
    let mut parts = split_nul(answer);
    let mut changes = Vec::new();
    while let Some(status) = parts.next() {
        let kind = match status.first() {
            Some(b'A') => ChangeKind::Added,
            Some(b'D') => ChangeKind::Deleted,
            Some(b'M' | b'U' | b'X') => ChangeKind::Modified,
            Some(b'T') => ChangeKind::TypeChanged,
            _ => bail!(
                "git answered with a status that is not known: {}",
                status.as_bstr()
            ),
        };
        let path = parts
            .next()
            .context("git's answer ends with a status without a path")?;
        if is_python(path) {
            changes.push(Change {
                path: path.into(),
                kind,
            });
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_status_comes_apart() {
        let changes =
            parse_name_status(b"M\0a.py\0D\0dir/b\n.py\0A\0c.txt\0T\0d.py\0").expect("an answer");
        let expected = [
            ("a.py", ChangeKind::Modified),
            ("dir/b\n.py", ChangeKind::Deleted),
            ("d.py", ChangeKind::TypeChanged),
        ];
        assert_eq!(
            changes,
            expected.map(|(path, kind)| Change {
                path: path.into(),
                kind
            })
        );
        assert!(parse_name_status(b"M\0").is_err());
        assert!(parse_name_status(b"?\0a.py\0").is_err());
    }
}
