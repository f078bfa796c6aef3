//! One repository: where it lies, and who answers for its references and trees.
#![forbid(unsafe_code)]

use std::cell::{OnceCell, RefCell};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use bstr::{BStr, BString, ByteSlice as _};
use git2::{ErrorClass, ErrorCode, Repository};

use super::command::Git;
use super::index::Index;
use super::libgit2;
use crate::fsys::cores;
use crate::fsys::path::{self, text};

/// A repository with a work tree.
pub struct Repo {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    index_path: PathBuf,
    sha256: bool,
    answers: Answers,
    index: OnceCell<Arc<Index>>,
    ahead: RefCell<Option<JoinHandle<Result<Index>>>>,
}

/// Size of an index file, in bytes, from which reading it takes longer than starting a thread.
const WORTH_A_THREAD: u64 = 512 * 1024;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Nothing is said.
    Unspecified,
    /// `name`
    Set,
    /// `-name`
    Unset,
    /// `name=value`
    Value(String),
}

impl Attribute {
    fn of(value: &[u8]) -> Self {
        Self::Value(String::from_utf8_lossy(value).into_owned())
    }

    /// Whether it is `name=value`.
    pub fn is(&self, value: &str) -> bool {
        matches!(self, Self::Value(actual) if actual == value)
    }
}

/// Who answers for references and trees.
pub(super) enum Answers {
    /// libgit2, in this process.
    Libgit2(Box<Repository>),
    /// The `git` command, where libgit2 refuses the repository.
    Command(Git),
}

/// Why libgit2 did not open a repository.
enum Refusal {
    /// There is none.
    Absent,
    /// It belongs to somebody else.
    Owner(git2::Error),
    /// It has something libgit2 does not know.
    Unknown(git2::Error),
}

impl Repo {
    /// Opens the repository git has started a hook for: `GIT_DIR`, `GIT_WORK_TREE` and
    /// `GIT_INDEX_FILE` are honoured, and git has checked the owner. `None` outside a repository.
    ///
    /// # Errors
    /// If there is a repository and neither libgit2 nor git opens it, or it is bare.
    pub fn for_hook(directory: &Path) -> Result<Option<Self>> {
        libgit2::set_up();
        Self::from_attempt(
            directory,
            libgit2::without_owner_check(|| attempt(directory)),
        )
    }

    /// Opens the repository that `directory` lies in, as git does there: the variables of a hook
    /// are honoured, and one that belongs to somebody else only if `safe.directory` names it.
    /// `None` outside a repository.
    ///
    /// # Errors
    /// If there is a repository and neither libgit2 nor git opens it, or it is bare.
    pub fn discover(directory: &Path) -> Result<Option<Self>> {
        libgit2::set_up();
        let mut opened = attempt(directory);
        if let Err(Refusal::Owner(error)) = &opened {
            // libgit2 reads no configuration from the environment; git's word counts.
            Git::at(directory).shape().map_err(|_| {
                anyhow!(
                    "the repository at {} belongs to somebody else ({}); if you trust it: \
                     git config --global --add safe.directory {}",
                    directory.display(),
                    error.message(),
                    directory.display()
                )
            })?;
            opened = libgit2::without_owner_check(|| attempt(directory));
        }
        Self::from_attempt(directory, opened)
    }

    fn from_attempt(directory: &Path, opened: Result<Repository, Refusal>) -> Result<Option<Self>> {
        match opened {
            Ok(repository) => Self::from_libgit2(directory, repository).map(Some),
            Err(Refusal::Absent) => Ok(None),
            Err(Refusal::Owner(error) | Refusal::Unknown(error)) => {
                let index = |git_dir: &Path| index_path(directory, git_dir);
                Self::by_command(Git::at(directory), directory, &error, &index).map(Some)
            }
        }
    }

    fn from_libgit2(directory: &Path, repository: Repository) -> Result<Self> {
        let root = match (
            env::var_os("GIT_WORK_TREE"),
            env::var_os("GIT_DIR"),
            repository.workdir(),
        ) {
            (Some(root), ..) => directory.join(root),
            // With GIT_DIR alone the work tree is the configured one, or else where one stands.
            (None, Some(_), Some(root)) if configured_work_tree(&repository) => root.to_path_buf(),
            (None, Some(_), _) if !configured_bare(&repository) => directory.to_path_buf(),
            (None, None, Some(root)) => root.to_path_buf(),
            _ => return bare(repository.path()),
        };
        let root = real(&root)?;
        if repository.workdir().and_then(|own| path::real(own).ok()) != Some(root.clone()) {
            // For what is ignored and for attributes.
            repository.set_workdir(&root, false)?;
        }
        let index_path = index_path(directory, repository.path());
        Ok(Self::of_libgit2(root, index_path, repository))
    }

