//! `pycgate gate`: purge what can be stale, run the sweep, certify its verdict.

mod outcome;
mod reasons;
mod sweep;
mod tell;
mod told;
mod verdict;
mod wait;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bstr::BString;
use clap::Args;

use self::outcome::Outcome;
use self::verdict::Verdict;
use crate::cmd::session::Session;
use crate::config::Isolation;
use crate::exit::Exit;
use crate::git::Repo;
use crate::options::{Format, Global};
use crate::payload::{Base, Payload};
use crate::purge;
use crate::python::command_line::CommandLine;
use crate::report::file::Destination;
use crate::report::json::Report;
use crate::report::progress::Progress;
use crate::report::style::{Terminal, message, output, printable};
use crate::scan::{self, Scan};

/// Arguments of `gate`.
#[derive(Args, Debug)]
pub struct Gate {
    /// Measure the payload against the merge base with REV instead of HEAD
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Limit the payload to PATH (repeatable); everything is scanned all the same
    #[arg(long, value_name = "PATH")]
    pub only: Vec<PathBuf>,
    /// Scan DIR as well: sources outside the work tree (repeatable)
    #[arg(long, value_name = "DIR")]
    pub also: Vec<PathBuf>,
    /// `fresh` also gives the sweep an empty PYTHONPYCACHEPREFIX [default: purge]
    #[arg(long, value_name = "HOW")]
    pub isolation: Option<Isolation>,
    /// Ask the interpreter about racy entries and keep those it acquits
    #[arg(long)]
    pub prove: bool,
    /// An interpreter for --prove (repeatable)
    #[arg(long, value_name = "PATH")]
    pub python: Vec<PathBuf>,
    /// Write the report to FILE, as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Change nothing; list what would be purged
    #[arg(long, conflicts_with = "command")]
    pub dry_run: bool,
    /// Say ready, wait until a runner's own sweep has ended, and certify that
    ///
    /// For a sweep that is not the gate's child. Two lines of JSON on standard output, each a report: the
    /// first when the sweep may begin (`verdict` PASS), the second with the verdict. In between the runner
    /// writes one line on standard input, {"status": N}, with the exit status of its sweep. See
    /// docs/runners.md.
    #[arg(long, conflicts_with_all = ["command", "dry_run"])]
    pub wait: bool,
    /// The sweep: a command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl Gate {
    /// Purges what can be stale, runs the sweep and certifies its verdict.
    ///
    /// # Errors
    /// If the gate itself fails: repository, configuration, base or report file.
    pub fn run(&self, global: &Global) -> Result<Exit> {
        let terminal = Terminal::stderr(global.color);
        let report_file = self
            .report
            .as_deref()
            .map(Destination::prepare)
            .transpose()?;
        let (scan, outcome, excluded) = match self.certify(global, terminal) {
            Ok(certified) => certified,
            Err(error) => {
                // The report of an earlier gate must not pass for that of this one.
                let mut report = Report::new("gate", &Scan::default(), true);
                report.verdict = Some(Verdict::Inconclusive.word());
                report.reasons.push(format!("{error:#}"));
                if let Some(file) = report_file {
                    file.write(&report.text())?;
                }
                if self.wait {
                    output(&report.line())?;
                }
                return Err(error);
            }
        };
        let report = self.report_of(&scan, &outcome);
        if let Some(file) = report_file {
            file.write(&report.text())?;
        }
        self.tell(global, terminal, &scan, &outcome, &excluded)?;
        if self.wait {
            output(&report.line())?;
        } else if global.format == Format::Json && self.command.is_empty() {
            output(&report.text())?;
        }
        Ok(outcome.exit)
    }
}

