//! Interpreters and the variables that steer their bytecode.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Finding;

const TOPIC: &str = "python";

/// An interpreter that starts.
#[derive(Debug)]
pub(super) struct Interpreter {
    /// The file that it says it is.
    pub executable: PathBuf,
    /// As in `3.11.7`.
    pub version: String,
    /// As in `cpython-311`; empty before 3.3.
    pub tag: String,
    /// Where it says its bytecode goes, if not into `__pycache__`.
    pub prefix: String,
    /// Its site-packages directories, the user's own included.
    pub sites: Vec<PathBuf>,
}

/// Nothing of the environment is imported to learn this (-I, -S), and nothing is written (-B).
const QUESTION: &str = "
import sys
def say(*words): sys.stdout.write('\\0'.join(words))
tag = getattr(getattr(sys, 'implementation', None), 'cache_tag', '') or ''
prefix = getattr(sys, 'pycache_prefix', None) or ''
import sysconfig, site
paths = sysconfig.get_paths()
sites = [paths['purelib'], paths['platlib'], site.getusersitepackages()]
say(sys.executable, '.'.join(map(str, sys.version_info[:3])), tag, prefix, *sites)
";

/// The interpreters on PATH: `pythonX.Y`, `python3`, `python`, `pypy3`. One that does not start
/// counts as absent.
pub(super) fn interpreters() -> Vec<Interpreter> {
    let mut seen = BTreeSet::new();
    let answers: Vec<Option<Interpreter>> = std::thread::scope(|scope| {
        let questions: Vec<_> = candidates()
            .into_iter()
            .map(|path| scope.spawn(move || ask(&path)))
            .collect();
        questions
            .into_iter()
            .map(|question| question.join().ok().flatten())
            .collect()
    });
    let mut found: Vec<Interpreter> = answers
        .into_iter()
        .flatten()
        .filter(|interpreter| seen.insert(real(&interpreter.executable)))
        .collect();
    found.sort_by_key(|interpreter| version_key(&interpreter.version));
    found
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn version_key(version: &str) -> Vec<u32> {
    version
        .split('.')
        .filter_map(|part| part.parse().ok())
        .collect()
}

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
            .filter(|name| is_interpreter(&name.to_string_lossy()))
            .collect();
        names.sort();
        // The first of a name on PATH hides the others.
        names.retain(|name| seen.insert(name.clone()));
        candidates.extend(names.into_iter().map(|name| directory.join(name)));
    }
    candidates
}

fn is_interpreter(name: &str) -> bool {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let Some(version) = name
        .strip_prefix("python")
        .or_else(|| name.strip_prefix("pypy"))
    else {
        return false;
    };
    version
        .chars()
        .all(|character| character.is_ascii_digit() || character == '.')
}

fn ask(path: &Path) -> Option<Interpreter> {
    let run = |flags: &[&str]| {
        Command::new(path)
            .args(flags)
            .args(["-S", "-B", "-c", QUESTION])
            .stdin(Stdio::null())
            .output()
            .ok()
    };
    let mut output = run(&["-I"])?;
    if output.status.code() == Some(2) {
        // Python 2 does not know -I.
        output = run(&["-E", "-s"])?;
    }
    if !output.status.success() {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let mut fields = said.split('\0').map(str::to_owned);
    Some(Interpreter {
        executable: PathBuf::from(fields.next().filter(|field| !field.is_empty())?),
        version: fields.next()?,
        tag: fields.next()?,
        prefix: fields.next()?,
        sites: fields.map(PathBuf::from).collect(),
    })
}

pub(super) fn look(
    interpreters: &[Interpreter],
    root: &Path,
    prefixes: &[PathBuf],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for interpreter in interpreters {
        let tag = if interpreter.tag.is_empty() {
            "bytecode beside the sources"
        } else {
            &interpreter.tag
        };
        let text = format!(
            "{} ({tag}) {}",
            interpreter.version,
            interpreter.executable.display()
        );
        findings.push(Finding::fine(TOPIC, text));
        if !interpreter.prefix.is_empty() {
            let text = format!(
                "{} keeps its bytecode in {} by itself; name it with --pycache-prefix",
                interpreter.executable.display(),
                interpreter.prefix
            );
            findings.push(Finding::fine("prefix", text));
        }
    }
    if interpreters.is_empty() {
        findings.push(Finding::fine(TOPIC, "no interpreter on PATH starts"));
    }
    let prefix = std::env::var_os("PYTHONPYCACHEPREFIX").filter(|value| !value.is_empty());
    if let Some(prefix) = &prefix {
        let path = Path::new(prefix);
        let text = format!("PYTHONPYCACHEPREFIX={}", path.display());
        findings.push(if path.is_relative() {
            Finding::attention(
                "prefix",
                format!("{text} is relative: each program has its own, wherever it is started; make it absolute"),
            )
        } else {
            Finding::fine("prefix", format!("{text}: entries there are judged as well"))
        });
    }
    for prefix in prefixes {
        let path = root.join(prefix);
        findings.push(if path.is_dir() {
            Finding::fine(
                "prefix",
                format!("{}: entries there are judged as well", path.display()),
            )
        } else {
            Finding::attention("prefix", format!("{} is not a directory", path.display()))
        });
    }
    if std::env::var_os("PYTHONDONTWRITEBYTECODE").is_some_and(|value| !value.is_empty()) {
        findings.push(Finding::fine(
            "environment",
            "PYTHONDONTWRITEBYTECODE is set, which does not protect: what is there already is still read",
        ));
    }
    findings
}
