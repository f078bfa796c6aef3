//! What a command line means to Python and to pytest. Pure.
//!
//! Only the first word decides which program it is: there is no guessing inside `sh -c`, tox or make.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::Path;

use super::interpreters::is_interpreter;

fn program(argv: &[OsString]) -> String {
    let first = argv.first().map(Path::new).and_then(Path::file_name);
    first
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Options of a Python up to its script, `-c` or `-m`, and what follows `-m`.
fn python_options(argv: &[OsString]) -> Option<(String, Option<String>)> {
    if !is_interpreter(&program(argv)) {
        return None;
    }
    let mut flags = String::new();
    let mut words = argv[1..].iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let Some(cluster) = word
            .strip_prefix('-')
            .filter(|cluster| !cluster.is_empty() && !cluster.starts_with('-'))
        else {
            break;
        };
        for (at, flag) in cluster.char_indices() {
            let rest = &cluster[at + 1..];
            match flag {
                'm' if rest.is_empty() => {
                    return Some((flags, words.next().map(|word| word.into_owned())));
                }
                'm' => return Some((flags, Some(rest.to_owned()))),
                'c' => return Some((flags, None)),
                'W' | 'X' => {
                    if rest.is_empty() {
                        words.next();
                    }
                    break;
                }
                flag => flags.push(flag),
            }
        }
    }
    Some((flags, None))
}

/// Whether the command is pytest by its first word, or a Python with `-m pytest`.
pub fn is_pytest(argv: &[OsString]) -> bool {
    if matches!(program(argv).as_str(), "pytest" | "py.test") {
        return true;
    }
    python_options(argv).is_some_and(|(_, module)| module.as_deref() == Some("pytest"))
}

/// Whether the command is a Python that ignores its environment, and so a fresh prefix.
pub fn ignores_environment(argv: &[OsString]) -> bool {
    python_options(argv).is_some_and(|(flags, _)| flags.contains(['I', 'E']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn pytest_is_known_by_its_first_word() {
        for line in [
            "pytest",
            "/venv/bin/py.test -q",
            "python -m pytest",
            "python3.11 -X dev -Im pytest -q",
            "pypy3 -mpytest",
        ] {
            assert!(is_pytest(&argv(line)), "{line}");
        }
        for line in [
            "sh -c pytest",
            "tox",
            "python x.py -m pytest",
            "make pytest",
            "python -c x -m pytest",
        ] {
            assert!(!is_pytest(&argv(line)), "{line}");
        }
    }

    #[test]
    fn isolated_pythons_are_seen() {
        for (line, expected) in [
            ("python -I x.py", true),
            ("python -bEc pass", true),
            ("python x.py -I", false),
            ("python -W I x.py", false),
            ("sh -I", false),
        ] {
            assert_eq!(ignores_environment(&argv(line)), expected, "{line}");
        }
    }
}
