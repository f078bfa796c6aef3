//! `pycgate install`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::exit::Exit;
use crate::fsys::path::{real, to_git};
use crate::hooks::HookEvent;
use crate::hooks::files::manager::Manager;
use crate::hooks::files::plan::{self, Action, Item};
use crate::hooks::files::site::{Chosen, Site};
use crate::hooks::files::{apply, configured};
use crate::options::Global;
use crate::report::style::message;

/// Arguments of `install`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  pycgate install                               every event
  pycgate install --events post-checkout,post-merge
  pycgate install --recurse-submodules --dry-run
  pycgate uninstall                             put everything back as it was

Existing hooks keep working: a shell script gets one marked block after its first line, any other
program is kept beside and called.")]
pub struct Install {
    /// Install only these events [default: all of them]
    #[arg(long, value_name = "EVENTS", value_enum, value_delimiter = ',')]
    pub events: Vec<HookEvent>,
    /// Install in git's configuration instead of hook files (git 2.54 or newer)
    // The global option of the same name takes a file. Clap hands the value of one to the other,
    // so both have the same type, and the flag's value is one that no file has.
    #[arg(long, id = "config", num_args = 0, default_missing_value = FLAG)]
    pub config: Option<PathBuf>,
    /// Write to the hooks that `core.hooksPath` names for all repositories
    #[arg(long)]
    pub global_hooks_path: bool,
    /// Install in all submodules that are checked out, too
    #[arg(long)]
    pub recurse_submodules: bool,
    /// Say what would be done and change nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

const FLAG: &str = "/dev/null/git-config";

impl Install {
    /// Puts the hooks in.
    ///
    /// # Errors
    /// If a hook or the configuration of git cannot be read or written.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let sites = sites(self.recurse_submodules)?;
        let events = if self.events.is_empty() {
            HookEvent::ALL.to_vec()
        } else {
            // Git's order, each once, whatever order they were given in.
            let asked = |event: &HookEvent| self.events.contains(event);
            HookEvent::ALL.into_iter().filter(asked).collect()
        };
        let program = program();
        let text = if self.config.as_deref() == Some(Path::new(FLAG)) {
            self.write_configuration(&sites, &events, program.as_deref())?
        } else {
            match self.write_files(&sites, &events, program.as_deref())? {
                Some(text) => text,
                None => return Ok(Exit::ATTENTION),
            }
        };
        super::print(global, &text)?;
        Ok(Exit::SUCCESS)
    }
}

impl Install {
    /// None where hooks that are in the way keep it from being done; stderr then says which.
    fn write_files(
        &self,
        sites: &[Site],
        events: &[HookEvent],
        program: Option<&[u8]>,
    ) -> Result<Option<String>> {
        let mut plans = Vec::new();
        let mut blocked = Vec::new();
        for site in sites {
            if let Some(why) = not_to_be_written(site, self.global_hooks_path, "install") {
                blocked.push(why);
                continue;
            }
            let mut items = Vec::new();
            for &event in events {
                let item = plan::install(&site.hooks, event, program)?;
                if let Action::Blocked(why) = &item.action {
                    blocked.push(why.clone());
                }
                items.push(item);
            }
            plans.push((site, items));
        }
        if !blocked.is_empty() {
            for why in blocked {
                message(&format!("pycgate: {why}"));
            }
            message("pycgate: nothing was changed");
            return Ok(None);
        }
        if !self.dry_run {
            let mut steps = Vec::new();
            for (site, items) in &plans {
                let changes = items.iter().flat_map(|item| item.steps.iter().cloned());
                steps.push(apply::Step::MakeDirectory(site.hooks.clone()));
                steps.extend(changes);
            }
            if let Err(error) = apply::all(&steps) {
                message(&format!("pycgate: {error:#}"));
                return Ok(None);
            }
        }
        let mut text = String::new();
        for (site, items) in &plans {
            describe(&mut text, site, items, self.dry_run);
        }
        if !self.recurse_submodules {
            mention_submodules(&mut text, &sites[0]);
        }
        Ok(Some(text))
    }

    fn write_configuration(
        &self,
        sites: &[Site],
        events: &[HookEvent],
        program: Option<&[u8]>,
    ) -> Result<String> {
        let mut text = String::new();
        for site in sites {
            configured::require_support(&site.git)?;
            for &event in events {
                let current = configured::is_current(&site.git, event, program)?;
                if !current && !self.dry_run {
                    configured::install(&site.git, event, program)?;
                }
                let verb = match (current, self.dry_run) {
                    (true, _) => "unchanged",
                    (false, true) => "would add",
                    (false, false) => "added",
                };
                let root = site.root.display();
                let name = event.name();
                let _ = writeln!(
                    text,
                    "{verb:<12}hook.pycgate-{name} in the configuration of {root}"
                );
            }
        }
        Ok(text)
    }
}

