//! `pycgate man`: manual pages, for packagers.

use anyhow::{Result, anyhow};
use clap::Args;

use crate::config::did_you_mean;
use crate::exit::Exit;
use crate::report::style::output;

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct Man {
    /// The command to print the page of; without it the page of pycgate itself
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

impl Man {
    /// Prints the page of `program` or of one of its commands.
    ///
    /// # Errors
    /// If there is no such command, or stdout cannot be written.
    pub fn run(&self, mut program: clap::Command) -> Result<Exit> {
        program.build();
        let page = match &self.command {
            None => program,
            Some(name) => {
                let names: Vec<&str> = program
                    .get_subcommands()
                    .map(clap::Command::get_name)
                    .collect();
                let hint = did_you_mean(name, &names);
                let command = program
                    .find_subcommand(name)
                    .ok_or_else(|| anyhow!("there is no command `{name}`{hint}"))?;
                // In a page of its own a command is called by both words.
                command
                    .clone()
                    .name(format!("pycgate-{name}"))
                    .display_name(format!("pycgate-{name}"))
            }
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        output(&String::from_utf8_lossy(&text))?;
        Ok(Exit::SUCCESS)
    }
}
