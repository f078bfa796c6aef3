//! Differences: tree against tree, index against tree.
#![forbid(unsafe_code)]

mod merge;
mod trees;

use anyhow::{Context, Result};
use bstr::{BStr, BString};
use git2::{ObjectType, Oid, Repository};

use self::merge::{Side, Staged, diff};
use self::trees::Trees;
use super::change::Change;
use super::repo::{Answers, Repo};

/// Differences of Python sources between two revisions, deletions and both sides of renames
/// included. A revision that is all zeros is the empty tree.
///
/// # Errors
/// If a revision names nothing or its tree cannot be read.
pub fn between(repo: &Repo, old: &str, new: &str) -> Result<Vec<Change>> {
    match repo.answers() {
        Answers::Libgit2(repository) => {
            let trees = Trees::of(repo, repository)?;
            let (old, new) = (
                tree(repository, &trees, old)?,
                tree(repository, &trees, new)?,
            );
            let mut changes = Vec::new();
            let mut path = BString::default();
            diff(&trees, &mut path, &old, &new, &mut changes)?;
            Ok(changes)
        }
        Answers::Command(git) => {
            let id = |revision: &str| -> Result<String> {
                if is_zero(revision) {
                    return Ok(empty_tree(repo).to_owned());
                }
                repo.resolve(&format!("{revision}^{{tree}}"))
                    .with_context(|| {
                        format!(
                            "the revision `{revision}` names nothing in {}",
                            repo.root().display()
                        )
                    })
            };
            git.diff_trees(&id(old)?, &id(new)?)
        }
    }
}

/// Differences of Python sources of the index against HEAD.
///
/// # Errors
/// If the index or HEAD's tree cannot be read.
pub fn staged(repo: &Repo) -> Result<Vec<Change>> {
    match repo.answers() {
        Answers::Libgit2(repository) => {
            let index = repo.index()?;
            let head = repository.head().and_then(|head| head.peel_to_commit());
            let head = match head {
                Ok(commit) => Some(commit.tree_id()),
                Err(error)
                    if matches!(
                        error.code(),
                        git2::ErrorCode::UnbornBranch | git2::ErrorCode::NotFound
                    ) && unborn(repository) =>
                {
                    None
                }
                Err(error) => {
                    return Err(error).context("HEAD cannot be read: `git fsck` tells more");
                }
            };
            let trees = Trees::of(repo, repository)?;
            let old = match head {
                None => Side::Nothing,
                Some(id) => Side::Tree(trees.read(id.as_bytes(), BStr::new("HEAD"))?),
            };
            let new = Side::Staged(Staged::all(index));
            let mut changes = Vec::new();
            diff(&trees, &mut BString::default(), &old, &new, &mut changes)?;
            Ok(changes)
        }
        Answers::Command(git) => match repo.resolve("HEAD^{tree}") {
            Some(head) => git.diff_index(&head),
            None => git.diff_index(empty_tree(repo)),
        },
    }
}

/// Whether HEAD names a branch that has no commit yet.
fn is_unborn(repo: &Repo) -> bool {
    match repo.answers() {
        Answers::Libgit2(repository) => unborn(repository),
        Answers::Command(git) => git.is_unborn(),
    }
}

fn unborn(repository: &Repository) -> bool {
    repository.find_reference("HEAD").is_ok_and(|head| {
        head.symbolic_target().ok().flatten().is_some_and(|name| {
            let missing = git2::ErrorCode::NotFound;
            let found = repository.find_reference(name);
            found.is_err_and(|error| error.code() == missing)
        })
    })
}

fn is_zero(revision: &str) -> bool {
    !revision.is_empty() && revision.bytes().all(|byte| byte == b'0')
}

fn empty_tree(repo: &Repo) -> &'static str {
    if repo.is_sha256() {
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    } else {
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    }
}

fn tree<'t>(repository: &Repository, trees: &'t Trees<'_>, revision: &str) -> Result<Side<'t>> {
    if is_zero(revision) {
        return Ok(Side::Nothing);
    }
    let object = repository
        .revparse_single(revision)
        .and_then(|object| object.peel(ObjectType::Tree))
        .with_context(|| format!("the revision `{revision}` names no tree"))?;
    let tree = trees.read(object.id().as_bytes(), revision.into())?;
    Ok(Side::Tree(tree))
}

/// The files of HEAD's tree that `wanted` takes by their names; `None` while HEAD's branch has no
/// commit.
///
/// # Errors
/// If the tree cannot be read.
pub(super) fn head_files(repo: &Repo, wanted: fn(&[u8]) -> bool) -> Result<Option<Vec<BString>>> {
    let head = repo.resolve("HEAD^{tree}");
    if head.is_none() && is_unborn(repo) {
        return Ok(None);
    }
    let head = head.context("HEAD's tree cannot be read: `git fsck` tells more")?;
    let files = match repo.answers() {
        Answers::Libgit2(repository) => files(repo, repository, &head, wanted)?,
        Answers::Command(git) => git.files(&head, wanted)?,
    };
    Ok(Some(files))
}

/// The files of a tree that `wanted` takes by their names.
fn files(
    repo: &Repo,
    repository: &Repository,
    id: &str,
    wanted: fn(&[u8]) -> bool,
) -> Result<Vec<BString>> {
    let trees = Trees::of(repo, repository)?;
    let id = Oid::from_str_ext(id, repository.object_format())?;
    let tree = trees.read(id.as_bytes(), BStr::new(""))?;
    let mut files = Vec::new();
    trees.collect(&mut BString::default(), &tree, wanted, &mut files)?;
    Ok(files)
}
