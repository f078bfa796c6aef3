//! A child in the caller's place.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// What a program ends with that Ctrl-C has ended (`STATUS_CONTROL_C_EXIT`).
const INTERRUPTED: i32 = 0xC000_013A_u32 as i32;

/// Runs a command and waits for it; gives its status and how long it took. Ctrl-C, Ctrl-Break and the
/// closing of the console reach the child by themselves, since it has the same console.
///
/// # Errors
/// If the command does not start.
pub fn run(command: &mut Command) -> io::Result<(u8, Duration)> {
    leave_keys_to_others()?;
    let started = Instant::now();
    let ended = command.spawn()?.wait()?;
    Ok((status(ended), started.elapsed()))
}

/// An exit status as shells on Unix have it: 128+2 where Ctrl-C has ended the child, 255 for the
/// numbers above that.
fn status(status: ExitStatus) -> u8 {
    match status.code() {
        Some(INTERRUPTED) => 130,
        Some(code) => u8::try_from(code).unwrap_or(u8::MAX),
        None => u8::MAX,
    }
}

/// Leaves the keys that interrupt a program in its console to the others that have the same one.
///
/// # Errors
/// What the system call gives.
pub fn leave_keys_to_others() -> io::Result<()> {
    match ctrlc::set_handler(|| {}) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(ctrlc::Error::System(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    }
}