/// The repository around the current directory, and its submodules' where asked for.
pub(super) fn sites(recurse: bool) -> Result<Vec<Site>> {
    let mut sites = vec![Site::discover(Path::new("."))?];
    let mut next = 0;
    while recurse && next < sites.len() {
        for path in sites[next].submodules()? {
            let site = Site::of_submodule(&path)
                .with_context(|| format!("cannot open the submodule in {}", path.display()))?;
            sites.push(site);
        }
        next += 1;
    }
    let mut seen = BTreeSet::new();
    sites.retain(|site| seen.insert(site.hooks.clone()));
    Ok(sites)
}

/// Why the hooks of a repository are not for this command to change.
pub(super) fn not_to_be_written(site: &Site, global_allowed: bool, verb: &str) -> Option<String> {
    let directory = site.hooks.display();
    if let Chosen::Everywhere(file) = &site.chosen
        && !global_allowed
    {
        return Some(format!(
            "{file} sets core.hooksPath to {directory} for all repositories; \
             {verb} there with --global-hooks-path, or give this repository its own hooks first: \
             git -C {} config core.hooksPath .git/hooks",
            site.root.display()
        ));
    }
    let exists = site.hooks.symlink_metadata().is_ok();
    if exists && !site.hooks.is_dir() {
        return Some(format!(
            "{directory} is where git looks for hooks, and it is not a directory; \
             move it away, or set core.hooksPath to a directory"
        ));
    }
    None
}

/// The path that hooks prefer to whatever pycgate is on PATH: they also run from editors and
/// desktop programs whose PATH is shorter. As it was found on PATH, because that one survives
/// an update of pycgate and a resolved link may not.
fn program() -> Option<Vec<u8>> {
    let running = std::env::current_exe().ok()?;
    let name = running.file_name()?;
    let own = real(&running).ok()?;
    let on_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|candidate| real(candidate).is_ok_and(|found| found == own))
    });
    Some(to_git(&on_path.unwrap_or(running)).to_vec())
}

fn describe(text: &mut String, site: &Site, items: &[Item], dry_run: bool) {
    if let Chosen::Everywhere(_) = site.chosen {
        let _ = writeln!(
            text,
            "Hooks for all repositories, in {}:",
            site.hooks.display()
        );
    }
    for item in items {
        text.push_str(&line(site, item, dry_run));
    }
    let mut managers: Vec<Manager> = Vec::new();
    for item in items {
        if let Action::Managed(manager) = item.action
            && !managers.contains(&manager)
        {
            managers.push(manager);
        }
    }
    for manager in managers {
        let events: Vec<HookEvent> = items
            .iter()
            .filter(|item| item.action == Action::Managed(manager))
            .map(|item| item.event)
            .collect();
        let name = manager.name();
        let _ = write!(
            text,
            "\n{name} manages the hooks that were left alone. To have it run pycgate:\n{}",
            manager.snippet(&events)
        );
    }
}

/// One line of the report of `install` and `uninstall`.
pub(super) fn line(site: &Site, item: &Item, dry_run: bool) -> String {
    let (done, would) = match &item.action {
        Action::Install => ("installed", "would install"),
        Action::AddBlock => ("added to", "would add to"),
        Action::KeepBeside(_) => ("installed", "would install"),
        Action::Update => ("updated", "would update"),
        Action::Nothing => ("unchanged", "unchanged"),
        Action::Managed(_) | Action::Blocked(_) => ("left alone", "left alone"),
        Action::Remove => ("removed", "would remove"),
        Action::TakeBlock => ("taken out of", "would take out of"),
        Action::PutBack => ("put back", "would put back"),
    };
    let (verb, width) = if dry_run { (would, 19) } else { (done, 14) };
    let path = item.path.strip_prefix(&site.root).unwrap_or(&item.path);
    let note = match &item.action {
        Action::KeepBeside(kept) => {
            let kept = kept.file_name().unwrap_or_default().to_string_lossy();
            format!(" (your hook is kept beside as {kept}, and called)")
        }
        Action::Managed(manager) => format!(" (written by {})", manager.name()),
        _ => String::new(),
    };
    format!("{verb:<width$}{}{note}\n", path.display())
}

fn mention_submodules(text: &mut String, site: &Site) {
    // An index that cannot be read keeps nobody from having hooks.
    let count = site.submodules().map_or(0, |paths| paths.len());
    if count > 0 {
        let (noun, verb) = if count == 1 {
            ("submodule", "has")
        } else {
            ("submodules", "have")
        };
        let _ = writeln!(
            text,
            "{count} {noun} {verb} hooks of their own: add --recurse-submodules to install there too"
        );
    }
}
