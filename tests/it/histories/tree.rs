//! One history's work tree and what is beside it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use filetime::{FileTime, set_file_mtime};

use super::draw::{History, Kind, drawn};
use super::driver::{Drivers, Import};
use super::operation::{Context, INNOCENT, MODULES, Operation, When};
use crate::harness::{Dir, PYCGATE, TestCommand};

const THEN: i64 = 1_700_000_000;

/// What all histories begin with: a repository whose branches `main` and `other` have other sources
/// of the same sizes.
pub struct Template {
    dir: Dir,
}

impl Template {
    /// Makes it.
    pub fn new() -> Self {
        let dir = Dir::new();
        let say = |path: &str, value: &str| dir.write(path, content(value, false));
        dir.write(".gitignore", "gen/\n.prefix/\n");
        dir.write("pkg/__init__.py", content("i1", false));
        for (path, value) in [
            ("a.py", "a1"),
            ("b.py", "b1"),
            ("pkg/m.py", "m1"),
            ("one/x.py", "x1"),
            ("two/x.py", "x2"),
            ("two/sub/y.py", "y1"),
            ("innocent/i.py", "ok"),
        ] {
            say(path, value);
        }
        dir.commit("one");
        say("a.py", "a0");
        dir.commit("two");
        dir.git(&["switch", "-q", "-c", "other"]);
        say("a.py", "a2");
        say("two/x.py", "x3");
        fs::rename(dir.path("pkg/__init__.py"), dir.path("pkg.py")).expect("the package");
        fs::rename(dir.path("pkg/m.py"), dir.path("b.py")).expect("a module");
        dir.write("one/__init__.py", content("i2", false));
        dir.commit("three");
        dir.git(&["switch", "-q", "main"]);
        dir.git(&["gc", "-q"]);
        Self { dir }
    }

    /// A directory beside it for one more history.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.beside(name)
    }

    fn command(&self, program: &str, work: &Path) -> TestCommand {
        let home = self.dir.beside("home");
        let base = home.parent().expect("it lies in the scratch directory");
        TestCommand::new(program, work, base)
    }
}

fn content(value: &str, long: bool) -> String {
    let more = if long { "# more\n" } else { "" };
    format!("V = '{value}d' if __debug__ else '{value}o'\n{more}")
}

/// The work tree of one history.
pub struct Tree<'t> {
    template: &'t Template,
    base: PathBuf,
    /// The work tree.
    pub work: PathBuf,
}

impl<'t> Tree<'t> {
    /// A new one, on branch `main`.
    pub fn new(template: &'t Template, base: PathBuf, common: bool) -> Self {
        let work = base.join("work");
        copy(&template.dir.path(".git"), &work.join(".git"), &|_| true);
        let tree = Self {
            template,
            base,
            work,
        };
        tree.git(&["reset", "-q", "--hard"]);
        for (path, value) in [
            ("gen/x.py", "x4"),
            ("../out/o.py", "o1"),
            ("../out/impl/x.py", "x5"),
        ] {
            tree.write(&tree.work.join(path), &content(value, false));
        }
        for prefix in [".prefix", "../prefix"] {
            fs::create_dir(tree.work.join(prefix)).expect("a prefix");
        }
        if common {
            for root in [&tree.work, &tree.base.join("out")] {
                each_file(root, &mut |path| {
                    // git writes a file anew that is not as the index knows it.
                    let innocent = path.starts_with(tree.work.join("innocent"));
                    if !innocent && path.extension().is_some_and(|one| one == "py") {
                        set_time(path, 0);
                    }
                });
            }
        }
        tree
    }

    fn write(&self, path: &Path, content: &str) {
        if let Some(parent) = path.parent() {
            let _ = fs::create_dir_all(parent);
        }
        let _ = fs::write(path, content);
    }

    /// A command in the work tree.
    pub fn command(&self, program: &str) -> TestCommand {
        self.template.command(program, &self.work)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        self.command(program).args(arguments).run();
    }

