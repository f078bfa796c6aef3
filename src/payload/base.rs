//! What the payload is measured against, and what makes a payload of candidates.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};
use sha2::{Digest, Sha256};

use super::attributes::Said;
use super::{Candidate, Comparer, Payload, Question};
use crate::fsys::path::below;
use crate::fsys::relative::{is_below, split, within};
use crate::fsys::{FileType, Stat};
use crate::git::blob::blob_id;
use crate::git::{Repo, diff};

/// What the payload is measured against.
pub struct Base {
    /// The base as the user named it; `None` for HEAD.
    pub name: Option<String>,
    only: Vec<BString>,
    /// Commits: what HEAD has changed since counts as different.
    since: Vec<String>,
    top: OnceLock<Option<Comparer>>,
}

impl Base {
    /// The base of a repository: `revision`'s merge base with HEAD, or HEAD. `only` (relative to
    /// the root) limits the payload.
    ///
    /// # Errors
    /// If the revision names nothing or has nothing in common with HEAD.
    pub fn new(repo: &Repo, revision: Option<&str>, only: Vec<BString>) -> Result<Self> {
        let since = revision.map(|revision| repo.merge_base(revision));
        Ok(Self {
            name: revision.map(Into::into),
            only,
            since: since.transpose()?.into_iter().collect(),
            top: OnceLock::new(),
        })
    }

    /// The base outside a repository: nothing differs from it.
    pub fn nothing() -> Self {
        Self {
            name: None,
            only: Vec::new(),
            since: Vec::new(),
            top: OnceLock::from(None),
        }
    }

    /// Reads the index, and what is known to differ before looking at the disk. Whoever asks for
    /// the comparer meanwhile waits.
    ///
    /// # Errors
    /// If the index or a tree cannot be read.
    pub fn read(&self, repo: &Repo) -> Result<()> {
        if self.is_read() {
            return Ok(());
        }
        let (comparer, result) = match self.comparer(repo) {
            Ok(comparer) => (Some(comparer), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.top.get_or_init(|| comparer);
        result
    }

    fn comparer(&self, repo: &Repo) -> Result<Comparer> {
        let mut comparer = Comparer::of(repo, BString::default())?;
        for commit in &self.since {
            let changes = diff::between(repo, commit, "HEAD")?;
            let paths = changes.into_iter().map(|change| change.path);
            comparer.known.extend(paths);
        }
        Ok(comparer)
    }

    /// Whether [`Base::read`] has ended, with success or not.
    pub fn is_read(&self) -> bool {
        self.top.get().is_some()
    }

    /// The comparer of the work tree itself, as soon as it is there. `None` if there is nothing to
    /// compare with, or it could not be read.
    pub fn top(&self) -> Option<&Comparer> {
        self.top.wait().as_ref()
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
        if let Some(repo) = repo {
            self.read(repo)?;
        }
        if let Some(Some(top)) = self.top.get() {
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
                nested = Repo::nested(&below(root, &prefix))?;
                Some(&nested)
            };
            let Some(repo) = repo else { continue };
            for candidate in answer(root, repo, &prefix, asked)? {
                let known = candidate.question != Question::Ignored;
                *paths.entry(candidate.path).or_default() |= known;
            }
        }
        let mut payload = Payload {
            base: self.name.clone(),
            ..Payload::default()
        };
        for (path, known) in paths {
            if excluded(path.as_bstr()) {
                continue;
            }
            let hash = content_hash(&below(root, &path));
            // An untracked source that has vanished since the walk is no source at all.
            if known || hash.is_some() {
                if self.is_wanted(&path) {
                    payload.sources.insert(path, hash);
                } else {
                    payload.beyond.insert(path, hash);
                }
            }
        }
        Ok(payload)
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
    let bytes = |path: &BString| std::fs::read(below(root, path)).unwrap_or_default();
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
    let paths: Vec<BString> = untracked
        .iter()
        .map(|candidate| own(&candidate.path))
        .collect();
    let ignored = ignored(repo, &paths)?;
    found.extend(
        untracked
            .into_iter()
            .zip(paths)
            .filter(|(_, path)| !ignored.contains(path))
            .map(|(candidate, _)| candidate),
    );
    Ok(found)
}

/// Those of the paths of a repository that are ignored. Tracked ones are not asked about.
pub fn ignored(repo: &Repo, paths: &[BString]) -> Result<HashSet<BString>> {
    // A directory that is ignored says it for everything in it.
    let directories: BTreeSet<BString> = paths
        .iter()
        .map(|path| split(path.as_bstr()).0.to_owned())
        .filter(|directory| !directory.is_empty())
        .collect();
    let directories: Vec<BString> = directories.into_iter().collect();
    let whole: HashSet<BString> = repo.ignored(&directories)?.into_iter().collect();
    let (ignored, open): (Vec<BString>, Vec<BString>) = paths
        .iter()
        .cloned()
        .partition(|path| whole.contains(split(path.as_bstr()).0));
    let mut ignored: HashSet<BString> = ignored.into_iter().collect();
    ignored.extend(repo.ignored(&open)?);
    Ok(ignored)
}

/// SHA-256 of what a source says: its bytes, and for a symlink also where it points. `None` if it
/// is not there.
pub fn content_hash(path: &Path) -> Option<[u8; 32]> {
    let stat = Stat::of(path).ok()?;
    let mut hasher = Sha256::new();
    if stat.file_type() == FileType::Symlink {
        let target = std::fs::read_link(path).unwrap_or_default();
        hasher.update(b"link\0");
        hasher.update(target.as_os_str().as_encoded_bytes());
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
