//! `pycgate uninstall`.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;

use crate::cmd::install::{line, not_to_be_written, sites};
use crate::exit::Exit;
use crate::hooks::HookEvent;
use crate::hooks::files::{apply, configured, plan};
use crate::options::Global;
use crate::report::style::message;

/// Arguments of `uninstall`.
#[derive(Args, Debug)]
pub struct Uninstall {
    /// Take them out of the hooks that `core.hooksPath` names for all repositories
    #[arg(long)]
    pub global_hooks_path: bool,
    /// Take them out of all submodules that are checked out, too
    #[arg(long)]
    pub recurse_submodules: bool,
    /// Say what would be done and change nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

impl Uninstall {
    /// Takes the hooks out.
    ///
    /// # Errors
    /// If a hook or the configuration of git cannot be read or written.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let sites = sites(self.recurse_submodules)?;
        let mut text = String::new();
        let mut steps = Vec::new();
        let mut sections = Vec::new();
        for site in &sites {
            for event in HookEvent::ALL {
                if configured::is_installed(&site.git, event)? {
                    let verb = if self.dry_run {
                        "would remove"
                    } else {
                        "removed"
                    };
                    let name = event.name();
                    let root = site.root.display();
                    let _ = writeln!(
                        text,
                        "{verb} hook.pycgate-{name} from the configuration of {root}"
                    );
                    sections.push((site, event));
                }
            }
            let mut items = Vec::new();
            for event in HookEvent::ALL {
                items.extend(plan::uninstall(&site.hooks, event)?);
            }
            if items.is_empty() {
                continue;
            }
            if let Some(why) = not_to_be_written(site, self.global_hooks_path, "uninstall") {
                message(&format!("pycgate: {why}\npycgate: nothing was changed"));
                return Ok(Exit::ATTENTION);
            }
            for item in items {
                text.push_str(&line(site, &item, self.dry_run));
                steps.extend(item.steps);
            }
        }
        if !self.dry_run {
            if let Err(error) = apply::all(&steps) {
                message(&format!("pycgate: {error:#}"));
                return Ok(Exit::ATTENTION);
            }
            for (site, event) in sections {
                configured::uninstall(&site.git, event)?;
            }
        }
        if text.is_empty() {
            let _ = writeln!(text, "pycgate has no hooks in {}", sites[0].hooks.display());
        }
        super::print(global, &text)?;
        Ok(Exit::SUCCESS)
    }
}
