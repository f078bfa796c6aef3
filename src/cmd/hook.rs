//! `pycgate hook`.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;

use crate::cmd::session::Session;
use crate::exit::Exit;
use crate::hooks::call::Call;
use crate::hooks::suspects::suspects;
use crate::options::Global;
use crate::purge;
use crate::report::style::message;
use crate::scan::{self, Action};

/// Arguments of `hook`.
#[derive(Args, Debug)]
pub struct Hook {
    /// The event and what git passes with it
    #[arg(value_name = "EVENT", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub event: Vec<OsString>,
}

impl Hook {
    /// Never fails: whatever goes wrong is one line with `-v` or `PYCGATE_TRACE=1`, and silence
    /// without.
    ///
    /// # Errors
    /// None.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        if is_on("PYCGATE_SKIP") {
            return Ok(Exit::SUCCESS);
        }
        let tells = self.tells(global);
        // In whichever thread, and also where a panic would abort: git goes on.
        std::panic::set_hook(Box::new(move |panic| {
            if tells {
                let what = panic.payload_as_str().unwrap_or("unknown");
                message(&format!("pycgate: hook: panicked: {}", one_line(what)));
            }
            std::process::exit(0);
        }));
        if let Err(error) = self.handle(global, tells)
            && tells
        {
            message(&format!(
                "pycgate: hook: {}",
                one_line(&format!("{error:#}"))
            ));
        }
        Ok(Exit::SUCCESS)
    }
}

impl Hook {
    /// Whether it says what went wrong.
    pub fn tells(&self, global: &Global) -> bool {
        // Behind the event, `-v` is a word like those of git, which never passes such a one.
        let asked = |word: &OsString| word == "-v" || word == "--verbose";
        global.verbose || is_on("PYCGATE_TRACE") || self.event.iter().any(asked)
    }

    fn handle(&self, global: &Global, tells: bool) -> Result<()> {
        let session = Session::for_hook(global)?.context("not in a git repository")?;
        let repo = session.repo.as_ref().context("not in a git repository")?;
        let words: Vec<OsString> = self
            .event
            .iter()
            .filter(|word| *word != "-v" && *word != "--verbose")
            .cloned()
            .collect();
        let event = Call {
            words: &words,
            root: repo.root(),
            variable: &|name| std::env::var_os(name),
            stdin: &read_stdin,
        }
        .event()?;
        let (suspects, mut troubles) = suspects(repo, &event);
        let options = session.options(global, None);
        let mut scan = scan::sources(&options, &suspects)?;
        purge::due(&mut scan, false);
        if tells {
            troubles.extend(scan.troubles.iter().map(|trouble| anyhow!("{trouble}")));
            troubles.extend(scan.entries.iter().filter_map(|entry| match &entry.action {
                Action::Failed(why) => {
                    let place = scan.absolute(entry);
                    Some(anyhow!("cannot remove {}: {why}", place.display()))
                }
                _ => None,
            }));
        }
        match troubles.len() {
            0 => Ok(()),
            1 => Err(troubles.remove(0)),
            count => Err(troubles
                .remove(0)
                .context(format!("{count} troubles, the first"))),
        }
    }
}

fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Standard input to its end; nothing where it is a terminal, which git never passes on.
fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut stdin = std::io::stdin().lock();
    let mut input = Vec::new();
    if !stdin.is_terminal() {
        stdin.read_to_end(&mut input)?;
    }
    Ok(input)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
