//! What the documents show is what happens.

use std::path::Path;

use crate::harness::{COMMANDS, Dir, MANIFEST, bin_directory, interpreter};

const PAGES: [&str; 13] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/architecture.md",
    "docs/benchmarks.md",
    "docs/comparison.md",
    "docs/configuration.md",
    "docs/how-it-decides.md",
    "docs/recipes.md",
    "docs/runners.md",
    "docs/troubleshooting.md",
    "pytest-pycgate/README.md",
];

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(MANIFEST).join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn links_lead_somewhere() {
    for name in PAGES {
        let text = page(name);
        let beside = Path::new(MANIFEST)
            .join(name)
            .parent()
            .expect("a directory")
            .to_path_buf();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split('#').next().unwrap_or(link);
            if !file.is_empty() && !file.contains("://") {
                assert!(beside.join(file).exists(), "{name}: {link}");
            }
        }
    }
}

/// Every command line of a page that begins with `$`, without its comment.
fn commands(page: &str) -> Vec<String> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("$ "));
    lines
        .map(|line| line.split("   #").next().unwrap_or(line).trim().to_owned())
        .collect()
}

#[test]
fn commands_of_the_pages_do_what_they_say() {
    let mut seen = 0;
    for name in ["README.md", "docs/recipes.md"] {
        for command in commands(&page(name)) {
            // The first two are what runs this test; installing from a clone has its own test, and
            // `places.rs` has the bisection, which needs a test that fails.
            if command.starts_with("cargo ") || command.starts_with("git bisect") {
                continue;
            }
            let dir = Dir::new();
            dir.write("calc.py", "V = 1\n");
            dir.write("tests/test_one.py", "def test_it():\n    pass\n");
            dir.commit("one");
            dir.write("calc.py", "V = 2\n");
            dir.git(&["commit", "-q", "-a", "-m", "two"]);
            dir.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
            dir.git(&["branch", "-f", "good", "HEAD^"]);
            // The names in the examples stand for what a reader has.
            let mut command = command
                .replace("tox", "true")
                .replace("explain FILE", "explain calc.py");
            for pytest in ["pytest -x tests/test_one.py", "pytest -q"] {
                command = command.replace(pytest, "true");
            }
            command = command.replace(" main", " good");
            let done = dir
                .command("sh")
                .args(["-c", &command])
                .path_first(bin_directory())
                .run();
            let fine = if command.contains("doctor") {
                done.status <= 1
            } else {
                done.status == 0
            };
            assert!(
                fine,
                "{name}: {command}: {} {}{}",
                done.status, done.stdout, done.stderr
            );
            seen += 1;
        }
    }
    assert!(seen > 5, "only {seen} commands were found");
}

#[test]
fn examples_of_the_help_parse() {
    let dir = Dir::new();
    dir.write("app/models.py", "V = 1\n");
    dir.import_value(interpreter::main(), "app.models");
    dir.commit("one");
    for command in ["gate", "check", "purge", "explain", "install"] {
        let help = dir.pycgate(&[command, "--help"]).ok();
        assert!(help.contains("Examples:"), "{command}");
        let short = dir.pycgate(&[command, "-h"]).ok();
        assert!(short.lines().count() < help.lines().count(), "{command}");
        for line in help.lines().filter(|line| line.starts_with("  pycgate ")) {
            let line = line.trim().split("  ").next().expect("a command");
            if line.contains("pytest")
                || line.contains("tox")
                || line.contains("&&")
                || line.contains(".pyc")
            {
                continue;
            }
            let words: Vec<&str> = line.split(' ').skip(1).collect();
            assert_eq!(dir.pycgate(&words).run().status & !1, 0, "{line}");
        }
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let dir = Dir::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish", "nushell"] {
        assert!(
            dir.pycgate(&["completions", shell])
                .ok()
                .contains("isolation"),
            "{shell}"
        );
    }
    for command in COMMANDS {
        let page = dir.pycgate(&["man", command]).ok();
        assert!(
            page.contains(".TH") && page.contains(&format!("pycgate\\-{command}")),
            "{command}"
        );
    }
    assert!(dir.pycgate(&["man"]).ok().contains(".SH NAME"));
    let done = dir.pycgate(&["man", "gaet"]).expect(2);
    assert!(
        done.stderr.contains("did you mean `gate`?"),
        "{}",
        done.stderr
    );
    let done = dir.pycgate(&["chekc"]).expect(2);
    assert!(done.stderr.contains("check"), "{}", done.stderr);
}
