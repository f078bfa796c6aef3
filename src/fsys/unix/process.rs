//! A child in the caller's place.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use super::own::is_ignored;

/// Runs a command in this process group and waits for it; gives its status and how long it took. INT,
/// TERM, HUP and QUIT that are sent to this process are sent on; those of the terminal reach the
/// child by themselves, since both are in the foreground. What the caller has ignored (`nohup`), the
/// child ignores too.
///
/// # Errors
/// If the command does not start.
pub fn run(command: &mut Command) -> io::Result<(u8, Duration)> {
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    let mut signals = SignalsInfo::<WithOrigin>::new(wanted)?;
    let handle = signals.handle();
    let started = Instant::now();
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
    // The number stays the child's until it is reaped, so that no signal goes to another process.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), ended));
    let took = started.elapsed();
    handle.close();
    // It has nothing to say, and the child's status counts even if it panicked.
    let _ = forwarder.join();
    Ok((status(child.wait()?), took))
}

/// What a shell calls the exit status: 128+n where a signal ended it.
fn status(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Leaves the keys that interrupt a program at the terminal to the others in the foreground.
///
/// # Errors
/// What the system call gives.
pub fn leave_keys_to_others() -> io::Result<()> {
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}
