//! Programs from PyPI, for the tests that need the real thing.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::command::clean;
use super::interpreter::{self, Interpreter};
use super::{MANIFEST, TARGET_TMP};

/// A virtual environment under `target/tmp/venvs`, made once for each interpreter and each
/// content of its requirements file, and shared by all tests of all processes.
#[derive(Clone, Debug)]
pub struct Venv {
    /// The directory with its programs.
    pub bin: PathBuf,
    /// The environment's own interpreter.
    pub python: Interpreter,
}

impl Venv {
    /// The environment with what `tests/FILE` pins, on the main interpreter.
    pub fn get(file: &str) -> Self {
        Self::on(interpreter::main(), file)
    }

    /// The same on another interpreter.
    ///
    /// # Panics
    /// With pip's words, where the environment cannot be made.
    pub fn on(interpreter: &Interpreter, file: &str) -> Self {
        let pins = Path::new(MANIFEST).join("tests").join(file);
        let content = fs::read_to_string(&pins)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", pins.display()));
        let mut hasher = DefaultHasher::new();
        (&content, &interpreter.path).hash(&mut hasher);
        let name = format!(
            "{}-{}-{:016x}",
            file.trim_start_matches("requirements-")
                .trim_end_matches(".txt"),
            interpreter.tag,
            hasher.finish()
        );
        let base = Path::new(TARGET_TMP).join("venvs");
        fs::create_dir_all(&base).expect("a directory under target/");
        let place = base.join(&name);
        let lock = File::create(base.join(format!("{name}.lock"))).expect("a lock file");
        lock.lock().expect("the lock");
        let ready = place.join("ready");
        if !ready.exists() {
            super::announce(&format!("installing {file} for {} ...", interpreter.tag));
            let _ = fs::remove_dir_all(&place);
            run(Command::new(&interpreter.path)
                .args(["-m", "venv"])
                .arg(&place));
            run(Command::new(place.join("bin/python"))
                .args(["-m", "pip", "install", "-q", "--disable-pip-version-check"])
                .arg("-r")
                .arg(&pins));
            fs::write(&ready, "").expect("the mark");
        }
        let bin = place.join("bin");
        Self {
            python: Interpreter {
                path: bin.join("python"),
                ..interpreter.clone()
            },
            bin,
        }
    }

    /// A program of this environment.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}

/// pip is to see the caller's own settings (index, certificates), but no `PYTHON*`.
fn run(command: &mut Command) {
    clean(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed; the tests need it:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
