//! The sweep: the caller's command, as a child in the caller's place.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

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

/// Runs a command with the caller's streams, environment, directory and process group, and waits
/// for it. INT, TERM, HUP and QUIT that are sent to the gate are sent on to the child; those of the
/// terminal reach it by themselves, since both are in the foreground. `prefix` becomes its
/// `PYTHONPYCACHEPREFIX`.
///
/// # Errors
/// If the command does not start.
pub fn run(argv: &[OsString], prefix: Option<&Path>) -> io::Result<Sweep> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    let mut signals = SignalsInfo::<WithOrigin>::new(wanted)?;
    let handle = signals.handle();
    let started = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(prefix) = prefix {
        command.env("PYTHONPYCACHEPREFIX", prefix);
    }
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let forwarder = std::thread::spawn(move || {
        for origin in &mut signals {
            if origin.cause != Cause::Kernel
                && let Some(signal) = Signal::from_named_raw(origin.signal)
            {
                // The child may have ended in the meantime.
                let _ = kill_process(pid, signal);
            }
        }
    });
    let status = child.wait();
    let took = started.elapsed();
    handle.close();
    // It has nothing to say, and the child's status counts even if it panicked.
    let _ = forwarder.join();
    let status = status?;
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Sweep {
        argv: argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        status: u8::try_from(code).unwrap_or(u8::MAX),
        took,
    })
}

/// Whether the caller has the signal ignored (`nohup`): the child is to have it ignored too.
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
