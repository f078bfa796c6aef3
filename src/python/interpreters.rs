//! Interpreters: found on `PATH`, started, and asked.
//!
//! One that is asked looks at nothing of the user's: no variables of Python's, no `site`, no module in
//! the directory it is started in. It writes no bytecode, and it gets so long for each answer and no
//! longer.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::fsys::path::{from_git, program, real};
use anyhow::{Context as _, Result, bail};
use data_encoding::HEXLOWER;

/// How long an interpreter may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Before any script: what lies in the directory of the process is not imported.
const ALONE: &str = "import sys\nsys.path[:] = [path for path in sys.path if path]\n";

/// Asks an interpreter about itself: one line, each answer in hexadecimal behind a comma.
const WHO: &str = "
import binascii, os, sysconfig, site
paths = sysconfig.get_paths()
tag = getattr(getattr(sys, 'implementation', None), 'cache_tag', None)
words = [
    sys.executable,
    '.'.join(map(str, sys.version_info[:3])),
    tag or 'cpython-%d%d' % sys.version_info[:2],
    getattr(sys, 'pycache_prefix', None) or '',
    paths['purelib'], paths['platlib'], site.getusersitepackages(),
]
fsencode = getattr(os, 'fsencode', lambda word: word)
print(','.join(binascii.hexlify(fsencode(word)).decode('ascii') for word in words))
";

/// An interpreter that starts, as it tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The file that it says it is.
    pub executable: PathBuf,
    /// As in `3.11.7`.
    pub version: String,
    /// The tag of its cache entries, as in `cpython-311`; of a Python that has none `cpython-27`.
    pub tag: String,
    /// Where it keeps its bytecode by itself, if not in `__pycache__`.
    pub prefix: Option<PathBuf>,
    /// Its site-packages directories, the user's own included.
    pub sites: Vec<PathBuf>,
}

impl Interpreter {
    /// Asks the interpreter that `python` starts in `directory`, which decides for a shim.
    ///
    /// # Errors
    /// If it does not start, or is none.
    pub fn ask(python: &Path, directory: &Path) -> Result<Self> {
        let mut process = Process::start(python, WHO, directory)?;
        match process.answer() {
            Ok(line) => Self::parse(&line).context("its answer is no interpreter's"),
            Err(RecvTimeoutError::Timeout) => bail!("no answer after {} s", PATIENCE.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("it ended without an answer"),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let decode = |word: &str| HEXLOWER.decode(word.as_bytes()).ok();
        let text = |word: Vec<u8>| String::from_utf8(word).ok();
        let path = |word: Vec<u8>| from_git(&word).into_owned();
        let words: Vec<Vec<u8>> = line.trim().split(',').map(decode).collect::<Option<_>>()?;
        let mut words = words.into_iter();
        Some(Self {
            executable: words.next().filter(|word| !word.is_empty()).map(path)?,
            version: words.next().and_then(text)?,
            tag: words.next().and_then(text)?,
            prefix: words.next().map(path).filter(|path| path != Path::new("")),
            sites: words.map(path).collect(),
        })
    }

    /// Whether it writes its bytecode beside the sources: Python 2.
    pub fn writes_beside(&self) -> bool {
        self.version.starts_with("2.")
    }

    fn version_key(&self) -> Vec<u32> {
        let parts = self.version.split('.');
        parts.filter_map(|part| part.parse().ok()).collect()
    }
}

/// The interpreters on `PATH` that start in `directory`, sorted by version, each file once.
pub fn all(directory: &Path) -> Vec<Interpreter> {
    let answers: Vec<Option<Interpreter>> = std::thread::scope(|scope| {
        let asked: Vec<_> = candidates()
            .into_iter()
            .map(|path| scope.spawn(move || Interpreter::ask(&path, directory).ok()))
            .collect();
        asked
            .into_iter()
            .map(|thread| thread.join().ok().flatten())
            .collect()
    });
    let mut seen = BTreeSet::new();
    let mut found: Vec<Interpreter> = answers
        .into_iter()
        .flatten()
        .filter(|interpreter| {
            let path = &interpreter.executable;
            seen.insert(real(path).unwrap_or_else(|_| path.clone()))
        })
        .collect();
    found.sort_by_key(Interpreter::version_key);
    found
}

/// The interpreter on `PATH` whose cache entries have this tag.
pub fn of_tag(tag: &str, directory: &Path) -> Option<PathBuf> {
    let digits = tag.trim_start_matches(|c: char| !c.is_ascii_digit());
    let version = digits
        .get(..1)
        .zip(digits.get(1..))
        .map(|(major, minor)| format!("{major}.{minor}"));
    let names = [
        version.as_ref().map(|version| format!("python{version}")),
        version.as_ref().map(|version| format!("pypy{version}")),
        Some("python3".to_owned()),
        Some("pypy3".to_owned()),
        Some("python2".to_owned()),
    ];
    let mut names = names.into_iter().flatten().map(PathBuf::from);
    names.find(|name| Interpreter::ask(name, directory).is_ok_and(|found| found.tag == tag))
}

/// What on `PATH` is an interpreter by its name: `pythonX.Y`, `python3`, `python`, `pypy3`.
fn candidates() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for directory in std::env::split_paths(&path).filter(|directory| directory.is_absolute()) {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        let mut names: Vec<OsString> = entries
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| is_interpreter(&program(name)))
            .collect();
        names.sort();
        // The first of a name on PATH hides the others.
        names.retain(|name| seen.insert(name.clone()));
        candidates.extend(names.into_iter().map(|name| directory.join(name)));
    }
    candidates
}

