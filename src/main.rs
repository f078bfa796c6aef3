//! The `pycgate` program: arguments in, exit status out.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use pycgate::cli::{Cli, Command};
use pycgate::exit::Exit;
use pycgate::options::Global;
use pycgate::report::style::message;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error).into(),
    };
    let (command, global) = (&cli.command, &cli.global);
    let ended = enter(global).and_then(|()| run(command, global));
    let exit = ended.unwrap_or_else(|error| {
        if !matches!(command, Command::Hook(hook) if !hook.tells(global)) {
            message(&format!("pycgate: error: {error:#}"));
        }
        failed()
    });
    exit.into()
}

/// How the command that is named ends if it fails.
fn failed() -> Exit {
    let command = command_word(std::env::args_os().skip(1));
    Exit::of_failed(&command.unwrap_or_default())
}

fn run(command: &Command, global: &Global) -> anyhow::Result<Exit> {
    match command {
        Command::Gate(gate) => gate.run(global),
        Command::Check(check) => check.run(global),
        Command::Purge(purge) => purge.run(global),
        Command::Explain(explain) => explain.run(global),
        Command::Hook(hook) => hook.run(global),
        Command::Install(install) => install.run(global),
        Command::Uninstall(uninstall) => uninstall.run(global),
        Command::Doctor(doctor) => doctor.run(global),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
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

/// Prints what clap has to say: help that was asked for, or bad usage. A hook is silent about that.
fn usage(said: &clap::Error) -> Exit {
    let exit = if said.exit_code() == 0 {
        Exit::SUCCESS
    } else {
        failed()
    };
    if said.exit_code() == 0 || exit != Exit::SUCCESS {
        let _ = said.print();
    }
    exit
}

/// The command's name: the first word that is neither an option of every command nor its value (a
/// folder given to `-C` may be called `hook`).
fn command_word(mut words: impl Iterator<Item = OsString>) -> Option<OsString> {
    let cli = Cli::command();
    let valued: Vec<_> = cli
        .get_arguments()
        .filter(|option| option.get_action().takes_values())
        .collect();
    while let Some(word) = words.next() {
        let Some(option) = word.to_str().and_then(|word| word.strip_prefix('-')) else {
            return Some(word);
        };
        let value_follows = match option.strip_prefix('-') {
            Some(long) => valued.iter().any(|option| option.get_long() == Some(long)),
            // The first short option with a value takes what is left of the word, or the next.
            None => option
                .char_indices()
                .find(|&(_, c)| valued.iter().any(|option| option.get_short() == Some(c)))
                .is_some_and(|(at, c)| at + c.len_utf8() == option.len()),
        };
        if value_follows {
            words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options_are_no_commands() {
        let word = |line: &str| command_word(line.split(' ').map(OsString::from));
        for line in [
            "gate --bogus hook",
            "-C hook gate",
            "-qC hook -v gate",
            "-Chook gate",
            "--exclude check --color=never gate",
        ] {
            assert_eq!(word(line), Some("gate".into()), "{line}");
        }
        assert_eq!(word("--bogus"), None);
    }
}
