//! The `pycgate` program: arguments in, exit status out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pycgate::cli::{Cli, Command, Global};
use pycgate::cmd::Run;
use pycgate::report::style::message;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage_error(&error),
    };
    let (command, status_of_errors): (&dyn Run, u8) = match &cli.command {
        Command::Gate(gate) => (gate, 125),
        Command::Check(check) => (check, 2),
        Command::Purge(purge) => (purge, 2),
        Command::Explain(explain) => (explain, 2),
        Command::Hook(hook) => (hook, 0),
        Command::Install(install) => (install, 2),
        Command::Uninstall(uninstall) => (uninstall, 2),
        Command::Doctor(doctor) => (doctor, 2),
        Command::Completions(completions) => (completions, 2),
        Command::Man(man) => (man, 2),
    };
    match enter(&cli.global).and_then(|()| command.run(&cli.global)) {
        Ok(status) => status,
        Err(_) if matches!(&cli.command, Command::Hook(hook) if !hook.tells(&cli.global)) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            message(&format!("pycgate: error: {error:#}"));
            ExitCode::from(status_of_errors)
        }
    }
}

/// `-C DIR`: everything that is relative is relative to it.
fn enter(global: &Global) -> anyhow::Result<()> {
    let Some(directory) = &global.directory else {
        return Ok(());
    };
    std::env::set_current_dir(directory).map_err(|error| {
        anyhow::anyhow!(
            "-C {}: {error}: name a directory that exists",
            directory.display()
        )
    })
}

/// Prints what clap has to say. Bad usage of `gate` is the gate's own failure (125), a hook never
/// fails a git operation (0), everything else is 2.
fn usage_error(error: &clap::Error) -> ExitCode {
    let command = std::env::args_os().skip(1).find(|word| {
        let names = [
            "gate",
            "check",
            "purge",
            "explain",
            "hook",
            "install",
            "uninstall",
            "doctor",
            "completions",
            "man",
        ];
        names.iter().any(|name| word == name)
    });
    let is = |name: &str| command.as_ref().is_some_and(|word| word == name);
    if error.exit_code() != 0 && is("hook") {
        return ExitCode::SUCCESS;
    }
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is("gate") => ExitCode::from(125),
        _ => ExitCode::from(2),
    }
}
