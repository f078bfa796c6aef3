//! What installing and uninstalling would do to each hook file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::apply::Step;
use super::manager::Manager;
use super::script::{self, Kind, Role};
use crate::fsys::access;
use crate::hooks::event::HookEvent;

/// What happens to the hook of one event.
#[derive(Clone, Debug)]
pub struct Item {
    /// The event.
    pub event: HookEvent,
    /// The hook file.
    pub path: PathBuf,
    /// What happens to it.
    pub action: Action,
    /// The changes on disk that make it so.
    pub steps: Vec<Step>,
}

/// What happens to a hook file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new hook.
    Install,
    /// A block goes into the user's shell script.
    AddBlock,
    /// The user's hook is kept beside under this name and called.
    KeepBeside(PathBuf),
    /// An older block, or one that names another program, is renewed.
    Update,
    /// Everything is as it should be.
    Nothing,
    /// A manager's hook, which is left alone.
    Managed(Manager),
    /// It cannot be done; the sentence says why and what to do.
    Blocked(String),
    /// The whole file is removed.
    Remove,
    /// The block is taken out of the user's script.
    TakeBlock,
    /// The user's hook that was kept beside is put back.
    PutBack,
}

/// What lies under the name of a hook.
enum Found {
    Nothing,
    File { content: Vec<u8>, runs: bool },
    Link(PathBuf),
    Directory,
    Special,
}

fn look(path: &Path) -> Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => {
            return Err(error).with_context(|| {
                format!(
                    "cannot look at {}: the directory of the hooks must be one that can be read",
                    path.display()
                )
            });
        }
    };
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return Ok(Found::Link(fs::read_link(path).unwrap_or_default()));
    }
    if kind.is_dir() {
        return Ok(Found::Directory);
    }
    if !kind.is_file() {
        return Ok(Found::Special);
    }
    let content = fs::read(path)
        .with_context(|| format!("cannot read {}: make it readable", path.display()))?;
    Ok(Found::File {
        content,
        runs: access::may_run(&metadata),
    })
}

/// What installing does to the hook of one event. `program` is the path of pycgate that the hook
/// prefers to the one on PATH.
///
/// # Errors
/// The directory of the hooks cannot be read.
pub fn install(directory: &Path, event: HookEvent, program: Option<&[u8]>) -> Result<Item> {
    let path = directory.join(event.name());
    let (action, steps) = match look(&path)? {
        Found::Nothing => {
            let content = script::alone(event, program);
            (Action::Install, vec![create(&path, content)])
        }
        Found::File { content, runs } if script::find_block(&content).is_some() => {
            let renewed = script::renewed(&content, event, program);
            let switched_off = !runs && script::role(&content, event) != Role::Before;
            if switched_off {
                let remove = Step::Remove {
                    path: path.clone(),
                    before: content,
                };
                (Action::Update, vec![remove, create(&path, renewed)])
            } else if renewed == content {
                (Action::Nothing, Vec::new())
            } else {
                (Action::Update, vec![rewrite(&path, content, renewed)])
            }
        }
        Found::File { content, runs } => match Manager::of(&content) {
            Some(_) if is_ours(&legacy(&path)) => (Action::Nothing, Vec::new()),
            Some(manager) => (Action::Managed(manager), Vec::new()),
            None if runs && script::kind(&content) == Kind::Shell => {
                let with = script::with_block(&content, event, program);
                (Action::AddBlock, vec![rewrite(&path, content, with)])
            }
            None => keep_beside(&path, event, program)?,
        },
        Found::Link(_) if is_ours(&path) => (Action::Nothing, Vec::new()),
        Found::Link(target) => (
            Action::Blocked(through_link(&path, &target, event)),
            Vec::new(),
        ),
        Found::Directory => {
            let why = format!(
                "{} is a directory, and git runs no hook from it; move it away, or leave this event out with --events",
                path.display()
            );
            (Action::Blocked(why), Vec::new())
        }
        Found::Special => {
            let why = format!(
                "{} is not a regular file; move it away, or leave this event out with --events",
                path.display()
            );
            (Action::Blocked(why), Vec::new())
        }
    };
    Ok(Item {
        event,
        path,
        action,
        steps,
    })
}

