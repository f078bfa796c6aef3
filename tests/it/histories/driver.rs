//! Interpreters that stay, so that thousands of histories are no thousands of starts.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::operation::{Context, MODULES, Mode};
use crate::harness::clean;

const DRIVER: &str = include_str!("driver.py");

/// Whether an import leaves an entry behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// It does.
    Plain,
    /// It only reads what is there.
    Look,
}

/// One interpreter that runs [`DRIVER`].
struct Driver {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    fn start(context: &Context) -> Self {
        let mut command = Command::new(&context.python.path);
        clean(&mut command);
        command.args(["-S", "-E"]);
        command.args(std::iter::repeat_n("-O", context.optimize));
        let mut child = command
            .args(["-c", DRIVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the interpreter starts");
        Self {
            requests: child.stdin.take().expect("it is piped"),
            answers: BufReader::new(child.stdout.take().expect("it is piped")),
            child,
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The drivers of one thread, each started when it is first asked.
#[derive(Default)]
pub struct Drivers {
    started: HashMap<(PathBuf, usize), Driver>,
}

impl Drivers {
    /// The value of each of these modules, as that context imports them in a work tree.
    pub fn import(
        &mut self,
        context: &Context,
        how: Import,
        work: &Path,
        modules: &[&str],
    ) -> Vec<String> {
        let job = if how == Import::Look {
            "look"
        } else {
            "import"
        };
        let answer = self.ask(context, job, work, &modules.join(" "));
        let values: Vec<String> = answer.split(' ').map(str::to_owned).collect();
        assert_eq!(values.len(), modules.len(), "{context:?} says {answer}");
        values
    }

    /// The same of every module.
    pub fn import_all(&mut self, context: &Context, how: Import, work: &Path) -> Vec<String> {
        self.import(context, how, work, &MODULES)
    }

    /// Imports a module whose source becomes this one before its entry is written.
    pub fn import_overtaken(&mut self, context: &Context, work: &Path, module: &str, new: &str) {
        let new = new.trim_end().replace(' ', "~");
        self.ask(context, "overtaken", work, &format!("{module} {new}"));
    }

    /// Compiles every source of a work tree. What that says is not looked at.
    pub fn compile(&mut self, context: &Context, mode: Mode, force: bool, work: &Path) {
        let mode = match mode {
            Mode::Plain => "plain",
            Mode::Timestamp => "timestamp",
            Mode::Checked => "checked",
            Mode::Unchecked => "unchecked",
            Mode::Legacy => "legacy",
            Mode::Levels => "levels",
        };
        let force = if force { "force" } else { "-" };
        self.ask(context, "compile", work, &format!("{mode} {force}"));
    }

    fn ask(&mut self, context: &Context, job: &str, work: &Path, names: &str) -> String {
        let driver = self
            .started
            .entry((context.python.path.clone(), context.optimize))
            .or_insert_with(|| Driver::start(context));
        let prefix = context.prefix.map(|prefix| work.join(prefix));
        let prefix = prefix.as_deref().unwrap_or(Path::new(""));
        writeln!(
            driver.requests,
            "{job}\t{}\t{}\t{names}",
            work.display(),
            prefix.display()
        )
        .expect("it listens");
        let mut answer = String::new();
        driver.answers.read_line(&mut answer).expect("it answers");
        answer.trim_end().to_owned()
    }
}
