//! Colour, and names made fit to print.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use terminal_size::terminal_size_of;

use crate::bytecode::State;
use crate::fsys::path::to_git;
use crate::options::ColorChoice;

/// Where to write, and whether in colour.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Whether colour is used.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether it is one.
    pub is_terminal: bool,
    /// Whether it shows hyperlinks.
    pub links: bool,
}

impl Terminal {
    /// Standard output.
    pub fn stdout(choice: ColorChoice) -> Self {
        Self::new(
            choice,
            io::stdout().is_terminal(),
            terminal_size_of(io::stdout()).map(|(width, _)| width.0),
        )
    }

    /// Standard error.
    pub fn stderr(choice: ColorChoice) -> Self {
        Self::new(
            choice,
            io::stderr().is_terminal(),
            terminal_size_of(io::stderr()).map(|(width, _)| width.0),
        )
    }

    fn new(choice: ColorChoice, is_terminal: bool, columns: Option<u16>) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if set("NO_COLOR") => false,
            ColorChoice::Auto
                if set("CLICOLOR_FORCE")
                    && std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0") =>
            {
                true
            }
            ColorChoice::Auto => {
                is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        let asked = std::env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok());
        let width = asked
            .or(columns.map(usize::from))
            .filter(|&width| width > 0)
            .unwrap_or(80);
        Self {
            color,
            width,
            is_terminal,
            links: is_terminal && supports_hyperlinks::supports_hyperlinks(),
        }
    }

    /// Text that leads to a file, where the terminal shows such links (OSC 8).
    pub fn link(self, file: &std::path::Path, text: &str) -> String {
        if !self.links {
            return text.to_owned();
        }
        let address: String = to_git(file)
            .iter()
            .map(|&byte| match byte {
                b'/' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
                byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect();
        format!("\u{1b}]8;;file://{address}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
    }

    /// Text in a style.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.color {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// The style of a state.
    pub fn state(self, state: State) -> Style {
        match state {
            State::Racy => AnsiColor::Yellow.on_default(),
            State::Stale => AnsiColor::Red.on_default().bold(),
            State::Settled => AnsiColor::Green.on_default(),
            State::Rejected | State::Orphan => Style::new().dimmed(),
        }
    }
}

/// A name fit to print: what is not UTF-8 or could steer a terminal is escaped.
pub fn printable(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        escape(chunk.valid(), steers, &mut text);
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Whether a character could steer a terminal: control characters, and marks that turn the direction
/// of what follows.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, escaped: fn(char) -> bool, out: &mut String) {
    for c in text.chars() {
        if escaped(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
}

/// Text of several lines fit to print, whatever names are in it. It has no colour of its own.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(text, |c| steers(c) && !matches!(c, '\n' | '\t'), &mut out);
    out
}

/// `1 entry`, `3 entries`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Writes a line to standard error, fit to print whatever names and errors are in it. That nobody
/// reads it is no reason to fail.
pub fn message(line: &str) {
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

/// Writes to standard output. A reader that has closed the pipe is done, and that is no error.
///
/// # Errors
/// If the output cannot be written, as to a full disk.
pub fn output(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(printable(b"a\x1b[31m\nb\xff"), "a\\u{1b}[31m\\nb\\xff");
        assert_eq!(printable("é \u{202e}".as_bytes()), "é \\u{202e}");
        assert_eq!(plain("one\n\ttwo\x1b[31m"), "one\n\ttwo\\u{1b}[31m");
    }
}
