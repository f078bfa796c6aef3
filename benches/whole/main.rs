//! Whole processes, side by side: `cargo bench --bench whole`.
//!
//! Makes trees of modules with warm, settled bytecode, runs pycgate beside the programs its users
//! know, and writes `docs/benchmarks.md` and its plot. Needs git, python3 and hyperfine; valgrind,
//! fd, and PyPI (pyclean, pytest, sympy, pandas) where they are to be had. A row whose tool is
//! missing says so.
//!
//! Every figure is the median of rounds in which each command ran once, so that noise of the
//! machine falls on all of them alike.

mod measure;
mod report;
mod rows;
mod trees;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Rounds of a row: each command once in every round.
const ROUNDS: usize = 21;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--floor", directory, ..] => return rows::floor(Path::new(directory)),
        ["--test", ..] => return Ok(()),
        _ => {}
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lab = Lab {
        pycgate: PathBuf::from(env!("CARGO_BIN_EXE_pycgate")),
        directory: manifest.join("target/bench"),
        rounds: if quick { 3 } else { ROUNDS },
    };
    std::fs::create_dir_all(&lab.directory)
        .with_context(|| format!("cannot make {}", lab.directory.display()))?;
    measure::require(
        "hyperfine",
        "it is in the package registries as `hyperfine`",
    )?;
    let sizes: &[usize] = if quick {
        &[2_000]
    } else {
        &[2_000, 20_000, 100_000]
    };
    let results = rows::all(&lab, sizes)?;
    if quick {
        print!("{}", report::markdown(&results));
        return Ok(());
    }
    report::write(&results, &manifest.join("docs"))?;
    if results.iter().any(|row| row.missed()) {
        bail!("a row is above its limit: see docs/benchmarks.md");
    }
    Ok(())
}

/// Where the benchmark works and with which binary.
struct Lab {
    /// The release build under test.
    pycgate: PathBuf,
    /// Everything it makes goes here.
    directory: PathBuf,
    /// Rounds of a row.
    rounds: usize,
}
