//! `pycgate completions`: shell completions, for packagers.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::report::style::output;

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell to print completions for
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Shells that completions can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash.
    Bash,
    /// Z shell.
    Zsh,
    /// fish.
    Fish,
    /// PowerShell.
    Powershell,
    /// Elvish.
    Elvish,
    /// Nushell.
    Nushell,
}

impl Completions {
    /// Prints the completions of `program`.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub fn run(&self, mut program: clap::Command) -> Result<Exit> {
        use clap_complete::{Shell as Known, generate};
        let mut text = Vec::new();
        let known = match self.shell {
            Shell::Bash => Some(Known::Bash),
            Shell::Zsh => Some(Known::Zsh),
            Shell::Fish => Some(Known::Fish),
            Shell::Powershell => Some(Known::PowerShell),
            Shell::Elvish => Some(Known::Elvish),
            Shell::Nushell => None,
        };
        match known {
            Some(shell) => generate(shell, &mut program, "pycgate", &mut text),
            None => generate(
                clap_complete_nushell::Nushell,
                &mut program,
                "pycgate",
                &mut text,
            ),
        }
        output(&String::from_utf8_lossy(&text))?;
        Ok(Exit::SUCCESS)
    }
}