    fn of_libgit2(root: PathBuf, index_path: PathBuf, repository: Repository) -> Self {
        Self {
            root,
            git_dir: repository.path().to_path_buf(),
            common_dir: repository.commondir().to_path_buf(),
            index_path,
            sha256: repository.object_format() == git2::ObjectFormat::Sha256,
            answers: Answers::Libgit2(Box::new(repository)),
            index: OnceCell::new(),
            ahead: RefCell::new(None),
        }
    }

    /// Has the `git` command open what libgit2 has refused.
    fn by_command(
        git: Git,
        directory: &Path,
        refused: &git2::Error,
        index_path: &dyn Fn(&Path) -> PathBuf,
    ) -> Result<Self> {
        let shape = git.shape().with_context(|| {
            format!(
                "the repository at {} cannot be opened ({})",
                directory.display(),
                refused.message()
            )
        })?;
        let Some(root) = shape.root else {
            return bare(&shape.git_dir);
        };
        let root = real(&root)?;
        let index_path = index_path(&shape.git_dir);
        Ok(Self {
            common_dir: shape.common_dir,
            answers: Answers::Command(git.bound_to(&shape.git_dir, &root, &index_path)),
            index_path,
            root,
            git_dir: shape.git_dir,
            sha256: shape.sha256,
            index: OnceCell::new(),
            ahead: RefCell::new(None),
        })
    }

    /// The repository that a directory outside the work tree lies in, if any: only to learn what is
    /// tracked there. The variables of a hook do not count.
    ///
    /// # Errors
    /// If there is a repository and neither libgit2 nor git opens it.
    pub fn around(directory: &Path) -> Result<Option<Self>> {
        let mut above = Some(directory);
        while let Some(here) = above {
            if here.join(".git").symlink_metadata().is_ok() {
                return Self::nested(here).map(Some);
            }
            above = here.parent();
        }
        Ok(None)
    }

    /// Opens the repository whose root is `directory` (a submodule, a nested one) and no other.
    ///
    /// # Errors
    /// If neither libgit2 nor git opens it.
    pub fn nested(directory: &Path) -> Result<Self> {
        libgit2::set_up();
        let flags = git2::RepositoryOpenFlags::NO_SEARCH;
        let none: [&std::ffi::OsStr; 0] = [];
        let opened = libgit2::without_owner_check(|| Repository::open_ext(directory, flags, none));
        let repository = match opened {
            Ok(repository) => repository,
            Err(error) => {
                let index = |git_dir: &Path| git_dir.join("index");
                return Self::by_command(Git::apart(directory), directory, &error, &index);
            }
        };
        let root = real(repository.workdir().unwrap_or(directory))?;
        let index_path = repository.path().join("index");
        Ok(Self::of_libgit2(root, index_path, repository))
    }

    /// The root of the work tree, absolute and without symlinks.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The repository itself: `.git`, or where it points.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// What linked work trees share: references, objects, hooks.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The index file in use, `GIT_INDEX_FILE` honoured.
    pub fn index_path(&self) -> &Path {
        &self.index_path
    }

    /// Whether its objects are named by SHA-256.
    pub fn is_sha256(&self) -> bool {
        self.sha256
    }

