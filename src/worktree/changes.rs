//! Differences: tree against tree, index against tree.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::ops::Range;

use anyhow::{Context, Result};
use bstr::{BStr, BString, ByteSlice};
use git2::{ObjectType, Oid, Repository, Tree};
use gix_index::extension::Tree as Cached;

use super::index::{Index, IndexEntry, safe};
use super::repo::{Answers, Repo};

/// What happened to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It has other content or another mode.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It was a file and is a symlink, or the other way round.
    TypeChanged,
}

/// One difference. A rename is a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// Path relative to the root.
    pub path: BString,
    /// What happened.
    pub kind: ChangeKind,
}

impl Change {
    fn new(path: impl Into<BString>, kind: ChangeKind) -> Self {
        Self {
            path: path.into(),
            kind,
        }
    }
}

/// Whether a path is a Python source by its name.
pub fn is_python(path: &[u8]) -> bool {
    path.ends_with(b".py")
}

/// Differences between the trees of two revisions.
pub(super) fn between(repo: &Repo, old: &str, new: &str) -> Result<Vec<Change>> {
    match repo.answers() {
        Answers::Libgit2(repository) => {
            let mut changes = Vec::new();
            let (old, new) = (tree(repository, old)?, tree(repository, new)?);
            diff(
                repository,
                &mut BString::default(),
                old.as_ref(),
                new.as_ref(),
                &mut changes,
            )?;
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

/// Differences of the index against HEAD.
pub(super) fn staged(repo: &Repo) -> Result<Vec<Change>> {
    match repo.answers() {
        Answers::Libgit2(repository) => {
            let index = repo.index()?;
            let head = repository.head().and_then(|head| head.peel_to_tree());
            let head = match head {
                Ok(tree) => Some(tree),
                Err(error)
                    if matches!(
                        error.code(),
                        git2::ErrorCode::UnbornBranch | git2::ErrorCode::NotFound
                    ) && unborn(repository) =>
                {
                    None
                }
                Err(error) => {
                    return Err(error).context("HEAD's tree cannot be read: `git fsck` tells more");
                }
            };
            let mut changes = Vec::new();
            let staging = Staging { repository, index };
            staging.against(
                &mut BString::default(),
                head.as_ref(),
                index.trees(),
                0..index.len(),
                &mut changes,
            )?;
            Ok(changes)
        }
        Answers::Command(git) => match repo.resolve("HEAD^{tree}") {
            Some(head) => git.diff_index(&head),
            None => git.diff_index(empty_tree(repo)),
        },
    }
}

fn unborn(repository: &Repository) -> bool {
    repository.find_reference("HEAD").is_ok_and(|head| {
        head.symbolic_target()
            .ok()
            .flatten()
            .is_some_and(|name| repository.find_reference(name).is_err())
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

fn tree<'r>(repository: &'r Repository, revision: &str) -> Result<Option<Tree<'r>>> {
    if is_zero(revision) {
        return Ok(None);
    }
    let object = repository
        .revparse_single(revision)
        .and_then(|object| object.peel_to_tree())
        .with_context(|| format!("the revision `{revision}` names no tree"))?;
    Ok(Some(object))
}

/// One entry of a tree.
struct Item {
    name: Vec<u8>,
    id: Oid,
    kind: ItemKind,
    mode: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Tree,
    Blob,
    Other,
}

impl Item {
    /// Git orders trees as if their names ended with a slash.
    fn key(&self) -> impl Iterator<Item = u8> + '_ {
        self.name
            .iter()
            .copied()
            .chain((self.kind == ItemKind::Tree).then_some(b'/'))
    }

    fn is_link(&self) -> bool {
        self.mode == 0o120_000
    }
}

fn items(tree: Option<&Tree<'_>>) -> Vec<Item> {
    let Some(tree) = tree else { return Vec::new() };
    tree.iter()
        .map(|entry| Item {
            name: entry.name_bytes().to_vec(),
            id: entry.id(),
            kind: match entry.kind() {
                Some(ObjectType::Tree) => ItemKind::Tree,
                Some(ObjectType::Blob) => ItemKind::Blob,
                _ => ItemKind::Other,
            },
            // Old trees have more modes of files than two; git takes no notice either.
            mode: entry.filemode(),
        })
        .filter(|item| item.kind != ItemKind::Blob || is_python(&item.name))
        .collect()
}

/// Runs `work` with `name` appended to `path`.
fn within<T>(path: &mut BString, name: &[u8], work: impl FnOnce(&mut BString) -> T) -> T {
    let length = path.len();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    let result = work(path);
    path.truncate(length);
    result
}

/// Deepest nesting of trees that is followed; git itself stops at 2048 (core.maxTreeDepth).
const DEPTH: usize = 2048;

fn diff(
    repository: &Repository,
    path: &mut BString,
    old: Option<&Tree<'_>>,
    new: Option<&Tree<'_>>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    ensure_depth(path)?;
    let (old, new) = (items(old), items(new));
    let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.key().cmp(b.key()),
        };
        let a = if order.is_le() { left.next() } else { None };
        let b = if order.is_ge() { right.next() } else { None };
        if let (Some(a), Some(b)) = (a, b)
            && a.id == b.id
            && a.mode == b.mode
        {
            continue;
        }
        let Some(name) = a.or(b).map(|item| &item.name) else {
            continue;
        };
        within(path, name, |path| -> Result<()> {
            let sub = |item: Option<&Item>| -> Result<Option<Tree<'_>>> {
                item.filter(|item| item.kind == ItemKind::Tree)
                    .map(|item| find_tree(repository, item.id, path))
                    .transpose()
            };
            let (sub_old, sub_new) = (sub(a)?, sub(b)?);
            if sub_old.is_some() || sub_new.is_some() {
                diff(
                    repository,
                    path,
                    sub_old.as_ref(),
                    sub_new.as_ref(),
                    changes,
                )?;
            }
            let blob = |item: Option<&Item>| item.is_some_and(|item| item.kind == ItemKind::Blob);
            let kind = match (blob(a), blob(b)) {
                (false, false) => return Ok(()),
                (false, true) => ChangeKind::Added,
                (true, false) => ChangeKind::Deleted,
                (true, true) if a.map(Item::is_link) != b.map(Item::is_link) => {
                    ChangeKind::TypeChanged
                }
                (true, true) => ChangeKind::Modified,
            };
            changes.push(Change::new(path.clone(), kind));
            Ok(())
        })?;
    }
}

