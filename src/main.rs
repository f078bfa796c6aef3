//! The `pycgate` program: arguments in, exit status out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pycgate::cli::{Cli, Command};
use pycgate::cmd::Run;

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
    match command.run(&cli.global) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("pycgate: error: {error:#}");
            ExitCode::from(status_of_errors)
        }
    }
}

/// Prints what clap has to say. Bad usage of `gate` is the gate's own failure (125), a hook never
/// fails a git operation (0), everything else is 2.
fn usage_error(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
