//! Arguments and exit statuses, nothing else.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cmd;

/// Keep Python from running bytecode that no longer says what the source on disk says.
#[derive(Debug, Parser)]
#[command(name = "pycgate", version, max_term_width = 100)]
pub struct Cli {
    /// Options that every command takes, before or after its name.
    #[command(flatten)]
    pub global: Global,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Print results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: what was kept and why, what could not be read
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorChoice,
    /// How results are printed
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true)]
    pub format: Format,
    /// A bytecode prefix to look at beside PYTHONPYCACHEPREFIX (repeatable)
    #[arg(long, value_name = "DIR", global = true)]
    pub pycache_prefix: Vec<PathBuf>,
    /// Leave out what matches GLOB, gitignore-like (repeatable)
    #[arg(long, value_name = "GLOB", global = true)]
    pub exclude: Vec<String>,
    /// Read this configuration file and no other
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// List every entry, not only the noteworthy ones
    #[arg(long, global = true)]
    pub all_entries: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// Only on a terminal; NO_COLOR and CLICOLOR_FORCE are honoured.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// GitHub Actions annotations.
    Github,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Purge what can be stale, then run the sweep and certify its verdict
    Gate(cmd::gate::Gate),
    /// Report racy and stale entries and ghosts; change nothing
    Check(cmd::check::Check),
    /// Purge the entries of the given sources
    Purge(cmd::purge::Purge),
    /// Show every entry of one source, and why it is judged as it is
    Explain(cmd::explain::Explain),
    /// What git's hooks call
    Hook(cmd::hook::Hook),
    /// Install the git hooks
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
