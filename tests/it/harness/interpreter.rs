//! Every CPython and PyPy of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::command::clean;

/// An interpreter that starts.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The program itself, past any version manager's shim.
    pub path: PathBuf,
    /// `cpython-311`, `pypy39`; for Python 2, which has none, `cpython-27`.
    pub tag: String,
    /// Major and minor version.
    pub version: (u32, u32),
    /// Whether it is PyPy.
    pub pypy: bool,
}

impl Interpreter {
    /// The entry of a source for plain imports.
    pub fn entry(&self, source: &Path) -> PathBuf {
        self.entry_with(source, "")
    }

    /// The entry of a source with something between tag and suffix: `.opt-1`, `-pytest-8.3.4`.
    pub fn entry_with(&self, source: &Path, extra: &str) -> PathBuf {
        let name = source.file_name().expect("a file").to_str().expect("UTF-8");
        if self.version.0 == 2 {
            return source.with_file_name(format!("{name}c"));
        }
        let stem = name.strip_suffix(".py").expect("a .py");
        let entry = format!("__pycache__/{stem}.{}{extra}.pyc", self.tag);
        source.with_file_name(entry)
    }

    /// Whether it has virtual environments and pip.
    pub fn is_3(&self) -> bool {
        self.version.0 == 3
    }
}

/// Prints what we want to know, in any Python since 2.7.
const PROBE: &str = "\
import os, platform, sys
tag = getattr(sys.implementation, 'cache_tag', None) if sys.version_info[0] > 2 else 'cpython-27'
print('|'.join([os.path.realpath(sys.executable), tag or '', '%d.%d' % sys.version_info[:2],
    platform.python_implementation()]))";

/// All interpreters, one for each cache tag, CPython before PyPy and old before new: `python3`,
/// `python2` and `pypy3` on PATH, `pythonX.Y` on PATH, and what pyenv has installed.
///
/// # Panics
/// Where there is no CPython 3 at all: nothing could be tested then.
pub fn all() -> &'static [Interpreter] {
    static ALL: OnceLock<Vec<Interpreter>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut found: BTreeMap<(bool, (u32, u32)), Interpreter> = BTreeMap::new();
        for candidate in candidates() {
            if let Some(interpreter) = probe(&candidate) {
                found
                    .entry((interpreter.pypy, interpreter.version))
                    .or_insert(interpreter);
            }
        }
        let all: Vec<Interpreter> = found.into_values().collect();
        assert!(
            all.iter().any(|one| one.is_3() && !one.pypy),
            "the tests need a CPython 3 (3.7 or later) as `python3` on PATH or in pyenv"
        );
        let tags: Vec<&str> = all.iter().map(|one| one.tag.as_str()).collect();
        super::announce(&format!("interpreters: {}", tags.join(", ")));
        all
    })
}

/// The interpreter for what needs only one: the CPython 3.7 or later that `python3` on PATH is,
/// else the newest found.
pub fn main() -> &'static Interpreter {
    static MAIN: OnceLock<Interpreter> = OnceLock::new();
    MAIN.get_or_init(|| {
        let modern = |one: &Interpreter| !one.pypy && one.version >= (3, 7);
        let on_path = probe(Path::new("python3")).filter(modern);
        on_path
            .or_else(|| all().iter().rev().find(|one| modern(one)).cloned())
            .expect("the tests need a CPython 3.7 or later")
    })
}

/// The CPython with this version, if it is here.
pub fn cpython(major: u32, minor: u32) -> Option<&'static Interpreter> {
    all()
        .iter()
        .find(|one| !one.pypy && one.version == (major, minor))
}

fn candidates() -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = ["python3", "python2", "pypy3"].map(PathBuf::from).into();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A shim of a version that is not selected does not start; `probe` finds that out, but slowly.
    for directory in std::env::split_paths(&path).filter(|one| !one.ends_with("shims")) {
        candidates.extend((6..20).map(|minor| directory.join(format!("python3.{minor}"))));
        candidates.push(directory.join("python2.7"));
        candidates.extend((7..20).map(|minor| directory.join(format!("pypy3.{minor}"))));
    }
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv"));
    if let Some(versions) = pyenv.or_else(home)
        && let Ok(entries) = std::fs::read_dir(versions.join("versions"))
    {
        let mut pythons: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path().join("bin/python"))
            .collect();
        pythons.sort();
        candidates.extend(pythons);
    }
    candidates.retain(|one| one.components().count() == 1 || one.exists());
    candidates
}

fn probe(candidate: &Path) -> Option<Interpreter> {
    let mut command = Command::new(candidate);
    clean(&mut command);
    let output = command
        .args(["-S", "-c", PROBE])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let said = String::from_utf8(output.stdout).ok()?;
    let mut fields = said.trim().split('|');
    let path = PathBuf::from(fields.next()?);
    let tag = fields.next().filter(|tag| !tag.is_empty())?.to_owned();
    let (major, minor) = fields.next()?.split_once('.')?;
    Some(Interpreter {
        path,
        tag,
        version: (major.parse().ok()?, minor.parse().ok()?),
        pypy: fields.next()? == "PyPy",
    })
}