fn find_tree<'r>(repository: &'r Repository, id: Oid, path: &BString) -> Result<Tree<'r>> {
    repository.find_tree(id).with_context(|| {
        format!("the tree of `{path}` ({id}) cannot be read: `git fsck` tells more")
    })
}

/// The index against a tree.
struct Staging<'r> {
    repository: &'r Repository,
    index: &'r Index,
}

impl Staging<'_> {
    /// Compares the entries at `range`, which are all those below `path`, with a tree. `cached` is
    /// what git has written down of the tree these entries make: where that is the same tree,
    /// nothing below is looked at.
    fn against(
        &self,
        path: &mut BString,
        tree: Option<&Tree<'_>>,
        cached: Option<&Cached>,
        range: Range<usize>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        ensure_depth(path)?;
        if let (Some(tree), Some(id)) = (tree, valid(cached))
            && tree.id().as_bytes() == id
        {
            return Ok(());
        }
        let items = items(tree);
        let mut items = items.iter().peekable();
        let skip = if path.is_empty() { 0 } else { path.len() + 1 };
        let mut at = range.start;
        loop {
            // The next name directly below `path`, and the entries that belong to it.
            let next = (at < range.end).then(|| {
                let rest = rest(self.index.at(at).path, skip);
                match rest.find_byte(b'/') {
                    Some(slash) => (&rest[..slash], true),
                    None => (rest, false),
                }
            });
            let order = match (items.peek(), next) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(item), Some((name, folder))) => item
                    .key()
                    .cmp(name.iter().copied().chain(folder.then_some(b'/'))),
            };
            let item = if order.is_le() { items.next() } else { None };
            let mut group = at..at;
            let mut folder = item.is_some_and(|item| item.kind == ItemKind::Tree);
            if let Some((name, is_folder)) = next
                && order.is_ge()
            {
                folder = is_folder;
                let count = self.index.run(at..range.end, |path| {
                    self::rest(path, skip)
                        .strip_prefix(name)
                        .is_some_and(|rest| {
                            rest.starts_with(b"/") == folder && (folder || rest.is_empty())
                        })
                });
                group = at..at + count.max(1);
                at = group.end;
            }
            let name = match (item, next) {
                (Some(item), _) => item.name.as_slice(),
                (None, Some((name, _))) => name,
                (None, None) => return Ok(()),
            };
            if name.is_empty() {
                // A hostile index: no tree has such a name.
                continue;
            }
            if folder {
                let cached = cached.and_then(|cached| {
                    let children = &cached.children;
                    let found = children.binary_search_by(|child| child.name.as_slice().cmp(name));
                    found.ok().map(|at| &children[at])
                });
                within(path, name, |path| {
                    self.folder(path, item, cached, group, changes)
                })?;
            } else {
                within(path, name, |path| self.leaf(path, item, group, changes));
            }
        }
    }

    /// Compares the entries below a directory with what the tree has there.
    fn folder(
        &self,
        path: &mut BString,
        item: Option<&Item>,
        cached: Option<&Cached>,
        group: Range<usize>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let item = item.filter(|item| item.kind == ItemKind::Tree);
        if let (Some(item), Some(id)) = (item, valid(cached))
            && item.id.as_bytes() == id
        {
            return Ok(());
        }
        let tree = item
            .map(|item| find_tree(self.repository, item.id, path))
            .transpose()?;
        // A folded directory of a sparse index is one entry with the id of its tree.
        if group.len() == 1
            && let entry = self.index.at(group.start)
            && entry.is_folded_directory()
        {
            let folded = Oid::from_bytes(entry.id())
                .with_context(|| format!("the index has no id for `{path}`"))?;
            if tree.as_ref().map(Tree::id) == Some(folded) {
                return Ok(());
            }
            let folded = find_tree(self.repository, folded, path)?;
            return diff(self.repository, path, tree.as_ref(), Some(&folded), changes);
        }
        self.against(path, tree.as_ref(), cached, group, changes)
    }

    /// One file: what the tree has and what the index has, conflicts included.
    fn leaf(
        &self,
        path: &BString,
        item: Option<&Item>,
        group: Range<usize>,
        changes: &mut Vec<Change>,
    ) {
        if is_python(path) && safe(path) {
            let item = item.filter(|item| item.kind == ItemKind::Blob);
            let entry = group
                .map(|position| self.index.at(position))
                .find(IndexEntry::is_blob);
            changes.extend(staged_kind(item, entry).map(|kind| Change::new(path.clone(), kind)));
        }
    }
}

