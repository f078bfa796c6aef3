//! `pycgate gate`: purge what can be stale, run the sweep, certify its verdict.

mod reasons;
mod sweep;
mod verdict;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, bail};
use bstr::BString;
use clap::Args;

use self::sweep::Sweep;
use self::verdict::{GATE_FAILED, NOT_EXECUTABLE, NOT_FOUND, Verdict};
use crate::cmd::session::Session;
use crate::config::Isolation;
use crate::git::Repo;
use crate::options::{Format, Global};
use crate::payload::{Base, Payload};
use crate::purge;
use crate::report::file::Destination;
use crate::report::json::{Report, SweepPart};
use crate::report::progress::Progress;
use crate::report::style::{Terminal, message, output, printable};
use crate::report::text;
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
    /// The sweep: a command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What the gate ends with.
struct Outcome {
    verdict: Verdict,
    status: u8,
    reasons: Vec<String>,
    sweep: Option<Sweep>,
}

impl Gate {
    /// Purges what can be stale, runs the sweep and certifies its verdict.
    ///
    /// # Errors
    /// If the gate itself fails: repository, configuration, base or report file.
    pub fn run(&self, global: &Global) -> Result<ExitCode> {
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
                if let Some(file) = report_file {
                    let mut report = Report::new("gate", &Scan::default(), true);
                    report.verdict = Some(Verdict::Inconclusive.word());
                    report.reasons.push(format!("{error:#}"));
                    file.write(&report.text())?;
                }
                return Err(error);
            }
        };
        let mut report = Report::new("gate", &scan, true);
        report.verdict = (!self.dry_run).then(|| outcome.verdict.word());
        report.reasons.clone_from(&outcome.reasons);
        report.sweep = outcome.sweep.as_ref().map(|sweep| SweepPart {
            argv: self
                .command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            exit: sweep.status,
            seconds: sweep.took.as_secs_f64(),
        });
        if let Some(file) = report_file {
            file.write(&report.text())?;
        }
        self.tell(global, terminal, &scan, &outcome, &excluded)?;
        if global.format == Format::Json && self.command.is_empty() {
            output(&report.text())?;
        }
        Ok(ExitCode::from(outcome.status))
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

        let isolation = self
            .isolation
            .or(session.config.isolation)
            .unwrap_or_default();
        // A fresh prefix hides entries from a sweep that heeds it.
        let hides = isolation == Isolation::Fresh
            && !self.command.is_empty()
            && !verdict::ignores_environment(&self.command);
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
        mut reasons: Vec<String>,
    ) -> Result<Outcome> {
        if self.dry_run {
            return Ok(Outcome {
                verdict: Verdict::Pass,
                status: 0,
                reasons,
                sweep: None,
            });
        }
        if !reasons.is_empty() {
            return Ok(Outcome {
                verdict: Verdict::Inconclusive,
                status: GATE_FAILED,
                reasons,
                sweep: None,
            });
        }
        if self.command.is_empty() {
            return Ok(Outcome {
                verdict: Verdict::Pass,
                status: 0,
                reasons,
                sweep: None,
            });
        }
        let prefix = match isolation {
            Isolation::Purge => None,
            Isolation::Fresh => Some(
                tempfile::Builder::new()
                    .prefix("pycgate-")
                    .tempdir()
                    .context(
                        "cannot make a directory for a fresh bytecode prefix: is TMPDIR writable?",
                    )?,
            ),
        };
        let sweep = match sweep::run(&self.command, prefix.as_ref().map(tempfile::TempDir::path)) {
            Ok(sweep) => sweep,
            Err(error) => {
                let status = if error.kind() == io::ErrorKind::NotFound {
                    NOT_FOUND
                } else {
                    NOT_EXECUTABLE
                };
                return Ok(Outcome {
                    verdict: Verdict::Inconclusive,
                    status,
                    reasons: vec![reasons::not_started(&self.command[0], &error)],
                    sweep: None,
                });
            }
        };
        drop(prefix);
        let mut verdict = verdict::of_sweep(sweep.status, &self.command);
        let mut status = sweep.status;
        if verdict == Verdict::Inconclusive {
            reasons.push(reasons::of_pytest(status));
        }
        match self.payload_again(global, session, commit) {
            Err(error) => reasons.push(format!(
                "the payload could not be read again after the sweep: {error:#}"
            )),
            Ok(after) => reasons.extend(scan.payload.difference(&after).iter().map(
                |(path, change)| format!("{} {} during the sweep", printable(path), change.word()),
            )),
        }
        let moved = reasons.len() > usize::from(verdict == Verdict::Inconclusive);
        if moved {
            verdict = Verdict::Inconclusive;
            status = GATE_FAILED;
        }
        Ok(Outcome {
            verdict,
            status,
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

    /// The summary: on standard error where there is a command, whose output is the caller's.
    fn tell(
        &self,
        global: &Global,
        terminal: Terminal,
        scan: &Scan,
        outcome: &Outcome,
        excluded: &[String],
    ) -> Result<()> {
        let with_command = !self.command.is_empty();
        let mut lines = String::new();
        let machine = global.format == Format::Json && !with_command;
        if !machine {
            if global.format == Format::Github {
                let due = scan.lying();
                for entry in due {
                    lines.push_str(&text::annotation(scan, entry));
                    lines.push('\n');
                }
            } else if !global.quiet || self.dry_run {
                lines.push_str(&text::table(
                    scan,
                    terminal,
                    global.all_entries || global.verbose,
                    self.dry_run,
                ));
            }
        }
        for reason in &outcome.reasons {
            message(&format!("pycgate: {reason}"));
        }
        if with_command && outcome.sweep.is_none() && !global.quiet {
            message("pycgate: the command was not run");
        }
        let style = match outcome.verdict {
            Verdict::Pass => AnsiColor::Green.on_default().bold(),
            Verdict::Block => AnsiColor::Red.on_default().bold(),
            Verdict::Inconclusive => AnsiColor::Yellow.on_default().bold(),
        };
        if !global.quiet {
            let word = if self.dry_run {
                "dry run"
            } else {
                outcome.verdict.word()
            };
            let style = if self.dry_run {
                Style::new().bold()
            } else {
                style
            };
            let sweep = outcome.sweep.as_ref().map_or(String::new(), |sweep| {
                format!(
                    "; the sweep exited {} after {:.1} s",
                    sweep.status,
                    sweep.took.as_secs_f64()
                )
            });
            let left_out = match excluded {
                [] => String::new(),
                globs => format!("; left out: {}", printable(globs.join(", ").as_bytes())),
            };
            lines.push_str(&format!(
                "pycgate: {}: {}{left_out}{sweep}\n",
                terminal.paint(style, word),
                text::summary(scan, self.dry_run)
            ));
        }
        if machine {
            return Ok(());
        }
        if with_command {
            let _ = io::stderr().write_all(lines.as_bytes());
            return Ok(());
        }
        output(&lines)
    }
}
