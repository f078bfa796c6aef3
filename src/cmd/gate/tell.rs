//! What the gate tells: its summary, and its report for programs.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Result;

use super::Gate;
use super::outcome::Outcome;
use super::verdict::Verdict;
use crate::options::{Format, Global};
use crate::report::json::{Report, SweepPart};
use crate::report::style::{Terminal, message, output, printable};
use crate::report::text;
use crate::scan::Scan;

impl Gate {
    /// The report for programs.
    pub(super) fn report_of(&self, scan: &Scan, outcome: &Outcome) -> Report {
        let mut report = Report::new("gate", scan, true);
        report.verdict = (!self.dry_run).then(|| outcome.verdict.word());
        report.reasons.clone_from(&outcome.reasons);
        report.notes.clone_from(&outcome.notes);
        report.sweep = outcome.sweep.as_ref().map(|sweep| SweepPart {
            argv: sweep.argv.clone(),
            exit: sweep.status,
            seconds: sweep.took.as_secs_f64(),
        });
        report
    }

    /// The summary: on standard error where there is a command, whose output is the caller's, or a
    /// runner, which reads reports.
    pub(super) fn tell(
        &self,
        global: &Global,
        terminal: Terminal,
        scan: &Scan,
        outcome: &Outcome,
        excluded: &[String],
    ) -> Result<()> {
        let with_command = !self.command.is_empty() || self.wait;
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
        if !global.quiet {
            for note in outcome
                .notes
                .iter()
                .filter(|note| !outcome.reasons.contains(note))
            {
                message(&format!("pycgate: note: {note}"));
            }
        }
        if !self.command.is_empty() && outcome.sweep.is_none() && !global.quiet {
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
