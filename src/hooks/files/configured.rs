//! Hooks in git's configuration, which git 2.54 and newer run beside the hook files.

use anyhow::{Result, bail};
use bstr::ByteSlice as _;

use super::script::quote;
use crate::fsys::path::text;
use crate::git::Git;
use crate::hooks::event::HookEvent;

/// The first git that runs hooks from its configuration.
pub const FIRST_GIT: (u32, u32) = (2, 54);

/// Whether this git runs hooks from its configuration.
///
/// # Errors
/// Git cannot be started, or its version is too old or unknown: the message says what to do.
pub fn require_support(git: &Git) -> Result<()> {
    let found = git.version()?;
    if found.is_some_and(|version| version >= FIRST_GIT) {
        return Ok(());
    }
    let found = found.map_or("unknown".to_owned(), |(major, minor)| {
        format!("{major}.{minor}")
    });
    bail!(
        "--config needs git {}.{} or newer, and this is git {found}, which would not run such hooks; \
         install without --config, or update git",
        FIRST_GIT.0,
        FIRST_GIT.1
    )
}

fn key(event: HookEvent, variable: &str) -> String {
    format!("hook.pycgate-{}.{variable}", event.name())
}

/// The command of an event. Git appends the hook's arguments to it, and fails where a program is
/// missing: so it guards itself, like the shims.
pub fn command(event: HookEvent, program: Option<&[u8]>) -> Vec<u8> {
    let stdin = if event.reads_stdin() {
        ""
    } else {
        " </dev/null"
    };
    let mut command = b"f() { ".to_vec();
    match program {
        Some(program) => {
            command.extend_from_slice(b"p=");
            command.extend(quote(program));
            command.extend_from_slice(b"; [ -x \"$p\" ] || p=pycgate; ");
        }
        None => command.extend_from_slice(b"p=pycgate; "),
    }
    let rest = format!(
        "[ \"${{PYCGATE_SKIP:-0}}\" = 1 ] || ! command -v \"$p\" >/dev/null 2>&1 || \"$p\" hook {} \"$@\"{stdin} || :; }}; f",
        event.name()
    );
    command.extend_from_slice(rest.as_bytes());
    command
}

/// What the configuration of this repository says for a key.
fn get(git: &Git, key: &str) -> Result<Option<Vec<u8>>> {
    let answer = git.ask(&["config", "--local", "-z", "--get", key], None)?;
    Ok(answer.status.success().then(|| {
        answer
            .stdout
            .strip_suffix(b"\0")
            .unwrap_or_default()
            .to_vec()
    }))
}

/// Whether the configuration has pycgate's hook for an event.
///
/// # Errors
/// Git cannot be started.
pub fn is_installed(git: &Git, event: HookEvent) -> Result<bool> {
    Ok(get(git, &key(event, "event"))?.is_some_and(|value| value == event.name().as_bytes()))
}

/// Whether the configuration has exactly the hook that [`install`] would write.
///
/// # Errors
/// Git cannot be started.
pub fn is_current(git: &Git, event: HookEvent, program: Option<&[u8]>) -> Result<bool> {
    Ok(is_installed(git, event)?
        && get(git, &key(event, "command"))?.is_some_and(|value| value == command(event, program)))
}

/// Writes the hook of an event into the repository's configuration.
///
/// # Errors
/// Git cannot write its configuration.
pub fn install(git: &Git, event: HookEvent, program: Option<&[u8]>) -> Result<()> {
    let command = text(&command(event, program)).into_owned();
    set(git, &key(event, "command"), &command)?;
    set(git, &key(event, "event"), event.name().as_ref())
}

fn set(git: &Git, key: &str, value: &std::ffi::OsStr) -> Result<()> {
    let arguments = ["config", "--local", "--replace-all", key].map(std::ffi::OsStr::new);
    let arguments = [&arguments[..], &[value]].concat();
    let answer = git.ask(&arguments, None)?;
    if !answer.status.success() {
        bail!(
            "git cannot set {key} in this repository's configuration: {}",
            answer.stderr.to_str_lossy().trim()
        );
    }
    Ok(())
}

/// Takes the hook of an event out of the repository's configuration.
///
/// # Errors
/// Git cannot write its configuration.
pub fn uninstall(git: &Git, event: HookEvent) -> Result<()> {
    let section = format!("hook.pycgate-{}", event.name());
    git.run(&["config", "--local", "--remove-section", &section])
        .map(drop)
}
