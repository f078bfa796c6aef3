//! `pycgate gate`: purge what can be stale, run the sweep, certify its verdict.

mod again;
mod outcome;
mod reasons;
mod sweep;
mod tell;
mod told;
mod verdict;
mod wait;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, bail};
use bstr::BString;
use clap::Args;

use self::again::Again;
use self::outcome::Outcome;
use self::verdict::Verdict;
use crate::cmd::session::Session;
use crate::config::Isolation;
use crate::exit::Exit;
use crate::fsys::path::real;
use crate::options::{Format, Global};
use crate::payload::Base;
use crate::purge;
use crate::python::command_line::CommandLine;
use crate::report::file::Destination;
use crate::report::json::Report;
use crate::report::progress::Progress;
use crate::report::style::{Terminal, message, output};
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
    /// A source that is rewritten with the same content during the sweep makes it INCONCLUSIVE
    #[arg(long)]
    pub strict: bool,
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
        let here = real(&session.directory).unwrap_or_else(|_| session.directory.clone());
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
        let base = self.base(&session)?;
        let mut scan = {
            let progress = Progress::new(terminal, global.quiet);
            let seen = |directories| progress.seen(directories);
            let options = scan::Options {
                progress: Some(&seen),
                stamp: self.has_sweep(),
                ..session.options(global, Some(&base))
            };
            scan::whole(&options)?
        };
        if self.prove {
            crate::cmd::prove::acquit(&mut scan, &self.python)?;
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
        let outcome = self.outcome(global, &session, &base, &scan, isolation, reasons)?;
        let excluded = [session.config.exclude.as_slice(), &global.exclude].concat();
        Ok((scan, outcome, excluded))
    }

    /// Whether a sweep follows, whose sources are to be certified.
    fn has_sweep(&self) -> bool {
        !self.command.is_empty() || self.wait
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
        base: &Base,
        scan: &Scan,
        isolation: Isolation,
        reasons: Vec<String>,
    ) -> Result<Outcome> {
        if self.dry_run {
            return Ok(Outcome {
                verdict: Verdict::Pass,
                exit: Exit::SUCCESS,
                reasons,
                notes: Vec::new(),
                sweep: None,
            });
        }
        if !reasons.is_empty() {
            return Ok(Outcome {
                verdict: Verdict::Inconclusive,
                exit: Exit::INCONCLUSIVE,
                reasons,
                notes: Vec::new(),
                sweep: None,
            });
        }
        let ready = Outcome {
            verdict: Verdict::Pass,
            exit: Exit::SUCCESS,
            reasons,
            notes: Vec::new(),
            sweep: None,
        };
        if !self.has_sweep() {
            return Ok(ready);
        }
        let started = SystemTime::now();
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
                ..
            } => (sweep, verdict, exit, reasons),
            not_known => return Ok(not_known),
        };
        let before = reasons.len();
        let again = Again {
            session,
            options: session.options(global, None),
            scan,
            base,
            started,
            pythons: &self.python,
        };
        let notes = again.look(&mut reasons);
        if self.strict || session.config.strict {
            reasons.extend(notes.iter().cloned());
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
            notes,
            sweep: Some(sweep),
        })
    }
}
