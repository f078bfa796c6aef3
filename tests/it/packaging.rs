//! Installed the way each of its users installs tools. Each builds the release profile: minutes,
//! so none of these is part of the normal run. `cargo test -- --ignored packaging`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::interpreter;
use crate::harness::venv::Venv;
use crate::harness::{Dir, MANIFEST, TARGET_TMP, TestCommand};

/// A directory under `target/` that keeps builds apart from the one that runs this test.
fn place(name: &str) -> PathBuf {
    Path::new(TARGET_TMP).join("packaging").join(name)
}

fn in_clone(dir: &Dir, program: PathBuf) -> TestCommand {
    dir.command(program)
        .current_dir(MANIFEST)
        .env("CARGO_TARGET_DIR", place("target"))
}

/// The installed program does its main job.
fn works(dir: &Dir, pycgate: &Path) {
    let python = interpreter::main();
    dir.write("mod.py", "V = 1\n");
    dir.import_value(python, "mod");
    let gate = dir
        .command(pycgate)
        .args(["gate", "-v", "--"])
        .arg(&python.path);
    let done = gate.args(["-c", "import mod; print(mod.V)"]).expect(0);
    assert!(
        done.stderr.contains("purged") && done.stdout.trim() == "1",
        "{}{}",
        done.stdout,
        done.stderr
    );
}

#[test]
#[ignore = "builds a wheel in the release profile"]
fn a_wheel_works_in_fresh_environments() {
    let venv = Venv::get("requirements-packaging.txt");
    let dir = Dir::new();
    let wheels = place("wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    let build = in_clone(&dir, venv.program("maturin"))
        .args(["build", "--release", "--locked", "--out"])
        .arg(&wheels);
    build.path_first(&venv.bin).ok();
    let wheel = std::fs::read_dir(&wheels)
        .expect("the wheels")
        .flatten()
        .map(|entry| entry.path())
        .next()
        .expect("a wheel");
    let mut tried = 0;
    for version in [(3, 9), (3, 13)] {
        let Some(python) = interpreter::cpython(version.0, version.1) else {
            continue;
        };
        let fresh = dir.beside(&format!("venv-{}", python.tag));
        dir.command(&python.path)
            .args(["-m", "venv"])
            .arg(&fresh)
            .ok();
        dir.command(fresh.join("bin/pip"))
            .args(["install", "-q", "--no-index"])
            .arg(&wheel)
            .ok();
        works(&dir, &fresh.join("bin/pycgate"));
        tried += 1;
    }
    assert!(tried > 0, "neither CPython 3.9 nor 3.13 is here");
}

#[test]
#[ignore = "builds in the release profile"]
fn uvx_runs_it_from_a_clone() {
    let venv = Venv::get("requirements-packaging.txt");
    let dir = Dir::new();
    let uvx =
        in_clone(&dir, venv.program("uvx")).args(["--from", MANIFEST, "pycgate", "--version"]);
    let said = uvx
        .env("UV_CACHE_DIR", dir.beside("uv"))
        .env("UV_PYTHON", &interpreter::main().path)
        .ok();
    assert_eq!(said, concat!("pycgate ", env!("CARGO_PKG_VERSION")));
}

#[test]
#[ignore = "builds in the release profile"]
fn cargo_install_works() {
    let dir = Dir::new();
    let root = place("root");
    let mut install = Command::new(env!("CARGO"));
    install
        .args([
            "install", "--quiet", "--locked", "--path", MANIFEST, "--root",
        ])
        .arg(&root);
    assert!(
        install
            .env("CARGO_TARGET_DIR", place("target"))
            .status()
            .expect("cargo starts")
            .success()
    );
    works(&dir, &root.join("bin/pycgate"));
}
