//! The payload: the sources that differ from the base, as they are on disk.
//!
//! The walk of the work tree has every stat anyway, so it hands each directory to a [`Comparer`],
//! which names candidates; [`Base::finish`] turns them into the payload.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};
use sha2::{Digest, Sha256};

use super::attributes::{Attributes, Said};
use super::changes::is_python;
use super::compare::{Comparison, Rules, blob_id, compare};
use super::index::{Child, Index};
use super::repo::Repo;
use crate::fsys::relative::{is_below, join, split, within};
use crate::fsys::{FileType, Stat};

/// What the payload is measured against.
pub struct Base {
    /// The base as the user named it; `None` for HEAD.
    pub name: Option<String>,
    only: Vec<BString>,
    top: Option<Comparer>,
}

/// Gives the bytes of a file of a directory, or where it points if it is a symlink.
pub type Read<'r> = &'r dyn Fn(&[u8], bool) -> io::Result<Vec<u8>>;

/// Compares directories of one repository with its index.
pub struct Comparer {
    index: Arc<Index>,
    /// Where the repository lies below the work tree's root; empty for the work tree itself.
    prefix: BString,
    /// Sources known to differ before looking at the disk: staged, or committed since the base.
    known: HashSet<BString>,
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

impl Base {
    /// The base of a repository: `revision`'s merge base with HEAD, or HEAD. `only` (relative to
    /// the root) limits the payload.
    ///
    /// # Errors
    /// If the revision names nothing, has nothing in common with HEAD, or the index cannot be read.
    pub fn new(repo: &Repo, revision: Option<&str>, only: Vec<BString>) -> Result<Self> {
        let mut base = Self {
            name: revision.map(Into::into),
            only,
            top: Some(Comparer::of(repo, BString::default())?),
        };
        if let Some(revision) = revision {
            base.differs_since(repo, &repo.merge_base(revision)?)?;
        }
        Ok(base)
    }

    /// Counts what HEAD has changed since `commit` as different.
    fn differs_since(&mut self, repo: &Repo, commit: &str) -> Result<()> {
        let changes = repo.changes(commit, "HEAD")?;
        if let Some(top) = &mut self.top {
            top.known
                .extend(changes.into_iter().map(|change| change.path));
        }
        Ok(())
    }

    /// The same base once more, after a sweep that may have moved HEAD: what HEAD has changed since
    /// `commit`, the HEAD of before, counts as different. Without that, a sweep that edits a source
    /// and commits it would leave no trace.
    ///
    /// # Errors
    /// As [`Base::new`], and if HEAD is gone.
    pub fn again(
        repo: &Repo,
        revision: Option<&str>,
        only: Vec<BString>,
        commit: Option<&str>,
    ) -> Result<Self> {
        let head = repo.resolve("HEAD^{commit}");
        let mut base = Self::new(repo, revision, only)?;
        if head.as_deref() != commit {
            anyhow::ensure!(
                head.is_some(),
                "HEAD has moved to a branch without a commit"
            );
            // All zeros are the empty tree: HEAD had no commit before.
            base.differs_since(repo, commit.unwrap_or("0"))?;
        }
        Ok(base)
    }

    /// The base outside a repository: nothing differs from it.
    pub fn nothing() -> Self {
        Self {
            name: None,
            only: Vec::new(),
            top: None,
        }
    }

    /// The comparer of the work tree itself.
    pub fn top(&self) -> Option<&Comparer> {
        self.top.as_ref()
    }

    /// Turns candidates into the payload. `excluded` tells what is none of it.
    ///
    /// # Errors
    /// If neither libgit2 nor git can tell what is ignored.
    pub fn finish(
        &self,
        root: &Path,
        repo: Option<&Repo>,
        candidates: Vec<Candidate>,
        excluded: &dyn Fn(&BStr) -> bool,
    ) -> Result<Payload> {
        // Whether git knows the source: only then is one that is not there a deleted one.
        let mut paths: BTreeMap<BString, bool> = BTreeMap::new();
        let mut questions: HashMap<BString, Vec<Candidate>> = HashMap::new();
        if let Some(top) = &self.top {
            paths.extend(top.known.iter().map(|path| (path.clone(), true)));
        }
        for candidate in candidates {
            if candidate.question == Question::Nothing {
                paths.insert(candidate.path, true);
            } else {
                questions
                    .entry(candidate.prefix.clone())
                    .or_default()
                    .push(candidate);
            }
        }
        for (prefix, asked) in questions {
            let nested;
            let repo = if prefix.is_empty() {
                repo
            } else {
                nested = Repo::nested(&root.join(prefix.to_path()?))?;
                Some(&nested)
            };
            let Some(repo) = repo else { continue };
            for candidate in answer(root, repo, &prefix, asked)? {
                let known = candidate.question != Question::Ignored;
                *paths.entry(candidate.path).or_default() |= known;
            }
        }
        let sources = paths
            .into_iter()
            .filter(|(path, _)| !excluded(path.as_bstr()) && self.is_wanted(path))
            .filter_map(|(path, known)| {
                let hash = content_hash(&root.join(path.to_path_lossy()));
                // An untracked source that has vanished since the walk is no source at all.
                (known || hash.is_some()).then_some((path, hash))
            })
            .collect();
        Ok(Payload {
            base: self.name.clone(),
            sources,
        })
    }

