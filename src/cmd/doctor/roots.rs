//! Places outside the work tree that its programs import from, and links between the two.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::fsys::path::real;
use crate::python::interpreters::Interpreter;

const TOPIC: &str = "roots";
/// Enough to see what is going on; a tree with thousands of links has one cause, not thousands.
const SHOWN: usize = 20;

pub(super) fn look(root: &Path, interpreters: &[Interpreter]) -> Vec<Finding> {
    let root = real(root).unwrap_or_else(|_| root.to_owned());
    let mut seen = Seen::default();
    walk(&root, &root, &mut seen);
    let outside_sites = interpreters
        .iter()
        .flat_map(|interpreter| interpreter.sites.iter().cloned());
    let sites: BTreeSet<PathBuf> = seen.sites.iter().cloned().chain(outside_sites).collect();
    for site in &sites {
        path_files(site, &root, &mut seen);
    }
    for path in std::env::split_paths(&std::env::var_os("PYTHONPATH").unwrap_or_default()) {
        if path.is_absolute() && path.is_dir() && !is_below(&path, &root) {
            seen.outside.push(format!(
                "PYTHONPATH names {}, outside the work tree; add --also {}",
                path.display(),
                path.display()
            ));
        }
    }
    let more = seen.outside.len().saturating_sub(SHOWN);
    let mut findings: Vec<Finding> = seen
        .outside
        .into_iter()
        .take(SHOWN)
        .map(|text| Finding::fine(TOPIC, text))
        .collect();
    if more > 0 {
        findings.push(Finding::fine(
            TOPIC,
            format!("and {more} more links of this kind"),
        ));
    }
    findings
}

#[derive(Default)]
struct Seen {
    outside: Vec<String>,
    /// site-packages of virtual environments in the work tree.
    sites: Vec<PathBuf>,
}

fn is_below(path: &Path, root: &Path) -> bool {
    real(path).is_ok_and(|real| real.starts_with(root))
}

/// Finds symlinks that lead out of the work tree to Python's sources, and virtual environments.
fn walk(directory: &Path, root: &Path, seen: &mut Seen) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    if directory.join("pyvenv.cfg").is_file() {
        seen.sites.extend(sites_of(directory));
        return;
    }
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = entry.path();
        if kind.is_dir() {
            if entry.file_name() != ".git" && entry.file_name() != "node_modules" {
                walk(&path, root, seen);
            }
        } else if kind.is_symlink() {
            let Ok(target) = real(&path) else {
                continue;
            };
            let python = target.is_dir() || target.extension().is_some_and(|suffix| suffix == "py");
            if python && !target.starts_with(root) {
                let shown = path.strip_prefix(root).unwrap_or(&path).display();
                let place = if target.is_dir() {
                    &target
                } else {
                    target.parent().unwrap_or(&target)
                };
                seen.outside.push(format!(
                    "{shown} leads out of the work tree to {}; add --also {}",
                    target.display(),
                    place.display()
                ));
            }
        }
    }
}

/// `lib*/python*/site-packages` of a virtual environment, `Lib/site-packages` on Windows.
fn sites_of(environment: &Path) -> Vec<PathBuf> {
    let mut sites = vec![environment.join("Lib/site-packages")];
    for library in ["lib", "lib64"] {
        let Ok(versions) = fs::read_dir(environment.join(library)) else {
            continue;
        };
        sites.extend(
            versions
                .flatten()
                .map(|version| version.path().join("site-packages")),
        );
    }
    sites.retain(|site| site.is_dir());
    sites
}

/// Looks at the `.pth` files and the links of a site-packages directory. Lines that would be
/// run are not.
fn path_files(site: &Path, root: &Path, seen: &mut Seen) {
    let Ok(entries) = fs::read_dir(site) else {
        return;
    };
    let in_tree = is_below(site, root);
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            if !in_tree && is_below(&path, root) {
                seen.outside.push(format!(
                    "{} is a link into the work tree, with entries of its own; add --also {}",
                    path.display(),
                    site.display()
                ));
            }
            continue;
        }
        if path.extension().is_none_or(|suffix| suffix != "pth") {
            continue;
        }
        let Ok(content) = fs::read(&path) else {
            continue;
        };
        for line in String::from_utf8_lossy(&content).lines() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') || line.starts_with("import") {
                continue;
            }
            let named = site.join(line);
            if in_tree && named.is_dir() && !is_below(&named, root) {
                seen.outside.push(format!(
                    "{} names {}, outside the work tree; add --also {}",
                    path.strip_prefix(root).unwrap_or(&path).display(),
                    named.display(),
                    named.display()
                ));
            }
        }
    }
}