fn rest(path: &BStr, skip: usize) -> &[u8] {
    &path[skip.min(path.len())..]
}

/// The id that git has written down of a tree, unless entries below have changed since.
fn valid(cached: Option<&Cached>) -> Option<&[u8]> {
    let cached = cached?;
    cached.num_entries?;
    Some(cached.id.as_bytes())
}

fn ensure_depth(path: &BString) -> Result<()> {
    anyhow::ensure!(
        path.find_iter("/").count() < DEPTH,
        "a tree is nested deeper than {DEPTH} directories"
    );
    Ok(())
}

/// What happened to a file, given what the tree has and what the index has.
fn staged_kind(item: Option<&Item>, entry: Option<IndexEntry<'_>>) -> Option<ChangeKind> {
    Some(match (item, entry) {
        (None, None) => return None,
        (_, Some(entry)) if entry.is_unmerged() => ChangeKind::Modified,
        (Some(_), None) => ChangeKind::Deleted,
        // `git add -N` has added nothing yet.
        (None, Some(entry)) if entry.is_intent_to_add() => return None,
        (Some(_), Some(entry)) if entry.is_intent_to_add() => ChangeKind::Deleted,
        (None, Some(_)) => ChangeKind::Added,
        (Some(item), Some(entry)) if item.is_link() != entry.is_symlink() => {
            ChangeKind::TypeChanged
        }
        (Some(item), Some(entry))
            if item.id.as_bytes() == entry.id() && item.mode as u32 == entry.mode() =>
        {
            return None;
        }
        (Some(_), Some(_)) => ChangeKind::Modified,
    })
}

/// The files of a tree that `wanted` takes by their names.
pub(super) fn files(
    repository: &Repository,
    id: &str,
    wanted: fn(&[u8]) -> bool,
) -> Result<Vec<BString>> {
    let id = Oid::from_str_ext(id, repository.object_format())?;
    let tree = find_tree(repository, id, &BString::default())?;
    let mut files = Vec::new();
    collect(
        repository,
        &mut BString::default(),
        &tree,
        wanted,
        &mut files,
    )?;
    Ok(files)
}

fn collect(
    repository: &Repository,
    path: &mut BString,
    tree: &Tree<'_>,
    wanted: fn(&[u8]) -> bool,
    files: &mut Vec<BString>,
) -> Result<()> {
    ensure_depth(path)?;
    for entry in tree {
        within(path, entry.name_bytes(), |path| match entry.kind() {
            Some(ObjectType::Tree) => {
                let tree = find_tree(repository, entry.id(), path)?;
                collect(repository, path, &tree, wanted, files)
            }
            Some(ObjectType::Blob) if wanted(path) => {
                files.push(path.clone());
                Ok(())
            }
            _ => Ok(()),
        })?;
    }
    Ok(())
}