    /// Runs git, whatever comes of it; its standard output.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.command("git").args(arguments).run().stdout
    }

    /// Imports the innocents anew: entries that are true, and written later than any margin if the
    /// tree is old enough.
    pub fn warm_up(&self, contexts: &[Context], drivers: &mut Drivers) {
        each_file(&self.work.join("innocent"), &mut |path| {
            if is_entry(path) {
                let _ = fs::remove_file(path);
            }
        });
        for context in contexts {
            drivers.import(context, Import::Plain, &self.work, &[INNOCENT]);
        }
    }

    /// Does one operation. A gate is none of them.
    pub fn act(&self, operation: &Operation, contexts: &[Context], drivers: &mut Drivers) {
        let at = |path: &str| self.work.join(path);
        match *operation {
            Operation::Write {
                path,
                value,
                long,
                moved,
                when,
            } => {
                let path = at(path);
                let before = fs::metadata(&path).ok();
                let content = content(&format!("{value:02}"), long);
                if moved {
                    let new = path.with_extension("new");
                    self.write(&new, &content);
                    let _ = fs::rename(&new, &path);
                } else {
                    self.write(&path, &content);
                }
                match (when, before) {
                    (When::Kept, Some(before)) => {
                        let mtime = FileTime::from_last_modification_time(&before);
                        let _ = set_file_mtime(&path, mtime);
                    }
                    (When::Common, _) => set_time(&path, 0),
                    _ => {}
                }
            }
            Operation::Time { path, time } => set_time(&at(path), time),
            Operation::Chmod { path } => {
                if let Ok(stat) = fs::metadata(at(path)) {
                    let mode = stat.permissions().mode() ^ 0o011;
                    let _ = fs::set_permissions(at(path), fs::Permissions::from_mode(mode));
                }
            }
            Operation::Copy { from, to } => self.run("cp", &["-p", from, to]),
            Operation::Pack { directory, caches } => {
                let mut arguments = vec!["-cf", "../packed.tar", directory];
                if !caches {
                    arguments.insert(0, "--exclude=__pycache__");
                }
                self.run("tar", &arguments);
            }
            Operation::Unpack => self.run("tar", &["-xf", "../packed.tar"]),
            Operation::Move {
                from,
                to,
                git: true,
            } => self.run("git", &["mv", from, to]),
            Operation::Move {
                from,
                to,
                git: false,
            } => {
                let _ = fs::rename(at(from), at(to));
            }
            Operation::Swap { one, two } => {
                let (one, two, between) = (at(one), at(two), self.base.join("between"));
                if one.exists() && two.exists() {
                    let _ = fs::rename(&one, &between);
                    let _ = fs::rename(&two, &one);
                    let _ = fs::rename(&between, &two);
                }
            }
            Operation::Link { at: place, to } => {
                let above = "../".repeat(place.matches('/').count());
                let place = at(place);
                if !place.is_dir() || place.is_symlink() {
                    let _ = fs::remove_file(&place);
                }
                let _ = symlink(format!("{above}{to}"), place);
            }
            Operation::HardLink { from, to } => {
                if at(from).exists() {
                    let _ = fs::remove_file(at(to));
                    let _ = fs::hard_link(at(from), at(to));
                }
            }
            Operation::Remove { path } => {
                let _ = fs::remove_file(at(path));
            }
            Operation::Hollow { directory } => each_file(&at(directory), &mut |path| {
                if !is_entry(path) {
                    let _ = fs::remove_file(path);
                }
            }),
            Operation::RemoveTree { directory } => {
                let _ = fs::remove_dir_all(at(directory));
            }
            Operation::ToModule => {
                let _ = fs::rename(at("pkg/__init__.py"), at("pkg.py"));
            }
            Operation::ToPackage => {
                if at("pkg.py").exists() {
                    let _ = fs::create_dir(at("pkg"));
                    let _ = fs::rename(at("pkg.py"), at("pkg/__init__.py"));
                }
            }
            Operation::Nest { directory } => {
                if at(directory).is_dir() {
                    self.git(&["init", "-q", directory]);
                }
            }
            Operation::Git(arguments) => self.run("git", arguments),
            Operation::Import { by, module } => {
                let one = module.map(|module| [module]);
                let modules = one.as_ref().map_or(&MODULES[..], |one| one);
                drivers.import(&contexts[by], Import::Plain, &self.work, modules);
            }
            Operation::Overtaken { by, module, value } => {
                let new = content(&format!("{value:02}"), false);
                drivers.import_overtaken(&contexts[by], &self.work, module, &new);
            }
            Operation::Track => {
                self.run("git", &["add", "-f", "-A", ":!.prefix"]);
            }
            Operation::Compile { by, mode, force } => {
                drivers.compile(&contexts[by], mode, force, &self.work);
            }
            Operation::TouchEntries { directory } => {
                each_file(&at(directory), &mut |path| {
                    if is_entry(path) {
                        let _ = set_file_mtime(path, FileTime::now());
                    }
                });
            }
            Operation::MoveEntries { from, to } => {
                let to = at(to).join("__pycache__");
                let _ = fs::remove_dir_all(&to);
                let _ = fs::rename(at(from).join("__pycache__"), to);
            }
            Operation::LinkEntries { from, to } => {
                let above = "../".repeat(to.matches('/').count() + 1);
                let to = at(to).join("__pycache__");
                let _ = fs::remove_dir_all(&to);
                let _ = symlink(format!("{above}{from}/__pycache__"), to);
            }
            Operation::LinkPrefix => {
                let (prefix, real) = (self.base.join("prefix"), self.base.join("real"));
                // The directory in the prefix that stands for the history's own.
                let inner = prefix.join(self.base.strip_prefix("/").expect("an absolute path"));
                if fs::rename(&inner, &real).is_ok() {
                    let _ = symlink(&real, &inner);
                }
            }
            Operation::Gate => unreachable!("a gate is no operation on the tree"),
        }
    }

    /// Commits everything, so that nothing goes for being part of the payload.
    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "as on disk"]);
    }

    /// The arguments of a gate that looks at everything the history has touched.
    pub fn gate(&self, history: &History) -> TestCommand {
        let mut command = self.command(PYCGATE).args(["gate", "--format", "json"]);
        command = command.args(["--also", "../out"]);
        let mut prefixes: Vec<&str> = history
            .contexts
            .iter()
            .filter_map(|one| one.prefix)
            .collect();
        prefixes.dedup();
        if let [only] = prefixes[..] {
            return command.env("PYTHONPYCACHEPREFIX", self.work.join(only));
        }
        for prefix in prefixes {
            command = command.args(["--pycache-prefix", prefix]);
        }
        command
    }

    /// A copy of the sources without any entry, and without the directories that hold only such:
    /// what is imported there is the truth.
    pub fn truth(&self) -> PathBuf {
        let truth = self.base.join("truth");
        for tree in ["work", "out"] {
            copy(&self.base.join(tree), &truth.join(tree), &|path| {
                !is_entry(path)
            });
        }
        truth.join("work")
    }

    /// Every file and symlink that is no entry, with what changes when it is touched.
    pub fn untouched(&self) -> Vec<(PathBuf, u64, i64, i64)> {
        let mut found = Vec::new();
        for tree in [&self.work, &self.base.join("out")] {
            each_file(tree, &mut |path| {
                if !is_entry(path) {
                    found.extend(identity(path));
                }
            });
        }
        found.sort();
        found
    }

    /// The entries of the innocents.
    pub fn innocents(&self) -> Vec<(PathBuf, u64, i64, i64)> {
        let mut found = Vec::new();
        each_file(&self.work.join("innocent"), &mut |path| {
            if is_entry(path) {
                found.extend(identity(path));
            }
        });
        found.sort();
        found
    }

    /// Whether what a context imports by this name can be a sourceless module, which is kept: an
    /// entry beside the place of a source that is gone, and that git does not know either.
    pub fn sourceless(&self, module: &str) -> bool {
        let known = self.git(&["ls-files"]) + &self.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
        let is_known = |path: &str| {
            let nested = path.rsplit_once('/').is_some_and(|(directory, _)| {
                let above = Path::new(directory).ancestors();
                above
                    .take_while(|one| !one.as_os_str().is_empty())
                    .any(|one| self.work.join(one).join(".git").exists())
            });
            known.lines().any(|line| line == path) && (!nested || drawn(Kind::Nested))
        };
        let kept = |stem: String| {
            let source = format!("{stem}.py");
            let entry = ["pyc", "pyo"].iter().any(|suffix| {
                let entry = self.work.join(format!("{stem}.{suffix}"));
                entry.symlink_metadata().is_ok()
            });
            let module = stem.strip_suffix("/__init__").unwrap_or("");
            let shadows = self.work.join(format!("{module}.py")).is_file();
            let source = self.work.join(&source);
            let gone = source.symlink_metadata().is_err();
            let no_file = !source.is_file() && !drawn(Kind::NoFile);
            entry
                && (gone && !is_known(&format!("{stem}.py")) || no_file)
                && (!shadows || !drawn(Kind::Shadow))
        };
        let mut path = String::new();
        for part in module.split('.') {
            path = if path.is_empty() {
                part.to_owned()
            } else {
                format!("{path}/{part}")
            };
            if kept(path.clone()) || kept(format!("{path}/__init__")) {
                return true;
            }
        }
        // A directory with nothing else is left to be a namespace package.
        let mut left = false;
        each_file(&self.work.join(path), &mut |path| {
            left |= is_entry(path) && !in_cache(path);
        });
        left
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn set_time(path: &Path, time: usize) {
    let times = [
        FileTime::from_unix_time(THEN, 0),
        // Rounded up to the same second by everything but Python 2.
        FileTime::from_unix_time(THEN - 1, 999_999_950),
        FileTime::from_unix_time(THEN + (1 << 32), 0),
        FileTime::now(),
    ];
    let _ = set_file_mtime(path, times[time]);
}

fn identity(path: &Path) -> Option<(PathBuf, u64, i64, i64)> {
    let stat = path.symlink_metadata().ok()?;
    Some((path.to_owned(), stat.ino(), stat.ctime(), stat.ctime_nsec()))
}

fn in_cache(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str() == "__pycache__")
}

/// Bytecode, or where it lies.
fn is_entry(path: &Path) -> bool {
    in_cache(path)
        || path
            .extension()
            .is_some_and(|extension| extension == "pyc" || extension == "pyo")
}

/// Every file and symlink below a directory, `.git` left out.
fn each_file(directory: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !path.ends_with(".git") {
                each_file(&path, each);
            }
        } else {
            each(&path);
        }
    }
}

/// Copies what is `wanted` of a directory. A directory is not made where all that it would hold is
/// not wanted; says whether it was made.
fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> bool {
    let (mut made, mut empty) = (false, true);
    let mut files = Vec::new();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let path = entry.path();
        empty = false;
        if !wanted(&path) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            made |= copy(&path, &to.join(entry.file_name()), wanted);
        } else {
            files.push((path, to.join(entry.file_name())));
        }
    }
    if !made && files.is_empty() && !empty {
        return false;
    }
    fs::create_dir_all(to).expect("a copy of the directory");
    for (from, to) in files {
        if let Ok(target) = fs::read_link(&from) {
            symlink(target, &to).expect("a copy of the link");
        } else {
            fs::copy(&from, &to).expect("a copy of the file");
        }
    }
    true
}
