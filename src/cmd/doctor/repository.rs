//! The shape of the repository, and who reads what of it.

use std::fs;

use anyhow::{Context as _, Result};

use super::Finding;
use crate::fsys::path::from_git;
use crate::git::Repo;
use crate::hooks::files::configured::FIRST_GIT;
use crate::hooks::files::site::Site;

pub(super) fn look(site: &Site) -> Vec<Finding> {
    let mut findings = vec![version(site)];
    let format = extension(site, "extensions.refStorage").unwrap_or("files".into());
    let objects = extension(site, "extensions.objectFormat").unwrap_or("sha1".into());
    let mut shape = vec![
        format!("references in {format}"),
        format!("{objects} objects"),
    ];
    let promised = site
        .git
        .line(&["config", "--get-regexp", r"^remote\..*\.promisor$"]);
    if promised.is_ok() || extension(site, "extensions.partialClone").is_some() {
        shape.push("partial clone".into());
    }
    if site.root.join(".git").is_file() {
        shape.push("linked work tree or submodule".into());
    }
    findings.push(match Repo::discover(&site.root) {
        Ok(Some(repo)) if repo.is_libgit2() => Finding::fine(
            "repository",
            format!("{}; read by libgit2", shape.join(", ")),
        ),
        Ok(_) => Finding::fine(
            "repository",
            format!("{}; read by the git command", shape.join(", ")),
        ),
        Err(error) => Finding::attention("repository", format!("{error:#}")),
    });
    findings.push(match index(site, &objects) {
        Ok(text) => Finding::fine("index", text),
        Err(error) => Finding::attention("index", format!("{error:#}")),
    });
    findings
}

fn version(site: &Site) -> Finding {
    match site.git.line(&["version"]) {
        Ok(said) => {
            let said = String::from_utf8_lossy(&said);
            let number = said.trim_start_matches("git version ").to_owned();
            let supported = site
                .git
                .version()
                .is_ok_and(|version| version >= Some(FIRST_GIT));
            let note = if supported {
                ", which can run hooks from its configuration (`pycgate install --config`)"
            } else {
                ""
            };
            Finding::fine("git", format!("{number}{note}"))
        }
        Err(error) => Finding::attention("git", format!("{error:#}")),
    }
}

/// A variable of the repository's configuration, if it is set.
fn extension(site: &Site, key: &str) -> Option<String> {
    let value = site.git.line(&["config", "--get", key]).ok()?;
    Some(String::from_utf8_lossy(&value).into_owned())
}

fn index(site: &Site, objects: &str) -> Result<String> {
    let answer = site.git.line(&["rev-parse", "--git-path", "index"])?;
    let path = site.root.join(from_git(&answer));
    if !path.exists() {
        return Ok("none yet".to_owned());
    }
    let kind = if objects == "sha256" {
        gix_hash::Kind::Sha256
    } else {
        gix_hash::Kind::Sha1
    };
    let advice = || {
        format!(
            "cannot read {}: hooks stay silent until it is whole; `git status` says more",
            path.display()
        )
    };
    let index = gix_index::File::at(&path, kind, true, gix_index::decode::Options::default())
        .with_context(advice)?;
    let count = index.entries().len();
    let mut shape = vec![format!("version {}", index.version() as u8)];
    let noun = if count == 1 { "entry" } else { "entries" };
    shape.push(format!("{count} {noun}"));
    if index.is_sparse() {
        shape.push("sparse, with folded directories".into());
    }
    let is_split = path
        .parent()
        .and_then(|directory| fs::read_dir(directory).ok())
        .is_some_and(|names| {
            names.flatten().any(|name| {
                name.file_name()
                    .to_string_lossy()
                    .starts_with("sharedindex.")
            })
        });
    if is_split {
        shape.push("split".into());
    }
    Ok(format!("{}; read by gix-index", shape.join(", ")))
}
