//! Scratch repositories.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use filetime::FileTime;
use tempfile::TempDir;

use super::command::{Done, TestCommand};
use super::interpreter::{self, Interpreter};
use super::{pyc, race};

/// git's configuration of every scratch repository, clone and submodule: in the home of the
/// children, where the git command and libgit2 both find it.
const GITCONFIG: &str = "\
[user]
\tname = A U Thor
\temail = author@example.org
[init]
\tdefaultBranch = main
[protocol \"file\"]
\tallow = always
[advice]
\tdetachedHead = false
[core]
\tautocrlf = false
\texcludesFile = ~/.gitignore
[gc]
\tauto = 0
[commit]
\tgpgSign = false
";

/// A scratch directory: `work` (the work tree), `home` and whatever a test puts beside them; and
/// what its commands get in their environment. Removed when it is dropped.
pub struct Dir {
    directory: TempDir,
    base: PathBuf,
    root: PathBuf,
    variables: Vec<(String, OsString)>,
}

impl Dir {
    /// An empty repository on branch `main`, with no hook installed.
    pub fn new() -> Self {
        let dir = Self::plain();
        dir.git(&["init", "-q"]);
        let _ = fs::remove_dir_all(dir.path(".git/hooks"));
        dir
    }

    /// A directory that is no repository.
    pub fn plain() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("pycgate-it-")
            .tempdir()
            .expect("a temporary directory");
        // On macOS the temporary directory is reached through a symlink.
        let base = directory.path().canonicalize().expect("it exists");
        let root = base.join("work");
        fs::create_dir(&root).expect("the work tree");
        fs::create_dir(base.join("home")).expect("the home");
        fs::write(base.join("home/.gitconfig"), GITCONFIG).expect("the configuration");
        // As everybody has it; a test that tracks bytecode says `git add -f`.
        fs::write(base.join("home/.gitignore"), "__pycache__/\n*.py[co]\n").expect("the ignored");
        Self {
            directory,
            base,
            root,
            variables: Vec::new(),
        }
    }

    /// The root of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes another directory the root: a clone, a linked work tree, a submodule's parent.
    pub fn enter(&mut self, root: impl Into<PathBuf>) {
        self.root = root.into();
    }

    /// Gives all later commands a variable.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// A path in the work tree.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A path in the work tree, by bytes that need not be UTF-8.
    pub fn path_bytes(&self, relative: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(relative))
    }

    /// A path beside the work tree.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// Writes a file and makes the directories it needs.
    pub fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        let parent = path.parent().expect("a file lies in a directory");
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    /// A file's content.
    pub fn read(&self, relative: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(relative);
        fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    /// Whether there is something at that path, a dangling symlink too.
    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    /// Runs git; it must succeed. Its standard output without the last newline.
    pub fn git<I>(&self, arguments: I) -> String
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        self.command("git").args(arguments).ok()
    }

    /// Runs git, whatever comes of it.
    pub fn try_git<I>(&self, arguments: I) -> Done
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        self.command("git").args(arguments).run()
    }

    /// Stages everything and commits.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Adds a submodule at `path`: a new repository with one commit.
    pub fn submodule(&self, path: &str) {
        self.git(["init", "-q", "../inner"]);
        let commit = ["commit", "-q", "--allow-empty", "-m", "one"];
        self.git(["-C", "../inner"].iter().chain(&commit));
        self.git(["submodule", "add", "-q", "../inner", path]);
    }

    /// A command in the root of the work tree, in a clean environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> TestCommand {
        let command = TestCommand::new(program, &self.root, &self.base);
        let variables = self.variables.iter();
        variables.fold(command, |command, (name, value)| command.env(name, value))
    }

    /// pycgate in the root of the work tree, not yet started.
    pub fn pycgate<I>(&self, arguments: I) -> TestCommand
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        self.command(super::PYCGATE).args(arguments)
    }

    /// Installs every hook.
    pub fn install(&self) {
        self.pycgate(["install"]).ok();
    }

    /// What the main interpreter prints when it runs this code in the root of the work tree; it
    /// must succeed.
    pub fn py(&self, code: &str) -> String {
        self.python(interpreter::main(), code)
    }

    /// Whether the main interpreter can run this code.
    pub fn py_runs(&self, code: &str) -> bool {
        let python = self.command(&interpreter::main().path);
        python.args(["-c", code]).run().status == 0
    }

    /// What the main interpreter prints when it can find no bytecode: the truth.
    pub fn truth(&self, code: &str) -> String {
        let fresh = tempfile::tempdir().expect("a temporary directory");
        let python = self.command(&interpreter::main().path);
        python
            .args(["-c", code])
            .env("PYTHONPYCACHEPREFIX", fresh.path())
            .ok()
    }

    /// `module.V` as the main interpreter imports it now, entries and all.
    pub fn value(&self, module: &str) -> String {
        self.import_value(interpreter::main(), module)
    }

    /// Whether the main interpreter can import a module now.
    pub fn importable(&self, module: &str) -> bool {
        let code = format!("import importlib; importlib.import_module({module:?})");
        self.py_runs(&code)
    }

    /// The incident, without waiting for any second of the clock: the main interpreter imports a
    /// source as it is, which leaves an entry; then it is rewritten at the same size with its time
    /// put back, and the import stays what it was.
    pub fn make_stale(&self, source: &str, content: &str) {
        let module = source.strip_suffix(".py").expect("a .py");
        let module = module.trim_end_matches("/__init__").replace('/', ".");
        let path = self.path(source);
        let before = fs::metadata(&path).expect("the source");
        assert_eq!(before.len(), content.len() as u64, "{source}: its size");
        let old = self.value(&module);
        self.write(source, content);
        let mtime = FileTime::from_last_modification_time(&before);
        filetime::set_file_mtime(&path, mtime).expect("the mtime");
        let entry = self.path(self.entry(interpreter::main(), source));
        assert!(
            pyc::matches(&entry, &path, interpreter::main()),
            "{source}: its entry"
        );
        assert_eq!(self.value(&module), old, "{source}: no incident");
    }

    /// What an interpreter prints when it runs this code in the root of the work tree; it must
    /// succeed.
    pub fn python(&self, interpreter: &Interpreter, code: &str) -> String {
        self.command(&interpreter.path).args(["-c", code]).ok()
    }

    /// `module.V` as this interpreter imports it now, entries and all.
    pub fn import_value(&self, interpreter: &Interpreter, module: &str) -> String {
        let code = format!("import importlib; print(importlib.import_module({module:?}).V)");
        self.python(interpreter, &code)
    }

    /// The entry of a source for plain imports by this interpreter, relative to the work tree.
    pub fn entry(&self, interpreter: &Interpreter, source: &str) -> PathBuf {
        interpreter.entry(Path::new(source))
    }

    /// Six unrelated modules in `innocent/`, committed, each with a warm entry of the main
    /// interpreter that is older than any margin: no pycgate has a reason to touch them. See
    /// [`Dir::innocent_left`].
    pub fn innocents(&self) {
        race::move_innocents_to(&self.path("innocent"));
        if self.exists(".git") {
            self.git(&["add", "innocent/*.py"]);
            self.git(&["commit", "-q", "-m", "innocents", "innocent"]);
        }
    }

    /// The names of the innocents' entries that are still there: six of them.
    pub fn innocent_left(&self) -> Vec<String> {
        self.names("innocent/__pycache__")
    }

    /// The sorted names in a directory; empty where there is none.
    pub fn names(&self, relative: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(relative)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Every path below the work tree except `.git`, with `/` behind directories, sorted: to see
    /// that nothing was lost.
    pub fn all_paths(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.root.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).expect("a readable directory") {
                let entry = entry.expect("an entry");
                if entry.file_name() == ".git" {
                    continue;
                }
                let path = entry.path();
                let relative = path.strip_prefix(&self.root).expect("below the root");
                if entry.file_type().expect("a type").is_dir() {
                    found.push(relative.join(""));
                    open.push(path);
                } else {
                    found.push(relative.to_owned());
                }
            }
        }
        found.sort();
        found
    }

    /// Keeps the directory for a look at it after the test, and says where it is.
    pub fn keep(&mut self) {
        self.directory.disable_cleanup(true);
        super::announce(&format!("kept {}", self.base.display()));
    }
}