    /// Whether libgit2 opened it; the `git` command answers otherwise.
    pub fn is_libgit2(&self) -> bool {
        matches!(self.answers, Answers::Libgit2(_))
    }

    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The index, read once.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn index(&self) -> Result<&Arc<Index>> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let ahead = self.ahead.borrow_mut().take();
        let index = match ahead.map(JoinHandle::join) {
            Some(Ok(read)) => read,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Index::read(&self.index_path, self.sha256),
        };
        let index = Arc::new(index?);
        Ok(self.index.get_or_init(|| index))
    }

    /// Whether reading the index takes so long that it is worth a thread to do other things
    /// meanwhile.
    pub fn has_large_index(&self) -> bool {
        let large = std::fs::metadata(&self.index_path)
            .is_ok_and(|metadata| metadata.len() >= WORTH_A_THREAD);
        large && cores() > 1
    }

    /// Begins to read a large index in another thread, for those who will ask for it and have other
    /// things to do first.
    pub fn read_index_ahead(&self) {
        if self.has_large_index() {
            let (path, sha256) = (self.index_path.clone(), self.sha256);
            let thread = std::thread::spawn(move || Index::read(&path, sha256));
            *self.ahead.borrow_mut() = Some(thread);
        }
    }

    /// Whether a file is known to git: in the index, or in HEAD.
    pub fn knows(&self, path: &BStr) -> bool {
        self.index().is_ok_and(|index| index.tracks(path))
            || path
                .to_str()
                .is_ok_and(|path| self.resolve(&format!("HEAD:{path}")).is_some())
    }

    /// A configured value, as text.
    pub fn config(&self, key: &str) -> Option<String> {
        match &self.answers {
            Answers::Libgit2(repository) => repository
                .config()
                .ok()?
                .snapshot()
                .ok()?
                .get_string(key)
                .ok(),
            Answers::Command(git) => git.config(key),
        }
    }

    /// A configured boolean; `default` where there is none.
    pub fn config_bool(&self, key: &str, default: bool) -> bool {
        let value = match &self.answers {
            Answers::Libgit2(repository) => repository
                .config()
                .ok()
                .and_then(|config| config.get_bool(key).ok()),
            Answers::Command(git) => git.config_as("bool", key).map(|value| value == "true"),
        };
        value.unwrap_or(default)
    }

    /// A configured path, `~` resolved.
    pub fn config_path(&self, key: &str) -> Option<PathBuf> {
        match &self.answers {
            Answers::Libgit2(repository) => repository.config().ok()?.get_path(key).ok(),
            Answers::Command(git) => git.config_as("path", key).map(PathBuf::from),
        }
    }

    /// What kind of hash names its objects.
    pub fn hash_kind(&self) -> gix_hash::Kind {
        if self.sha256 {
            gix_hash::Kind::Sha256
        } else {
            gix_hash::Kind::Sha1
        }
    }

    /// The id of the commit or tree that a revision names, in hex; `None` if there is none, as with
    /// an unborn HEAD. All zeros, which git's hooks write for no commit, is none as well.
    pub fn resolve(&self, revision: &str) -> Option<String> {
        if !revision.is_empty() && revision.bytes().all(|byte| byte == b'0') {
            return None;
        }
        match &self.answers {
            Answers::Libgit2(repository) => {
                Some(repository.revparse_single(revision).ok()?.id().to_string())
            }
            Answers::Command(git) => git.resolve(revision),
        }
    }

    /// The commit both sides have in common.
    ///
    /// # Errors
    /// If `revision` names nothing, or has nothing in common with HEAD.
    pub fn merge_base(&self, revision: &str) -> Result<String> {
        let commit = |name: &str| self.resolve(&format!("{name}^{{commit}}"));
        let base = commit(revision).with_context(|| {
            format!(
                "the base `{revision}` names no commit in {}: fetch it, or name another",
                self.root.display()
            )
        })?;
        let head =
            commit("HEAD").with_context(|| format!("{} has no commit yet", self.root.display()))?;
        let common = match &self.answers {
            Answers::Libgit2(repository) => {
                let id = |hex: &str| git2::Oid::from_str_ext(hex, repository.object_format());
                let found = repository.merge_base(id(&base)?, id(&head)?);
                found.map(|id| id.to_string()).map_err(anyhow::Error::from)
            }
            Answers::Command(git) => git.merge_base(&base, &head),
        };
        common.with_context(|| {
            format!("HEAD and the base `{revision}` have no commit in common (a shallow clone? `git fetch --unshallow`)")
        })
    }

    /// The bytes of a blob, named by its id.
    ///
    /// # Errors
    /// If there is no such blob here.
    pub fn blob(&self, id: &[u8]) -> Result<Vec<u8>> {
        match &self.answers {
            Answers::Libgit2(repository) => {
                let blob = repository.find_blob(git2::Oid::from_bytes(id)?)?;
                Ok(blob.content().to_vec())
            }
            Answers::Command(git) => {
                git.blob(&gix_hash::oid::try_from_bytes(id)?.to_hex().to_string())
            }
        }
    }

    /// Whether a path is ignored, for those that are not tracked.
    ///
    /// # Errors
    /// If neither libgit2 nor git can tell.
    pub fn ignored(&self, paths: &[BString]) -> Result<Vec<BString>> {
        match &self.answers {
            Answers::Libgit2(repository) => {
                let mut ignored = Vec::new();
                for path in paths {
                    if repository.is_path_ignored(path.to_path()?)? {
                        ignored.push(path.clone());
                    }
                }
                Ok(ignored)
            }
            Answers::Command(git) => git.ignored(paths),
        }
    }

    /// The values of attributes of paths, path by path in the order of `names`.
    ///
    /// # Errors
    /// If neither libgit2 nor git can tell.
    pub fn attributes(&self, paths: &[BString], names: &[&str]) -> Result<Vec<Attribute>> {
        let git = match &self.answers {
            Answers::Libgit2(repository) => match attributes(repository, paths, names) {
                // libgit2 wants the index for it, which it cannot read where that is split or sparse.
                Err(error) if error.class() == ErrorClass::Index => &self.command(),
                said => return Ok(said?),
            },
            Answers::Command(git) => git,
        };
        let attribute = |value: Vec<u8>| match value.as_slice() {
            b"unspecified" => Attribute::Unspecified,
            b"set" => Attribute::Set,
            b"unset" => Attribute::Unset,
            value => Attribute::of(value),
        };
        let values = git.attributes(paths, names)?;
        Ok(values.into_iter().map(attribute).collect())
    }

    /// The `git` command for this repository, for what libgit2 opens and cannot answer.
    fn command(&self) -> Git {
        Git::apart(&self.root).bound_to(&self.git_dir, &self.root, &self.index_path)
    }
}