impl Gate {
    /// Purges, sweeps, and looks again. Also gives the globs that were left out.
    fn certify(&self, global: &Global, terminal: Terminal) -> Result<(Scan, Outcome, Vec<String>)> {
        let session = Session::open(global, &self.also)?;
        if session.repo.is_none() && !global.quiet {
            message(&format!(
                "pycgate: {} is in no git work tree: its payload is empty, and every entry below it is judged",
                session.root.display()
            ));
        }
        let here = session
            .directory
            .canonicalize()
            .unwrap_or_else(|_| session.directory.clone());
        if !here.starts_with(&session.root)
            && !session.also.iter().any(|also| here.starts_with(also))
        {
            bail!(
                "{} lies outside the work tree {}, and what a command would import here is not judged; \
                 run it with -C {} or add --also {}",
                here.display(),
                session.root.display(),
                session.root.display(),
                here.display()
            );
        }
        if global.verbose {
            for root in super::doctor::roots_outside(&session.root) {
                message(&format!("pycgate: {root}"));
            }
        }
        // Asked before anything is looked at, so that what moves HEAD from now on is seen.
        let commit = session
            .repo
            .as_ref()
            .and_then(|repo| repo.resolve("HEAD^{commit}"));
        let base = self.base(&session)?;
        let mut scan = {
            let progress = Progress::new(terminal, global.quiet);
            let seen = |directories| progress.seen(directories);
            let options = scan::Options {
                progress: Some(&seen),
                ..session.options(global, Some(&base))
            };
            scan::whole(&options)?
        };
        if self.prove {
            crate::cmd::prove::acquit(&session, &mut scan, &self.python)?;
        }
        purge::due(&mut scan, self.dry_run);

        if self.wait && self.isolation == Some(Isolation::Fresh) {
            bail!(
                "--isolation fresh needs a COMMAND to give the prefix to: with --wait the runner sets \
                 PYTHONPYCACHEPREFIX itself"
            );
        }
        let isolation = self
            .isolation
            .or(session.config.isolation)
            .unwrap_or_default();
        // A fresh prefix hides entries from a sweep that heeds it.
        let hides = isolation == Isolation::Fresh
            && !self.command.is_empty()
            && !CommandLine::of(&self.command).ignores_environment;
        let reasons = reasons::before(&scan, hides);
        let outcome = self.outcome(
            global,
            &session,
            commit.as_deref(),
            &scan,
            isolation,
            reasons,
        )?;
        let excluded = [session.config.exclude.as_slice(), &global.exclude].concat();
        Ok((scan, outcome, excluded))
    }

    fn base(&self, session: &Session) -> Result<Base> {
        let Some(repo) = &session.repo else {
            if self.base.is_some() {
                bail!(
                    "--base needs a git work tree, and {} is in none",
                    session.root.display()
                );
            }
            return Ok(Base::nothing());
        };
        Base::new(repo, self.revision(session), self.limits(session)?)
    }

    fn revision<'a>(&'a self, session: &'a Session) -> Option<&'a str> {
        self.base.as_deref().or(session.config.base.as_deref())
    }

    fn limits(&self, session: &Session) -> Result<Vec<BString>> {
        self.only
            .iter()
            .map(|path| session.relative(path))
            .collect()
    }

    fn outcome(
        &self,
        global: &Global,
        session: &Session,
        commit: Option<&str>,
        scan: &Scan,
        isolation: Isolation,
        reasons: Vec<String>,
    ) -> Result<Outcome> {
        if self.dry_run {
            return Ok(Outcome {
                verdict: Verdict::Pass,
                exit: Exit::SUCCESS,
                reasons,
                sweep: None,
            });
        }
        if !reasons.is_empty() {
            return Ok(Outcome {
                verdict: Verdict::Inconclusive,
                exit: Exit::INCONCLUSIVE,
                reasons,
                sweep: None,
            });
        }
        let ready = Outcome {
            verdict: Verdict::Pass,
            exit: Exit::SUCCESS,
            reasons,
            sweep: None,
        };
        if self.command.is_empty() && !self.wait {
            return Ok(ready);
        }
        let ended = if self.wait {
            wait::sweep(&self.report_of(scan, &ready))?
        } else {
            Outcome::of_running(&self.command, isolation)?
        };
        let (sweep, mut verdict, mut exit, mut reasons) = match ended {
            Outcome {
                verdict,
                exit,
                reasons,
                sweep: Some(sweep),
            } => (sweep, verdict, exit, reasons),
            not_known => return Ok(not_known),
        };
        let before = reasons.len();
        match self.payload_again(global, session, commit) {
            Err(error) => reasons.push(format!(
                "the payload could not be read again after the sweep: {error:#}"
            )),
            Ok(after) => reasons.extend(scan.payload.difference(&after).iter().map(
                |(path, change)| format!("{} {} during the sweep", printable(path), change.word()),
            )),
        }
        let moved = reasons.len() > before;
        if moved {
            verdict = Verdict::Inconclusive;
            exit = Exit::INCONCLUSIVE;
        }
        Ok(Outcome {
            verdict,
            exit,
            reasons,
            sweep: Some(sweep),
        })
    }

    /// The payload as it is now, against the index as it is now and the HEAD of before, by the
    /// configuration of before: a sweep can change all three.
    fn payload_again(
        &self,
        global: &Global,
        session: &Session,
        commit: Option<&str>,
    ) -> Result<Payload> {
        if session.repo.is_none() {
            return scan::payload(&session.options(global, Some(&Base::nothing())));
        }
        let repo = Repo::discover(&session.directory)?
            .filter(|repo| repo.root() == session.root)
            .with_context(|| format!("{} is no git work tree any more", session.root.display()))?;
        let only = self.limits(session)?;
        let base = Base::again(&repo, self.revision(session), only, commit)?;
        scan::payload(&scan::Options {
            repo: Some(&repo),
            ..session.options(global, Some(&base))
        })
    }
}
