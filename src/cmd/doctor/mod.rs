//! `pycgate doctor`.

use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::exit::Exit;
use crate::hooks::files::site::Site;
use crate::options::{Format, Global};
use crate::python::interpreters::all;

mod hooks;
mod interpreters;
mod repository;
mod roots;

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct Doctor {}

/// One thing that the doctor has looked at.
#[derive(Debug, serde::Serialize)]
struct Finding {
    /// What was looked at: one word.
    topic: &'static str,
    /// Whether something should be done about it.
    attention: bool,
    /// What was found and, where something should be done, what.
    text: String,
}

/// What of the roots outside the work tree a verbose gate says: no interpreter is started for it.
pub(super) fn roots_outside(root: &std::path::Path) -> Vec<String> {
    roots::look(root, &[])
        .into_iter()
        .map(|finding| finding.text)
        .collect()
}

impl Finding {
    fn fine(topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            topic,
            attention: false,
            text: text.into(),
        }
    }

    fn attention(topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            topic,
            attention: true,
            text: text.into(),
        }
    }
}

impl Doctor {
    /// Looks at everything and prints what it finds.
    ///
    /// # Errors
    /// If the current directory or the repository cannot be found.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let directory = std::env::current_dir()?;
        let (root, mut findings) = match Site::discover(&directory) {
            Ok(site) => {
                let mut findings = repository::look(&site);
                findings.extend(hooks::look(&site));
                (site.root, findings)
            }
            Err(error) => (
                directory.clone(),
                vec![Finding::attention("repository", format!("{error:#}"))],
            ),
        };
        let interpreters = all(&directory);
        findings.extend(interpreters::look(
            &interpreters,
            &root,
            &global.pycache_prefix,
        ));
        findings.extend(roots::look(&root, &interpreters));
        let needs_attention = findings.iter().any(|finding| finding.attention);
        super::print(global, &report(global, &root, &findings)?)?;
        Ok(Exit::attention_if(needs_attention))
    }
}

fn report(global: &Global, root: &Path, findings: &[Finding]) -> Result<String> {
    if global.format == Format::Json {
        let report = serde_json::json!({
            "schema": 1,
            "command": "doctor",
            "root": root.to_string_lossy(),
            "findings": findings,
        });
        return Ok(serde_json::to_string_pretty(&report)? + "\n");
    }
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.attention { '!' } else { ' ' };
        text.push_str(&format!("{mark} {:<13}{}\n", finding.topic, finding.text));
    }
    let open = findings.iter().filter(|finding| finding.attention).count();
    text.push_str(&match open {
        0 => "Nothing needs attention.\n".to_owned(),
        1 => "1 thing needs attention (marked with !).\n".to_owned(),
        open => format!("{open} things need attention (marked with !).\n"),
    });
    Ok(text)
}