fn attributes(
    repository: &Repository,
    paths: &[BString],
    names: &[&str],
) -> Result<Vec<Attribute>, git2::Error> {
    let flags = git2::AttrCheckFlags::FILE_THEN_INDEX;
    let mut values = Vec::with_capacity(paths.len() * names.len());
    for path in paths {
        for name in names {
            let value = repository.get_attr_bytes(Path::new(&text(path)), name, flags)?;
            values.push(match git2::AttrValue::always_bytes(value) {
                git2::AttrValue::Unspecified => Attribute::Unspecified,
                git2::AttrValue::True => Attribute::Set,
                git2::AttrValue::False => Attribute::Unset,
                git2::AttrValue::Bytes(value) => Attribute::of(value),
                git2::AttrValue::String(value) => Attribute::of(value.as_bytes()),
            });
        }
    }
    Ok(values)
}

fn attempt(directory: &Path) -> Result<Repository, Refusal> {
    let opened = if env::var_os("GIT_DIR").is_some() {
        Repository::open_from_env()
    } else {
        let none: [&std::ffi::OsStr; 0] = [];
        Repository::open_ext(directory, git2::RepositoryOpenFlags::FROM_ENV, none)
    };
    opened.map_err(|error| match (error.code(), error.class()) {
        (ErrorCode::NotFound, ErrorClass::Repository)
            if env::var_os("GIT_DIR").is_none() && !has_git_above(directory) =>
        {
            Refusal::Absent
        }
        (ErrorCode::Owner, _) => Refusal::Owner(error),
        _ => Refusal::Unknown(error),
    })
}

/// Whether there is a `.git` at all; where libgit2 finds no repository behind it, git is asked.
fn has_git_above(directory: &Path) -> bool {
    let directory = path::real(directory);
    directory.is_ok_and(|directory| {
        let mut above = directory.ancestors();
        above.any(|place| place.join(".git").symlink_metadata().is_ok())
    })
}

/// Whether `core.worktree` names the work tree, as in submodules; linked ones do not heed it.
fn configured_work_tree(repository: &Repository) -> bool {
    !repository.is_worktree()
        && repository
            .config()
            .is_ok_and(|config| config.get_string("core.worktree").is_ok())
}

fn configured_bare(repository: &Repository) -> bool {
    // A linked work tree of a bare repository shares its configuration, and is not bare.
    !repository.is_worktree()
        && repository
            .config()
            .and_then(|config| config.get_bool("core.bare"))
            .unwrap_or(false)
}

fn bare<T>(git_dir: &Path) -> Result<T> {
    bail!(
        "{} is a bare repository: there is no work tree with bytecode in it",
        git_dir.display()
    )
}

fn index_path(directory: &Path, git_dir: &Path) -> PathBuf {
    match env::var_os("GIT_INDEX_FILE") {
        Some(path) if !path.is_empty() => {
            let path = directory.join(path);
            std::path::absolute(&path).unwrap_or(path)
        }
        _ => git_dir.join("index"),
    }
}

fn real(path: &Path) -> Result<PathBuf> {
    path::real(path).with_context(|| {
        format!(
            "the work tree {} cannot be found: does it still exist?",
            path.display()
        )
    })
}