    fn is_wanted(&self, path: &BString) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| is_below(path, only))
    }
}

/// Those of the candidates of one repository that belong to the payload.
fn answer(
    root: &Path,
    repo: &Repo,
    prefix: &BString,
    asked: Vec<Candidate>,
) -> Result<Vec<Candidate>> {
    let own = |path: &BString| within(path.as_bstr(), prefix.as_bstr()).to_owned();
    let bytes = |path: &BString| std::fs::read(root.join(path.to_path_lossy())).unwrap_or_default();
    let mut found = Vec::new();
    let (attributed, rest): (Vec<_>, Vec<_>) = asked.into_iter().partition(|candidate| {
        matches!(candidate.question, Question::Command | Question::Conversion)
    });
    let paths: Vec<BString> = attributed
        .iter()
        .map(|candidate| own(&candidate.path))
        .collect();
    let said = Said::of(repo, &paths)?;
    for ((candidate, path), said) in attributed.into_iter().zip(&paths).zip(&said) {
        let differs = if candidate.question == Question::Command {
            said.needs_command()
        } else {
            repo.index()?.get(path.as_bstr()).is_none_or(|entry| {
                !said.same_after_conversion(repo, &entry, &bytes(&candidate.path))
            })
        };
        if differs {
            found.push(candidate);
        }
    }
    let mut untracked = Vec::new();
    for candidate in rest {
        let in_head = (candidate.question == Question::Folded)
            .then(|| repo.resolve(&format!("HEAD:{}", own(&candidate.path))));
        match in_head.flatten() {
            None => untracked.push(Candidate {
                question: Question::Ignored,
                ..candidate
            }),
            Some(id) => {
                let actual = blob_id(repo.hash_kind(), &bytes(&candidate.path));
                if actual.is_none_or(|actual| actual.to_hex() != *id) {
                    found.push(candidate);
                }
            }
        }
    }
    // A directory that is ignored says it for everything in it; tracked files are not asked about.
    let directories: BTreeSet<BString> = untracked
        .iter()
        .map(|candidate| split(own(&candidate.path).as_bstr()).0.to_owned())
        .filter(|directory| !directory.is_empty())
        .collect();
    let directories: Vec<BString> = directories.into_iter().collect();
    let ignored: HashSet<BString> = repo.ignored(&directories)?.into_iter().collect();
    let open: Vec<Candidate> = untracked
        .into_iter()
        .filter(|candidate| !ignored.contains(split(own(&candidate.path).as_bstr()).0))
        .collect();
    let paths: Vec<BString> = open.iter().map(|candidate| own(&candidate.path)).collect();
    let ignored: HashSet<BString> = repo.ignored(&paths)?.into_iter().collect();
    found.extend(
        open.into_iter()
            .zip(paths)
            .filter(|(_, path)| !ignored.contains(path))
            .map(|(candidate, _)| candidate),
    );
    Ok(found)
}

impl Comparer {
    fn of(repo: &Repo, prefix: BString) -> Result<Self> {
        let known = repo
            .staged()?
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
        Self::of(
            &Repo::nested(&root.join(prefix.to_path()?))?,
            prefix.to_owned(),
        )
    }

