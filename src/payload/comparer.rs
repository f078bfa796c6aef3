//! Compares the directories of one repository with its index.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};

use super::attributes::{Attributes, Said};
use super::compare::{Comparison, compare};
use crate::fsys::path::below;
use crate::fsys::relative::{join, split};
use crate::fsys::{FileType, Stat};
use crate::git::blob::is_blob;
use crate::git::index::{Child, Index, IndexEntry};
use crate::git::is_python;
use crate::git::stat::Rules;
use crate::git::{Repo, diff};

/// Gives the bytes of a file of a directory, or where it points if it is a symlink.
pub type Read<'r> = &'r dyn Fn(&[u8], bool) -> io::Result<Vec<u8>>;

/// What there is of a directory.
#[derive(Clone, Copy)]
pub struct OnDisk<'d> {
    /// Its files and symlinks, sorted by name, with their `lstat`.
    pub files: &'d [(&'d [u8], Stat)],
    /// Whether those that are not tracked can belong to this repository.
    pub untracked: bool,
    /// Whether it has a subdirectory of that name.
    pub below: &'d dyn Fn(&[u8]) -> bool,
    /// Gives the bytes of one of the files.
    pub read: Read<'d>,
}

/// The subdirectories that the index knows of a directory, sorted by name, and where the entries
/// below each of them begin in it.
pub type Folders<'a> = Vec<(&'a [u8], usize)>;

/// Compares directories of one repository with its index.
pub struct Comparer {
    index: Arc<Index>,
    /// Where the repository lies below the work tree's root; empty for the work tree itself.
    prefix: BString,
    /// Sources known to differ before looking at the disk: staged, or committed since the base.
    pub(super) known: HashSet<BString>,
    rules: Rules,
    attributes: Attributes,
}

/// A source that may belong to the payload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Path relative to the work tree's root.
    pub path: BString,
    /// Where its repository lies below the root.
    pub prefix: BString,
    /// What is left to find out.
    pub question: Question,
}

/// What is left to find out of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Nothing: it differs.
    Nothing,
    /// Whether it has an attribute that names a command or an encoding.
    Command,
    /// Whether the conversions git makes explain the difference.
    Conversion,
    /// Whether it is what HEAD has in a directory that a sparse index keeps folded.
    Folded,
    /// Whether it is ignored.
    Ignored,
}

impl Comparer {
    /// The comparer of a repository at `prefix` below the work tree's root.
    ///
    /// # Errors
    /// If its index or HEAD cannot be read.
    pub fn of(repo: &Repo, prefix: BString) -> Result<Self> {
        let known = diff::staged(repo)?
            .into_iter()
            .map(|change| change.path)
            .collect();
        let index = Arc::clone(repo.index()?);
        Ok(Self {
            attributes: Attributes::of(repo, &index),
            index,
            prefix,
            known,
            rules: Rules::of(repo),
        })
    }

    /// The comparer of a submodule at `prefix` below `root`.
    ///
    /// # Errors
    /// If its repository or index cannot be read.
    pub fn submodule(root: &Path, prefix: &BStr) -> Result<Self> {
        Self::of(&Repo::nested(&below(root, prefix))?, prefix.to_owned())
    }

