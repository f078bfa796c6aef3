//! What a command line means to Python and to pytest, through launchers such as `env` and `uv run`. Pure.
//!
//! What another program makes of its arguments (`sh -c`, tox, make) is not guessed.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use super::interpreters::is_interpreter;
use crate::fsys::path::program;

/// What is known of a command by its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Whether it runs pytest.
    pub is_pytest: bool,
    /// Whether it starts a Python that does not see the variables of its caller that steer Python.
    pub ignores_environment: bool,
    /// Which of its words sets `PYTHONPATH`, as `env` takes it.
    pub python_path: Option<usize>,
}

/// Options of a launcher that take the next word as their value.
const OF_ENV: &[&str] = &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"];
const OF_UV: &[&str] = &[
    "-C",
    "-P",
    "-f",
    "-i",
    "-p",
    "-w",
    "--add-data",
    "--allow-insecure-host",
    "--cache-dir",
    "--color",
    "--config-file",
    "--config-setting",
    "--default-index",
    "--directory",
    "--env-file",
    "--exclude-newer",
    "--extra",
    "--extra-index-url",
    "--find-links",
    "--fork-strategy",
    "--group",
    "--index",
    "--index-strategy",
    "--index-url",
    "--keyring-provider",
    "--link-mode",
    "--no-binary-package",
    "--no-build-isolation-package",
    "--no-build-package",
    "--no-extra",
    "--no-group",
    "--only-group",
    "--package",
    "--prerelease",
    "--project",
    "--python",
    "--python-platform",
    "--refresh-package",
    "--reinstall-package",
    "--resolution",
    "--upgrade-package",
    "--with",
    "--with-editable",
    "--with-requirements",
];
const OF_POETRY: &[&str] = &["-C", "--directory", "-P", "--project"];
const OF_COVERAGE: &[&str] = &[
    "--concurrency",
    "--context",
    "--data-file",
    "--debug",
    "--include",
    "--omit",
    "--rcfile",
    "--source",
    "--save-signal",
];

impl CommandLine {
    /// Looks at the words of a command.
    pub fn of(argv: &[OsString]) -> Self {
        let words: Vec<Cow<'_, str>> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let mut command = Self::default();
        command.program(&words, 0);
        command
    }

    fn program(&mut self, words: &[Cow<'_, str>], at: usize) {
        let Some(word) = words.get(at) else { return };
        match program(OsStr::new(&**word)).as_str() {
            "pytest" | "py.test" => self.is_pytest = true,
            "env" => self.env(words, at + 1),
            "uv" => self.runner(words, at + 1, OF_UV, &["-m", "--module"]),
            "poetry" => self.runner(words, at + 1, OF_POETRY, &[]),
            "coverage" => self.runner(words, at + 1, OF_COVERAGE, &["-m", "--module"]),
            name if is_interpreter(name) => self.python(words, at + 1),
            _ => {}
        }
    }

    fn module(&mut self, words: &[Cow<'_, str>], at: usize) {
        match words.get(at).map(AsRef::as_ref) {
            Some("pytest") => self.is_pytest = true,
            Some("coverage") => self.runner(words, at + 1, OF_COVERAGE, &["-m", "--module"]),
            _ => {}
        }
    }

    fn env(&mut self, words: &[Cow<'_, str>], mut at: usize) {
        while let Some(word) = words.get(at) {
            if let Some(option) = word.strip_prefix('-') {
                // `-` alone is `-i`.
                self.ignores_environment |= matches!(option, "" | "-ignore-environment")
                    || !option.starts_with('-') && option.contains('i');
                at += 1 + usize::from(OF_ENV.contains(&&**word));
            } else if word.contains('=') {
                if word.starts_with("PYTHONPATH=") {
                    self.python_path = Some(at);
                }
                at += 1;
            } else {
                return self.program(words, at);
            }
        }
    }

    /// A program that runs another behind its word `run`. `valued` are options with a value; behind one
    /// of `module` there stands a module's name.
    fn runner(&mut self, words: &[Cow<'_, str>], mut at: usize, valued: &[&str], module: &[&str]) {
        let mut running = false;
        while let Some(word) = words.get(at) {
            let word = word.as_ref();
            if running && word == "--" {
                return self.program(words, at + 1);
            } else if running && module.contains(&word) {
                return self.module(words, at + 1);
            } else if word.starts_with('-') {
                at += 1 + usize::from(valued.contains(&word));
            } else if running {
                return self.program(words, at);
            } else if word == "run" {
                running = true;
                at += 1;
            } else {
                return;
            }
        }
    }

    /// Options of a Python up to its script, `-c` or `-m`.
    fn python(&mut self, words: &[Cow<'_, str>], mut at: usize) {
        while let Some(word) = words.get(at) {
            let Some(cluster) = word
                .strip_prefix('-')
                .filter(|cluster| !cluster.is_empty() && !cluster.starts_with('-'))
            else {
                return;
            };
            at += 1;
            for (place, flag) in cluster.char_indices() {
                let rest = &cluster[place + flag.len_utf8()..];
                match flag {
                    'm' if rest.is_empty() => return self.module(words, at),
                    'm' => {
                        let rest = [&words[..at], &[rest.into()], &words[at..]].concat();
                        return self.module(&rest, at);
                    }
                    'c' => return,
                    'W' | 'X' => {
                        at += usize::from(rest.is_empty());
                        break;
                    }
                    flag => self.ignores_environment |= matches!(flag, 'I' | 'E'),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> CommandLine {
        CommandLine::of(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn pytest_is_known_through_launchers() {
        for line in [
            "pytest",
            "/venv/bin/py.test -q",
            "python -m pytest",
            "py -3 -m pytest",
            "Scripts/PyTest.EXE -q",
            "python3.11 -X dev -Im pytest -q",
            "pypy3 -mpytest",
            "env pytest",
            "/usr/bin/env -u HOME -C sub A=1 B=2 python -m pytest -q",
            "uv run pytest -q",
            "uv run --with pytest --python 3.12 -- pytest",
            "uv --project sub run -m pytest",
            "poetry run pytest",
            "poetry -C sub run python -m pytest",
            "coverage run -m pytest",
            "coverage run --source src --branch -m pytest -q",
            "python -m coverage run -m pytest",
            "uv run coverage run -m pytest",
            "env A=1 uv run python -mcoverage run -m pytest",
        ] {
            assert!(command(line).is_pytest, "{line}");
        }
        for line in [
            "sh -c pytest",
            "tox",
            "python x.py -m pytest",
            "make pytest",
            "python -c x -m pytest",
            "uv add pytest",
            "uv run tests.py pytest",
            "coverage report -m pytest",
            "coverage run tests.py -m pytest",
            "env",
            "env A=1",
        ] {
            assert!(!command(line).is_pytest, "{line}");
        }
    }

    #[test]
    fn pythons_that_see_no_variables_are_known() {
        for (line, expected) in [
            ("python -I x.py", true),
            ("python -bEc pass", true),
            ("python x.py -I", false),
            ("python -W I x.py", false),
            ("sh -I", false),
            ("env -i python x.py", true),
            ("env - pytest", true),
            ("env --ignore-environment A=1 pytest", true),
            ("env -u I pytest", false),
            ("uv run python -I x.py", true),
        ] {
            assert_eq!(command(line).ignores_environment, expected, "{line}");
        }
    }

    #[test]
    fn a_path_that_env_sets_is_found() {
        assert_eq!(
            command("env A=1 PYTHONPATH=src pytest").python_path,
            Some(2)
        );
        assert_eq!(command("pytest PYTHONPATH=src").python_path, None);
    }
}
