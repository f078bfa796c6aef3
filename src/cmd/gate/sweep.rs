//! The sweep: the caller's command, as a child in the caller's place.

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::Duration;

use crate::fsys::process;

/// What became of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Its words.
    pub argv: Vec<String>,
    /// Its exit status; 128+n where a signal ended it.
    pub status: u8,
    /// How long it took.
    pub took: Duration,
}

/// Runs a command with the caller's streams, environment, directory and process group, as
/// [`process::run`] does, and waits for it. `environment` is added to the caller's.
///
/// # Errors
/// If the command does not start.
pub fn run(argv: &[OsString], environment: &[(&str, OsString)]) -> io::Result<Sweep> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)));
    let (status, took) = process::run(&mut command)?;
    Ok(Sweep {
        argv: argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        status,
        took,
    })
}