fn keep_beside(
    path: &Path,
    event: HookEvent,
    program: Option<&[u8]>,
) -> Result<(Action, Vec<Step>)> {
    let kept = kept(path);
    if !matches!(look(&kept)?, Found::Nothing) {
        let why = format!(
            "{} would be kept as {}, which exists already; move one of them away",
            path.display(),
            kept.display()
        );
        return Ok((Action::Blocked(why), Vec::new()));
    }
    let steps = vec![
        Step::Move {
            from: path.to_owned(),
            to: kept.clone(),
        },
        create(path, script::wrapper(event, program)),
    ];
    Ok((Action::KeepBeside(kept), steps))
}

fn through_link(path: &Path, target: &Path, event: HookEvent) -> String {
    format!(
        "{} is a symlink to {}, and pycgate does not write through links; \
         put `pycgate hook {} \"$@\"` into that file yourself, replace the link by a copy of it, \
         or leave this event out with --events",
        path.display(),
        target.display(),
        event.name()
    )
}

/// What uninstalling does to the hook of one event; None where pycgate is not in it.
///
/// # Errors
/// The directory of the hooks or a hook cannot be read.
pub fn uninstall(directory: &Path, event: HookEvent) -> Result<Option<Item>> {
    let path = directory.join(event.name());
    let Found::File { content, .. } = look(&path)? else {
        return Ok(None);
    };
    if script::find_block(&content).is_none() {
        // A framework that was installed later has moved pycgate's hook aside and calls it.
        let moved = legacy(&path);
        return Ok(match look(&moved)? {
            Found::File { content, .. } if is_alone(&content, event) => Some(Item {
                event,
                path: moved.clone(),
                action: Action::Remove,
                steps: vec![Step::Remove {
                    path: moved,
                    before: content,
                }],
            }),
            _ => None,
        });
    }
    let kept = kept(&path);
    let (action, step) = match script::role(&content, event) {
        Role::Before => {
            let without = script::without_block(&content);
            (Action::TakeBlock, rewrite(&path, content, without))
        }
        Role::Wrapper if !matches!(look(&kept)?, Found::Nothing) => (
            Action::PutBack,
            Step::Move {
                from: kept,
                to: path.clone(),
            },
        ),
        Role::Alone | Role::Wrapper => (
            Action::Remove,
            Step::Remove {
                path: path.clone(),
                before: content,
            },
        ),
    };
    Ok(Some(Item {
        event,
        path,
        action,
        steps: vec![step],
    }))
}

/// Whether pycgate's hook for an event is in place in a directory, by whatever way.
pub fn is_installed(directory: &Path, event: HookEvent) -> bool {
    let path = directory.join(event.name());
    is_ours(&path) || is_ours(&legacy(&path))
}

/// The manager that has written the hook file of an event.
///
/// # Errors
/// The directory of the hooks or the hook cannot be read.
pub fn manager_of(directory: &Path, event: HookEvent) -> Result<Option<Manager>> {
    Ok(match look(&directory.join(event.name()))? {
        Found::File { content, .. } => Manager::of(&content),
        _ => None,
    })
}

/// Whether a file is a hook that runs pycgate, be it by a link to a shim.
fn is_ours(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && access::may_run(&metadata))
        && fs::read(path).is_ok_and(|content| script::find_block(&content).is_some())
}

fn is_alone(content: &[u8], event: HookEvent) -> bool {
    script::find_block(content).is_some() && script::role(content, event) == Role::Alone
}

/// Where pre-commit and prek move a hook that they find, to call it before their own.
fn legacy(path: &Path) -> PathBuf {
    with_suffix(path, ".legacy")
}

fn kept(path: &Path) -> PathBuf {
    with_suffix(path, script::KEPT_SUFFIX)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn create(path: &Path, content: Vec<u8>) -> Step {
    Step::Create {
        path: path.to_owned(),
        content,
    }
}

fn rewrite(path: &Path, before: Vec<u8>, content: Vec<u8>) -> Step {
    Step::Rewrite {
        path: path.to_owned(),
        before,
        content,
    }
}
