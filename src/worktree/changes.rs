//! Differences: tree against tree, index against tree.
#![forbid(unsafe_code)]

use std::cmp::Ordering;

use anyhow::{Context, Result};
use bstr::{BString, ByteSlice};
use git2::{ObjectType, Oid, Repository, Tree};

use super::index::IndexEntry;
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
            if let (Some(head), Some(id)) = (&head, index.tree_id())
                && head.id().as_bytes() == id
            {
                return Ok(Vec::new());
            }
            let entries: Vec<IndexEntry<'_>> = index.entries().collect();
            let mut changes = Vec::new();
            against(
                repository,
                &mut BString::default(),
                head.as_ref(),
                &entries,
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
            mode: entry.filemode_raw(),
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
    anyhow::ensure!(
        path.find_iter("/").count() < DEPTH,
        "a tree is nested deeper than {DEPTH} directories"
    );
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

/// Compares the index entries below `path` with a tree.
fn against(
    repository: &Repository,
    path: &mut BString,
    tree: Option<&Tree<'_>>,
    entries: &[IndexEntry<'_>],
    changes: &mut Vec<Change>,
) -> Result<()> {
    let items = items(tree);
    let mut items = items.iter().peekable();
    let skip = if path.is_empty() { 0 } else { path.len() + 1 };
    let mut at = 0;
    loop {
        // The next name directly below `path`, and the entries that belong to it.
        let next = entries.get(at).map(|entry| {
            let rest = &entry.path[skip.min(entry.path.len())..];
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
        let mut group: &[IndexEntry<'_>] = &[];
        if order.is_ge()
            && let Some((name, folder)) = next
        {
            let end = at
                + entries[at..]
                    .iter()
                    .take_while(|entry| {
                        let rest = &entry.path[skip.min(entry.path.len())..];
                        rest.as_bytes()
                            .strip_prefix(name.as_bytes())
                            .is_some_and(|rest| {
                                if folder {
                                    rest.starts_with(b"/")
                                } else {
                                    rest.is_empty()
                                }
                            })
                    })
                    .count();
            group = &entries[at..end];
            at = end.max(at + 1);
        }
        let name = match (item, next) {
            (Some(item), _) => item.name.clone(),
            (None, Some((name, _))) => name.to_vec(),
            (None, None) => return Ok(()),
        };
        let folder = item.is_some_and(|item| item.kind == ItemKind::Tree)
            || (group
                .first()
                .is_some_and(|entry| entry.path.len() > skip + name.len()));
        within(path, &name, |path| -> Result<()> {
            if folder {
                let tree = item
                    .filter(|item| item.kind == ItemKind::Tree)
                    .map(|item| find_tree(repository, item.id, path))
                    .transpose()?;
                // A folded directory of a sparse index is one entry with the id of its tree.
                if let [entry] = group
                    && entry.mode() == 0o040_000
                {
                    let folded = Oid::from_bytes(entry.id())
                        .ok()
                        .map(|id| find_tree(repository, id, path))
                        .transpose()?;
                    if folded.as_ref().map(Tree::id) != tree.as_ref().map(Tree::id) {
                        diff(repository, path, tree.as_ref(), folded.as_ref(), changes)?;
                    }
                    return Ok(());
                }
                return against(repository, path, tree.as_ref(), group, changes);
            }
            leaf(path, item, group, changes);
            Ok(())
        })?;
    }
}

/// One file: what the tree has and what the index has, conflicts included.
fn leaf(path: &BString, item: Option<&Item>, group: &[IndexEntry<'_>], changes: &mut Vec<Change>) {
    if !is_python(path) {
        return;
    }
    let item = item.filter(|item| item.kind == ItemKind::Blob);
    let entry = group.iter().find(|entry| entry.is_blob());
    let kind = match (item, entry) {
        (None, None) => return,
        (Some(_), None) => ChangeKind::Deleted,
        (_, Some(entry)) if entry.is_unmerged() => ChangeKind::Modified,
        // `git add -N` has added nothing yet.
        (None, Some(entry)) if entry.is_intent_to_add() => return,
        (None, Some(_)) => ChangeKind::Added,
        (Some(item), Some(entry)) if item.is_link() != entry.is_symlink() => {
            ChangeKind::TypeChanged
        }
        (Some(item), Some(entry))
            if item.id.as_bytes() == entry.id() && item.mode as u32 == entry.mode() =>
        {
            return;
        }
        (Some(_), Some(entry)) if entry.is_intent_to_add() => ChangeKind::Deleted,
        (Some(_), Some(_)) => ChangeKind::Modified,
    };
    changes.push(Change::new(path.clone(), kind));
}

/// All files of a tree.
pub(super) fn files(repository: &Repository, id: &str) -> Result<Vec<BString>> {
    let id = Oid::from_str_ext(id, repository.object_format())?;
    let tree = repository.find_tree(id)?;
    let mut files = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |directory, entry| {
        if entry.kind() == Some(ObjectType::Blob) {
            files.push([directory.as_bytes(), entry.name_bytes()].concat().into());
        }
        git2::TreeWalkResult::Ok
    })?;
    Ok(files)
}
