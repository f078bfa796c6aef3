//! Which events run pycgate, and by what.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Finding;
use crate::hooks::HookEvent;
use crate::hooks::files::manager::Manager;
use crate::hooks::files::site::{Chosen, Site};
use crate::hooks::files::{configured, plan};

const TOPIC: &str = "hooks";

pub(super) fn look(site: &Site) -> Vec<Finding> {
    let mut findings = match events(site) {
        Ok(findings) => findings,
        Err(error) => vec![Finding::attention(TOPIC, format!("{error:#}"))],
    };
    if let Chosen::Everywhere(file) = &site.chosen {
        let text = format!(
            "{file} sets core.hooksPath to {} for all repositories",
            site.hooks.display()
        );
        findings.push(Finding::fine(TOPIC, text));
    }
    findings.extend(submodules(site).unwrap_or_default());
    if std::env::var_os("PYCGATE_SKIP").is_some_and(|value| !value.is_empty() && value != "0") {
        findings.push(Finding::attention(
            TOPIC,
            "PYCGATE_SKIP is set here and turns the hooks off; unset it",
        ));
    }
    findings
}

fn events(site: &Site) -> Result<Vec<Finding>> {
    let mut installed = Vec::new();
    let mut configured = Vec::new();
    let mut by_manager = ByManager::new();
    let mut untold = ByManager::new();
    let mut missing = Vec::new();
    for event in HookEvent::ALL {
        if plan::is_installed(&site.hooks, event) {
            installed.push(event);
        } else if configured::is_installed(&site.git, event)? {
            configured.push(event);
        } else if let Some(manager) = plan::manager_of(&site.hooks, event)? {
            let group = if is_told_of_us(manager, &site.root) {
                &mut by_manager
            } else {
                &mut untold
            };
            add(group, manager, event);
        } else {
            missing.push(event);
        }
    }
    let mut findings = Vec::new();
    if !installed.is_empty() {
        let place = site.hooks.strip_prefix(&site.root).unwrap_or(&site.hooks);
        let text = format!("{} in {}", names(&installed), place.display());
        findings.push(Finding::fine(TOPIC, text));
    }
    if !configured.is_empty() {
        let text = format!("{} in git's configuration", names(&configured));
        findings.push(match configured::require_support(&site.git) {
            Ok(()) => Finding::fine(TOPIC, text),
            Err(_) => Finding::attention(
                TOPIC,
                format!("{text}, which this git does not run; update git, or `pycgate install`"),
            ),
        });
    }
    for (manager, events) in &by_manager {
        let text = format!("{} by {}", names(events), manager.name());
        findings.push(Finding::fine(TOPIC, text));
    }
    for (manager, events) in &untold {
        let text = format!(
            "{} by {}, which does not run pycgate; `pycgate install` prints what to write into its configuration",
            names(events),
            manager.name()
        );
        findings.push(Finding::attention(TOPIC, text));
    }
    if !missing.is_empty() {
        findings.push(Finding::attention(TOPIC, advice(&missing, &by_manager)));
    }
    Ok(findings)
}

type ByManager = Vec<(Manager, Vec<HookEvent>)>;

fn add(group: &mut ByManager, manager: Manager, event: HookEvent) {
    match group.iter_mut().find(|(known, _)| *known == manager) {
        Some((_, events)) => events.push(event),
        None => group.push((manager, vec![event])),
    }
}

fn advice(missing: &[HookEvent], by_manager: &ByManager) -> String {
    let framework = by_manager
        .iter()
        .map(|(manager, _)| *manager)
        .find(|manager| matches!(manager, Manager::PreCommit | Manager::Prek));
    let stages: Vec<HookEvent> = missing
        .iter()
        .copied()
        .filter(|event| event.is_framework_stage())
        .collect();
    let installing = if missing.len() == HookEvent::ALL.len() {
        "run `pycgate install`".to_owned()
    } else {
        format!(
            "run `pycgate install --events {}`",
            names(missing).replace(", ", ",")
        )
    };
    match framework {
        Some(manager) if !stages.is_empty() => format!(
            "missing: {}; {installing}, or set default_install_hook_types: [{}] in \
             .pre-commit-config.yaml and run `{} install` again",
            names(missing),
            names(
                &HookEvent::ALL
                    .into_iter()
                    .filter(|event| event.is_framework_stage())
                    .collect::<Vec<_>>()
            ),
            manager.name()
        ),
        _ => format!("missing: {}; {installing}", names(missing)),
    }
}

fn names(events: &[HookEvent]) -> String {
    let names: Vec<&str> = events.iter().map(|event| event.name()).collect();
    names.join(", ")
}

/// Whether a manager's configuration mentions pycgate; it is not read any closer.
fn is_told_of_us(manager: Manager, root: &Path) -> bool {
    let mentions = |path: &Path| {
        fs::read(path).is_ok_and(|content| String::from_utf8_lossy(&content).contains("pycgate"))
    };
    let names: &[&str] = match manager {
        Manager::PreCommit => &[".pre-commit-config.yaml"],
        Manager::Prek => &[
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "prek.toml",
        ],
        Manager::Lefthook => &[
            "lefthook.yml",
            ".lefthook.yml",
            "lefthook.yaml",
            ".lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            ".config/lefthook.yml",
            "lefthook-local.yml",
        ],
        Manager::Husky => {
            let husky = fs::read_dir(root.join(".husky"));
            return husky
                .is_ok_and(|entries| entries.flatten().any(|entry| mentions(&entry.path())));
        }
    };
    names.iter().any(|name| mentions(&root.join(name)))
}

fn submodules(site: &Site) -> Result<Vec<Finding>> {
    let mut without = Vec::new();
    for path in site.submodules()? {
        let inner = Site::of_submodule(&path)?;
        let mut has_any = false;
        for event in HookEvent::ALL {
            has_any |= plan::is_installed(&inner.hooks, event)
                || configured::is_installed(&inner.git, event)?;
        }
        if !has_any {
            let name = path.strip_prefix(&site.root).unwrap_or(&path);
            without.push(name.display().to_string());
        }
    }
    if without.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!(
        "without pycgate in submodules: {}; run `pycgate install --recurse-submodules`",
        without.join(", ")
    );
    Ok(vec![Finding::attention(TOPIC, text)])
}