    /// Names the candidates of one directory (relative to this repository). `files` are its files
    /// and symlinks, sorted by name, with their `lstat`; `below` tells whether it has a
    /// subdirectory; `read` gives a file's bytes or a link's target.
    pub fn directory(
        &self,
        directory: &BStr,
        files: &[(&[u8], Stat)],
        below: &dyn Fn(&[u8]) -> bool,
        read: Read<'_>,
        candidates: &mut Vec<Candidate>,
    ) {
        let mut add = |path: &BStr, question| {
            candidates.push(Candidate {
                path: join(self.prefix.as_bstr(), path),
                prefix: self.prefix.clone(),
                question,
            });
        };
        let mut tracked = vec![false; files.len()];
        let mut at = 0;
        for child in self.index.directory(directory) {
            let (name, entry) = match child {
                Child::File(name, entry) if entry.is_blob() && is_python(name) => (name, entry),
                Child::File(..) => continue,
                Child::Folder(folder) => {
                    if !below(folder) {
                        self.gone(join(directory, folder).as_bstr(), &mut add);
                    }
                    continue;
                }
            };
            at += files[at..]
                .iter()
                .take_while(|(file, _)| *file < name)
                .count();
            let Some((_, stat)) = files.get(at).filter(|(file, _)| *file == name) else {
                if !entry.is_skip_worktree() {
                    add(entry.path, Question::Nothing);
                }
                continue;
            };
            tracked[at] = true;
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
        for ((name, _), _) in files
            .iter()
            .zip(&tracked)
            .filter(|((name, _), tracked)| is_python(name) && !**tracked)
        {
            let path = join(directory, name);
            let question = if self.index.is_folded(path.as_bstr()) {
                Question::Folded
            } else {
                Question::Ignored
            };
            add(path.as_bstr(), question);
        }
    }

    /// Names the sources of a directory that is not there.
    fn gone(&self, directory: &BStr, add: &mut dyn FnMut(&BStr, Question)) {
        for entry in self.index.below(directory) {
            if entry.is_blob() && is_python(entry.path) && !entry.is_skip_worktree() {
                add(entry.path, Question::Nothing);
            }
        }
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

/// SHA-256 of what a source says: its bytes, and for a symlink also where it points. `None` if it
/// is not there.
fn content_hash(path: &Path) -> Option<[u8; 32]> {
    let stat = Stat::of(path).ok()?;
    let mut hasher = Sha256::new();
    if stat.file_type() == FileType::Symlink {
        use std::os::unix::ffi::OsStrExt;
        let target = std::fs::read_link(path).unwrap_or_default();
        hasher.update(b"link\0");
        hasher.update(target.as_os_str().as_bytes());
        hasher.update(b"\0");
    }
    if Stat::followed(path).is_ok_and(|stat| stat.is_file()) {
        match std::fs::read(path) {
            Ok(bytes) => hasher.update(&bytes),
            Err(error) => hasher.update(format!("unreadable\0{error}").as_bytes()),
        }
    }
    Some(hasher.finalize().into())
}

/// The sources that differ from the base, each with the hash of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The base as the user named it; `None` for HEAD.
    pub base: Option<String>,
    /// Path relative to the root, and the SHA-256 of the content; `None` for a deleted source.
    pub sources: BTreeMap<BString, Option<[u8; 32]>>,
}

/// What happened to a source between two payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadChange {
    /// It has other content.
    Changed,
    /// It differs from the base now and did not before.
    Appeared,
    /// It was there and is gone, or is as in the base again.
    Vanished,
}

impl PayloadChange {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Appeared => "appeared",
            Self::Vanished => "vanished",
        }
    }
}

impl Payload {
    /// SHA-256 over the sorted paths and content hashes: it depends on nothing else.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for (path, hash) in &self.sources {
            hasher.update((path.len() as u64).to_be_bytes());
            hasher.update(path.as_slice());
            match hash {
                Some(hash) => {
                    hasher.update([1]);
                    hasher.update(hash);
                }
                None => hasher.update([0]),
            }
        }
        hasher.finalize().into()
    }

    /// What differs in `later`.
    pub fn difference(&self, later: &Self) -> Vec<(BString, PayloadChange)> {
        let mut changes = Vec::new();
        for (path, before) in &self.sources {
            let change = match (before, later.sources.get(path)) {
                (Some(_), None | Some(None)) => PayloadChange::Vanished,
                (None, Some(Some(_)) | None) => PayloadChange::Appeared,
                (Some(before), Some(Some(after))) if before != after => PayloadChange::Changed,
                _ => continue,
            };
            changes.push((path.clone(), change));
        }
        for (path, after) in &later.sources {
            if !self.sources.contains_key(path) {
                let change = if after.is_some() {
                    PayloadChange::Appeared
                } else {
                    PayloadChange::Vanished
                };
                changes.push((path.clone(), change));
            }
        }
        changes.sort_by(|one, other| one.0.cmp(&other.0));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(sources: &[(&str, Option<u8>)]) -> Payload {
        let sources = sources
            .iter()
            .map(|(path, hash)| (BString::from(*path), hash.map(|byte| [byte; 32])))
            .collect();
        Payload {
            base: None,
            sources,
        }
    }

    #[test]
    fn the_digest_is_of_paths_and_contents_alone() {
        let one = payload(&[("a.py", Some(1)), ("b.py", None)]);
        assert_eq!(
            one.digest(),
            payload(&[("b.py", None), ("a.py", Some(1))]).digest()
        );
        for other in [
            payload(&[("a.py", Some(2)), ("b.py", None)]),
            payload(&[("a.py", Some(1))]),
            payload(&[("a.pyb.py", Some(1))]),
        ] {
            assert_ne!(one.digest(), other.digest());
        }
    }

    #[test]
    fn every_difference_is_named() {
        let before = payload(&[
            ("a.py", Some(1)),
            ("b.py", Some(1)),
            ("c.py", None),
            ("d.py", Some(1)),
        ]);
        let after = payload(&[
            ("a.py", Some(2)),
            ("c.py", Some(1)),
            ("d.py", Some(1)),
            ("e.py", Some(1)),
        ]);
        let words: Vec<_> = before
            .difference(&after)
            .into_iter()
            .map(|(path, change)| (path.to_string(), change.word()))
            .collect();
        let expected = [
            ("a.py", "changed"),
            ("b.py", "vanished"),
            ("c.py", "appeared"),
            ("e.py", "appeared"),
        ];
        assert_eq!(words, expected.map(|(path, word)| (path.to_owned(), word)));
    }
}
