//! Trees of modules with warm, settled bytecode in a git repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::Lab;
use crate::measure::{clean, run};

/// Modules in one package.
const PER_PACKAGE: usize = 50;

/// A committed tree of `modules` modules, all of them compiled past the margin of their sources.
/// Made once under that name and used again.
pub fn warm(lab: &Lab, name: &str, modules: usize) -> Result<PathBuf> {
    let root = lab.directory.join(name);
    if root.join(".made").exists() {
        assert_warm(lab, &root)?;
        return Ok(root);
    }
    if root.exists() {
        fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    for number in 0..modules {
        let package = root.join(package(number));
        if number % PER_PACKAGE == 0 {
            fs::create_dir_all(&package)?;
            fs::write(package.join("__init__.py"), "")?;
        }
        fs::write(root.join(module(number)), body(number, 0))?;
    }
    fs::write(root.join(".gitignore"), "__pycache__/\n.made\n")?;
    std::thread::sleep(Duration::from_millis(3500));
    run(
        &root,
        &["python3", "-m", "compileall", "-q", "-j", "2", "."],
    )?;
    run(&root, &["git", "init", "-q", "-b", "main"])?;
    run(&root, &["git", "config", "user.name", "bench"])?;
    run(
        &root,
        &["git", "config", "user.email", "bench@example.invalid"],
    )?;
    // git's own packing in the background would get in the way of ours.
    run(&root, &["git", "config", "gc.auto", "0"])?;
    run(&root, &["git", "add", "."])?;
    run(&root, &["git", "commit", "-q", "-m", "modules"])?;
    // As a clone has it: packed.
    run(&root, &["git", "gc", "-q"])?;
    run(&root, &["git", "status"])?;
    fs::write(root.join(".made"), "")?;
    assert_warm(lab, &root)?;
    Ok(root)
}

/// The package a module lies in.
pub fn package(number: usize) -> String {
    let package = number / PER_PACKAGE;
    format!("area{:02}/pkg{:03}", package / 40, package % 40)
}

/// The path of a module below the root.
pub fn module(number: usize) -> String {
    format!("{}/mod{:03}.py", package(number), number % PER_PACKAGE)
}

/// The source of a module; `edition` changes the text and not its size.
pub fn body(number: usize, edition: u8) -> String {
    format!(
        "\"\"\"Module {number}.\"\"\"\nimport math\n\nVALUE = {edition}\n\n\ndef area(radius):\n    \
         \"\"\"Area of a circle.\"\"\"\n    return math.pi * radius ** 2 + {number}\n\n\nclass Thing:\n    \
         def __init__(self, name):\n        self.name = name\n\n    def greet(self, other):\n        \
         return f\"{{self.name}} greets {{other}}\"\n"
    )
}

fn assert_warm(lab: &Lab, root: &Path) -> Result<()> {
    let output = clean(&lab.pycgate)
        .args(["gate", "--dry-run", "--format", "json"])
        .current_dir(root)
        .output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let counts = &report["counts"];
    ensure!(
        counts["racy"] == 0 && counts["stale"] == 0 && counts["scanned"].as_u64() > Some(0),
        "the tree {} is not warm: {counts}",
        root.display()
    );
    Ok(())
}
