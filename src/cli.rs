//! Arguments and exit statuses, nothing else.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};

use crate::cmd;
use crate::options::Global;

/// Keep Python from running bytecode that no longer says what the source on disk says
#[derive(Debug, Parser)]
#[command(name = "pycgate", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub struct Cli {
    /// Options that every command takes, before or after its name.
    #[command(flatten)]
    pub global: Global,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pycgate gate -- pytest -q      run the tests, certain of what they run
  pycgate check                  what could lie, and why; changes nothing
  pycgate install                purge by itself on every git event
  pycgate purge app/models.py    after an edit, for one file
  pycgate explain app/models.py  its entries, their times and verdicts

`gate` exits with the sweep's status; 125 if the verdict is INCONCLUSIVE.
`check` exits with 1 if something is racy, stale or a ghost.";

const GATE_EXAMPLES: &str = "\
Examples:
  pycgate gate -- pytest -q
  pycgate gate --base origin/main --report gate.json -- tox
  pycgate gate && make test      without a command: purge, exit 0 if ready
  git bisect run pycgate gate -- pytest -x tests/test_one.py

Verdicts: PASS (exit 0); BLOCK (the command's own status); INCONCLUSIVE (125):
something racy or stale could not be purged, or a source changed during the
sweep. 126: the command is not executable; 127: it is not found.";

const CHECK_EXAMPLES: &str = "\
Examples:
  pycgate check                  the whole work tree
  pycgate check --prove          ask the interpreters about racy entries
  pycgate check --format github  annotations for GitHub Actions

Exit status: 0 nothing found, 1 something racy, stale or a ghost, 2 error.";

const PURGE_EXAMPLES: &str = "\
Examples:
  pycgate purge app/models.py
  git diff --name-only -z HEAD~1 |
    pycgate purge --pathspec-from-file=- --pathspec-file-nul";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  pycgate explain app/models.py
  pycgate explain app/__pycache__/models.cpython-313.pyc";

const INSTALL_EXAMPLES: &str = "\
Examples:
  pycgate install                every event, in this repository's hooks
  pycgate install --events post-checkout,post-merge
  pycgate install --dry-run      say what would be written";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Purge what can be stale, then run the sweep and certify its verdict
    #[command(after_long_help = GATE_EXAMPLES)]
    Gate(cmd::gate::Gate),
    /// Report racy and stale entries and ghosts; change nothing
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(cmd::check::Check),
    /// Purge the entries of the given sources
    #[command(after_long_help = PURGE_EXAMPLES)]
    Purge(cmd::purge::Purge),
    /// Show every entry of one source, and why it is judged as it is
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(cmd::explain::Explain),
    /// What git's hooks call
    Hook(cmd::hook::Hook),
    /// Install the git hooks
    #[command(after_long_help = INSTALL_EXAMPLES)]
    Install(cmd::install::Install),
    /// Remove the git hooks and restore what was there
    Uninstall(cmd::uninstall::Uninstall),
    /// Look at git, hooks, interpreters and environment for what needs attention
    Doctor(cmd::doctor::Doctor),
    /// Print shell completions
    Completions(cmd::completions::Completions),
    /// Print a manual page
    Man(cmd::man::Man),
}