    /// Names the candidates of one directory (relative to this repository). `at` is what was given for
    /// it when its parent was compared; for its own subdirectories the same is returned, sorted by
    /// name.
    pub fn directory(
        &self,
        directory: &BStr,
        at: Option<usize>,
        OnDisk {
            files,
            untracked,
            below,
            read,
        }: OnDisk<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> Folders<'_> {
        let mut add = |path: &BStr, question| {
            candidates.push(Candidate {
                path: join(self.prefix.as_bstr(), path),
                prefix: self.prefix.clone(),
                question,
            });
        };
        let mut tracked = vec![false; files.len()];
        let mut folders = Vec::new();
        let mut next = 0;
        for child in self.index.directory(directory, at) {
            let (name, entry) = match child {
                Child::File(name, entry) if entry.is_blob() && is_python(name) => (name, entry),
                Child::File(..) => continue,
                Child::Folder(folder, at) => {
                    if below(folder) {
                        folders.push((folder, at));
                    } else {
                        self.gone(join(directory, folder).as_bstr(), &mut add);
                    }
                    continue;
                }
            };
            next += files[next..]
                .iter()
                .take_while(|(file, _)| *file < name)
                .count();
            let Some((_, stat)) = files.get(next).filter(|(file, _)| *file == name) else {
                if !entry.is_skip_worktree() {
                    add(entry.path, Question::Nothing);
                }
                continue;
            };
            tracked[next] = true;
            let reach = || self.attributes.reach(directory);
            let read = || read(name, stat.file_type() == FileType::Symlink);
            match compare(&self.index, &entry, stat, self.rules, reach, read) {
                Comparison::Same => {}
                Comparison::Differs => add(entry.path, Question::Nothing),
                Comparison::DependsOnCommand => add(entry.path, Question::Command),
                Comparison::DependsOnConversion => add(entry.path, Question::Conversion),
            }
        }
        // The work tree's own are known to `Base::finish`.
        if !self.prefix.is_empty() && directory.is_empty() {
            for path in &self.known {
                add(path.as_bstr(), Question::Nothing);
            }
        }
        let others = files.iter().zip(&tracked).filter(|_| untracked);
        for ((name, _), _) in others.filter(|((name, _), tracked)| is_python(name) && !**tracked) {
            let path = join(directory, name);
            let question = if self.index.is_folded(path.as_bstr()) {
                Question::Folded
            } else {
                Question::Ignored
            };
            add(path.as_bstr(), question);
        }
        // git orders directories as if their names ended with a slash.
        folders.sort_unstable();
        folders
    }

    /// Names the sources of a directory that is not there.
    fn gone(&self, directory: &BStr, add: &mut dyn FnMut(&BStr, Question)) {
        for entry in self.index.below(directory) {
            if entry.is_blob() && is_python(entry.path) && !entry.is_skip_worktree() {
                add(entry.path, Question::Nothing);
            }
        }
    }

    /// Where the repository lies below the work tree's root.
    pub fn prefix(&self) -> &BStr {
        self.prefix.as_bstr()
    }

    /// Whether the index tracks a path of this repository.
    pub fn tracks(&self, path: &BStr) -> bool {
        self.index.tracks(path)
    }

    /// The symlinks that the index tracks, relative to the work tree's root.
    pub fn links(&self) -> Vec<BString> {
        let links = self.index.entries().filter(IndexEntry::is_symlink);
        links
            .map(|entry| join(self.prefix.as_bstr(), entry.path))
            .collect()
    }

    /// Whether the file `on_disk` has the content that the index has of a path of this repository.
    /// `repo` is the work tree's.
    ///
    /// # Errors
    /// If neither libgit2 nor git can tell its attributes.
    pub fn has_content_of(&self, path: &BStr, on_disk: &Path, repo: Option<&Repo>) -> Result<bool> {
        let (Some(entry), Ok(stat)) = (self.index.get(path), Stat::of(on_disk)) else {
            return Ok(false);
        };
        // Of a link it knows where it leads, and not what is there.
        if !stat.is_file() || entry.is_unmerged() || entry.is_intent_to_add() {
            return Ok(false);
        }
        let Ok(bytes) = std::fs::read(on_disk) else {
            return Ok(false);
        };
        if is_blob(&entry, &bytes) {
            return Ok(true);
        }
        if entry.is_symlink() || !self.attributes.reach(split(path).0).any {
            return Ok(false);
        }
        let nested;
        let repo = if self.prefix.is_empty() {
            repo
        } else {
            nested = Repo::nested(self.attributes.root())?;
            Some(&nested)
        };
        let Some(repo) = repo else { return Ok(false) };
        let said = Said::of(repo, &[path.to_owned()])?;
        Ok(said
            .iter()
            .all(|said| said.same_after_conversion(repo, &entry, &bytes)))
    }

    /// Whether a path of this repository is a submodule.
    pub fn is_submodule(&self, path: &BStr) -> bool {
        self.index.is_submodule(path)
    }

    /// Whether any source is known to differ before looking at the disk.
    pub fn knows_any(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether a source is known to differ before looking at the disk.
    pub fn is_known(&self, path: &BStr) -> bool {
        self.known.contains(path)
    }
}
