//! Interpreters and the variables that steer their bytecode.

use std::path::{Path, PathBuf};

use super::Finding;
use crate::python::interpreters::Interpreter;

const TOPIC: &str = "python";

pub(super) fn look(
    interpreters: &[Interpreter],
    root: &Path,
    prefixes: &[PathBuf],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for interpreter in interpreters {
        let tag = if interpreter.writes_beside() {
            "bytecode beside the sources"
        } else {
            &interpreter.tag
        };
        let text = format!(
            "{} ({tag}) {}",
            interpreter.version,
            interpreter.executable.display()
        );
        findings.push(Finding::fine(TOPIC, text));
        if let Some(prefix) = &interpreter.prefix {
            let text = format!(
                "{} keeps its bytecode in {} by itself; name it with --pycache-prefix",
                interpreter.executable.display(),
                prefix.display()
            );
            findings.push(Finding::fine("prefix", text));
        }
    }
    if interpreters.is_empty() {
        findings.push(Finding::fine(TOPIC, "no interpreter on PATH starts"));
    }
    let prefix = std::env::var_os("PYTHONPYCACHEPREFIX").filter(|value| !value.is_empty());
    if let Some(prefix) = &prefix {
        let path = Path::new(prefix);
        let text = format!("PYTHONPYCACHEPREFIX={}", path.display());
        findings.push(if path.is_relative() {
            Finding::attention(
                "prefix",
                format!("{text} is relative: each program has its own, wherever it is started; make it absolute"),
            )
        } else {
            Finding::fine("prefix", format!("{text}: entries there are judged as well"))
        });
    }
    for prefix in prefixes {
        let path = root.join(prefix);
        findings.push(if path.is_dir() {
            Finding::fine(
                "prefix",
                format!("{}: entries there are judged as well", path.display()),
            )
        } else {
            Finding::attention("prefix", format!("{} is not a directory", path.display()))
        });
    }
    if std::env::var_os("PYTHONDONTWRITEBYTECODE").is_some_and(|value| !value.is_empty()) {
        findings.push(Finding::fine(
            "environment",
            "PYTHONDONTWRITEBYTECODE is set, which does not protect: what is there already is still read",
        ));
    }
    findings
}