/// Whether a program is a Python by its name. `py` starts one on Windows.
pub(super) fn is_interpreter(name: &str) -> bool {
    ["python", "pypy", "py"].iter().any(|head| {
        let version = name.strip_prefix(head);
        version.is_some_and(|version| {
            let version = version.strip_suffix('t').unwrap_or(version);
            version.chars().all(|c| c.is_ascii_digit() || c == '.')
        })
    })
}

/// An interpreter that runs a script, and answers on lines. It is ended when this is dropped.
pub(super) struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    /// Starts `python` in `directory`. The script works on every Python since 2.7, and has `sys`.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start(python: &Path, script: &str, directory: &Path) -> Result<Self> {
        let mut command = Command::new(python);
        command
            .args(["-E", "-s", "-S", "-B", "-c"])
            .arg([ALONE, script].concat())
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PYTHON") {
                command.env_remove(name);
            }
        }
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        // Lines are read in a thread of their own, so that waiting for one can end.
        let (send, lines) = mpsc::channel();
        let stdout = BufReader::new(stdout.context("the interpreter has no standard output")?);
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            stdin: stdin.context("the interpreter has no standard input")?,
            lines,
        })
    }

    /// Asks one question, and waits for the answer.
    ///
    /// # Errors
    /// If there is none in time, or the interpreter has ended.
    pub fn ask(&mut self, line: &str) -> Result<String, RecvTimeoutError> {
        let asked = self.stdin.write_all(format!("{line}\n").as_bytes());
        asked
            .and_then(|()| self.stdin.flush())
            .map_err(|_| RecvTimeoutError::Disconnected)?;
        self.answer()
    }

    /// Waits for a line of the interpreter's.
    ///
    /// # Errors
    /// As [`Process::ask`].
    fn answer(&mut self) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(PATIENCE)
    }

    /// Why an answer was not had, in words.
    pub fn failure(error: RecvTimeoutError) -> String {
        match error {
            RecvTimeoutError::Timeout => {
                format!("its interpreter took longer than {} s", PATIENCE.as_secs())
            }
            RecvTimeoutError::Disconnected => "its interpreter ended before the answer".to_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for name in ["python", "python3", "python3.13t", "pypy3.10", "py"] {
            assert!(is_interpreter(name), "{name}");
        }
        for name in [
            "python3-config",
            "pythonw",
            "pypyt3",
            "ipython",
            "python3.12-dbg",
        ] {
            assert!(!is_interpreter(name), "{name}");
        }
    }

    #[test]
    fn what_an_interpreter_tells_comes_apart() {
        let line = |words: &[&str]| {
            let words: Vec<String> = words
                .iter()
                .map(|word| HEXLOWER.encode(word.as_bytes()))
                .collect();
            Interpreter::parse(&words.join(","))
        };
        let known = line(&["/py", "2.7.18", "cpython-27", "", "/a,b", "/c\n"]).expect("an answer");
        assert_eq!(known.prefix, None);
        assert_eq!(known.sites, [Path::new("/a,b"), Path::new("/c\n")]);
        assert!(known.writes_beside());
        assert_eq!(line(&["", "3.13.0", "cpython-313", "/p"]), None);
        assert_eq!(Interpreter::parse("no answer"), None);
    }
}
