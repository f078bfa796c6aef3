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
use crate::report::{text, words};
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
        let to_stderr = !self.command.is_empty() || self.wait;
        for reason in &outcome.reasons {
            message(&format!("pycgate: {reason}"));
        }
        if !global.quiet {
            let told = |note: &&String| !outcome.reasons.contains(note);
            for note in outcome.notes.iter().filter(told) {
                message(&format!("pycgate: note: {note}"));
            }
        }
        if global.format == Format::Json && !to_stderr {
            return Ok(());
        }
        let mut lines = String::new();
        if global.format == Format::Github {
            for entry in scan.lying() {
                lines.push_str(&text::annotation(scan, entry));
                lines.push('\n');
            }
        } else if global.verbose || global.all_entries || self.dry_run {
            let all = global.verbose || global.all_entries;
            lines.push_str(&text::table(scan, terminal, all, self.dry_run));
            if global.verbose {
                lines.push_str(&more(scan, excluded));
            }
        }
        if !global.quiet || outcome.verdict != Verdict::Pass {
            lines.push_str(&self.line(terminal, scan, outcome));
        }
        if to_stderr {
            let _ = io::stderr().write_all(lines.as_bytes());
            return Ok(());
        }
        output(&lines)
    }

    /// The verdict, and what it rests on, in one line.
    fn line(&self, terminal: Terminal, scan: &Scan, outcome: &Outcome) -> String {
        let alone = self.command.is_empty() && !self.wait;
        let (word, style) = match outcome.verdict {
            _ if self.dry_run => ("dry run", Style::new().bold()),
            Verdict::Pass if alone => ("ready", AnsiColor::Green.on_default().bold()),
            Verdict::Pass => ("PASS", AnsiColor::Green.on_default().bold()),
            Verdict::Block => ("BLOCK", AnsiColor::Red.on_default().bold()),
            Verdict::Inconclusive => ("INCONCLUSIVE", AnsiColor::Yellow.on_default().bold()),
        };
        let sweep = match (&outcome.sweep, outcome.verdict) {
            (None, Verdict::Inconclusive) if !self.command.is_empty() => {
                "the command was not run; ".to_owned()
            }
            (Some(sweep), Verdict::Block | Verdict::Inconclusive) => {
                format!("the command exited with {}; ", sweep.status)
            }
            _ => String::new(),
        };
        format!(
            "pycgate: {}: {sweep}{}\n",
            terminal.paint(style, word),
            words::summary(scan, self.dry_run)
        )
    }
}

/// What `-v` adds to the list: what differs from the base, what was kept, and what was left out.
fn more(scan: &Scan, excluded: &[String]) -> String {
    let base = words::base(scan);
    let mut lines = String::new();
    let mut line = |what: &str, text: &str| lines.push_str(&format!("  {what:<8}  {text}\n"));
    for (source, content) in &scan.payload.sources {
        let gone = if content.is_some() { "" } else { " (deleted)" };
        let source = printable(source);
        line(
            "differs",
            &format!("{source}{gone}: its entries are purged, as it differs from {base}"),
        );
    }
    for (count, what) in [
        (scan.counts.settled, "compiled from what is on disk"),
        (scan.counts.rejected, "that Python does not load"),
    ] {
        if count > 0 {
            line("found", &format!("{} {what}", words::entries(count)));
        }
    }
    for glob in excluded {
        line(
            "left out",
            &format!("{} (excluded)", printable(glob.as_bytes())),
        );
    }
    lines
}
