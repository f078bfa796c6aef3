//! The incident that pycgate is for, with the real interpreter and real git:
//!
//! ```text
//! cargo run --release --example incident
//! ```
//!
//! In a scratch repository a source is rewritten at the same size within the second in which
//! Python has cached it. Shown side by side: what plain Python runs then, what it runs with
//! `PYTHONDONTWRITEBYTECODE=1`, what it runs after pycgate's git hooks, and what runs under
//! `pycgate gate`. Ends with 1 if the incident did not happen or pycgate did not prevent it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser as _;
use pycgate::cli;

/// How often a situation is tried anew when the second ended in the middle of it.
const ATTEMPTS: usize = 20;

/// What git is configured with, in a home of its own.
const GITCONFIG: &str = "[user]\n\tname = A U Thor\n\temail = author@example.org\n\
    [init]\n\tdefaultBranch = main\n[core]\n\tautocrlf = false\n[gc]\n\tauto = 0\n";

/// The hooks by which pycgate hears of commits and checkouts.
const HOOKS: [(&str, &str); 2] = [
    ("pre-commit", include_str!("../hooks/pre-commit")),
    ("post-checkout", include_str!("../hooks/post-checkout")),
];

fn main() -> ExitCode {
    let called = std::env::args_os().next().unwrap_or_default();
    if Path::new(&called).file_name() == Some("pycgate".as_ref()) {
        return as_pycgate();
    }
    match incident() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("incident: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The program itself: `cargo run --example` builds no other binary, so the scratch directory has
/// a symlink `pycgate` to this one.
fn as_pycgate() -> ExitCode {
    let cli = cli::Cli::parse();
    let done = match &cli.command {
        cli::Command::Gate(gate) => gate.run(&cli.global),
        cli::Command::Hook(hook) => hook.run(&cli.global),
        _ => Err(anyhow::anyhow!("the example only has `gate` and `hook`")),
    };
    done.unwrap_or_else(|error| {
        eprintln!("pycgate: error: {error:#}");
        pycgate::exit::Exit::INCONCLUSIVE
    })
    .into()
}

/// A way in which a source gets its new content, without a moment for Python to notice.
struct Situation {
    title: &'static str,
    source: &'static str,
    /// The content that Python has cached, and the one that is on disk in the end.
    contents: [&'static str; 2],
    /// What Python is asked, and what it answers for either content.
    ask: &'static [&'static str],
    answers: [&'static str; 2],
    /// The history, before the second that counts.
    prepare: fn(&Scratch) -> Result<()>,
    /// Puts the first content in place.
    before: fn(&Scratch, &Situation) -> Result<()>,
    /// Puts the second content in place.
    act: fn(&Scratch, &Situation) -> Result<()>,
    /// Whether git runs a hook in `act`.
    has_event: bool,
}

const ASK: &[&str] = &["-c", "import mod; print(mod.V)"];
/// Ends well where the tests pass: then the mutant has survived.
const TEST: &[&str] = &[
    "-c",
    "import unittest, test_price\n\
     result = unittest.TestResult()\n\
     unittest.defaultTestLoader.loadTestsFromModule(test_price).run(result)\n\
     print('SURVIVED' if result.wasSuccessful() else 'KILLED')",
];

const SITUATIONS: [Situation; 4] = [
    Situation {
        title: "a tracked file is edited",
        source: "mod.py",
        contents: ["V = 'old'\n", "V = 'new'\n"],
        ask: ASK,
        answers: ["old", "new"],
        prepare: |scratch| scratch.commit(&[("mod.py", "V = '...'\n")]),
        before: |scratch, this| scratch.write(this.source, this.contents[0]),
        act: |scratch, this| scratch.write(this.source, this.contents[1]),
        has_event: false,
    },
    Situation {
        title: "... and committed",
        source: "mod.py",
        contents: ["V = 'old'\n", "V = 'new'\n"],
        ask: ASK,
        answers: ["old", "new"],
        prepare: |scratch| scratch.commit(&[("mod.py", "V = '...'\n")]),
        before: |scratch, this| scratch.write(this.source, this.contents[0]),
        act: |scratch, this| scratch.commit(&[(this.source, this.contents[1])]),
        has_event: true,
    },
    Situation {
        title: "the branch is switched",
        source: "mod.py",
        contents: ["V = 'old'\n", "V = 'new'\n"],
        ask: ASK,
        answers: ["old", "new"],
        prepare: |scratch| {
            scratch.commit(&[("mod.py", "V = 'old'\n")])?;
            scratch.git(&["checkout", "-q", "-b", "topic"])?;
            scratch.commit(&[("mod.py", "V = 'new'\n")])
        },
        before: |scratch, _| scratch.git(&["checkout", "-q", "main"]),
        act: |scratch, _| scratch.git(&["checkout", "-q", "topic"]),
        has_event: true,
    },
    Situation {
        title: "a mutant meets its test",
        source: "price.py",
        contents: [
            "def total(n):\n    return n * 5\n",
            "def total(n):\n    return n + 5\n",
        ],
        ask: TEST,
        answers: ["SURVIVED", "KILLED"],
        prepare: |scratch| {
            let test = "import unittest, price\n\nclass Test(unittest.TestCase):\n    \
                        def test_total(self):\n        self.assertEqual(price.total(3), 15)\n";
            scratch.commit(&[("test_price.py", test)])
        },
        before: |scratch, this| scratch.write(this.source, this.contents[0]),
        act: |scratch, this| scratch.write(this.source, this.contents[1]),
        has_event: false,
    },
];

/// What Python answered, one situation.
struct Answers {
    plain: String,
    no_writing: String,
    hooks: Option<String>,
    gate: String,
}

fn incident() -> Result<bool> {
    let python = find_python()?;
    introduce(&python)?;
    let (mut happened, mut prevented) = (0, 0);
    for situation in &SITUATIONS {
        let answers = run(situation, &python)?;
        let [old, new] = situation.answers;
        happened += usize::from(answers.plain == old && answers.no_writing == old);
        let hooks_right = answers.hooks.as_deref().is_none_or(|answer| answer == new);
        prevented += usize::from(answers.gate == new && hooks_right);
        show(situation, &answers);
    }
    let all = SITUATIONS.len();
    anstream::println!(
        "\nHappened {happened} of {all} times with Python alone, prevented {prevented} of {all} \
         times by pycgate."
    );
    Ok(happened == all && prevented == all)
}

fn introduce(python: &Path) -> Result<()> {
    let version = |program: &Path| -> Result<String> {
        let output = Command::new(program).arg("--version").output();
        let output = output.with_context(|| format!("cannot run {}", program.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let [python, git] = [version(python)?, version(Path::new("git"))?];
    anstream::println!("{python}, {git}");
    anstream::println!(
        "A source is rewritten at the same size within the second in which Python has\n\
         cached it. What does Python run next? (old and SURVIVED: code that is gone)\n"
    );
    let heads = [
        [
            "",
            "on disk",
            "Python",
            "PYTHONDONTWRITE",
            "pycgate",
            "pycgate",
        ],
        ["", "", "alone", "BYTECODE=1", "hooks", "gate"],
    ];
    for [title, truth, plain, no_writing, hooks, gate] in heads {
        let cells = format!("{title:24} {truth:7} {plain:8} {no_writing:15} {hooks:8} {gate}");
        anstream::println!("{}", cells.trim_end());
    }
    anstream::println!("{}", "-".repeat(74));
    Ok(())
}

fn show(situation: &Situation, answers: &Answers) {
    let new = situation.answers[1];
    let cell = |answer: &str, width: usize| {
        let colour = match answer {
            "-" => return format!("{answer:width$}"),
            right if right == new => AnsiColor::Green,
            _ => AnsiColor::Red,
        };
        let style = Style::new().fg_color(Some(colour.into()));
        format!("{style}{answer:width$}{style:#}")
    };
    anstream::println!(
        "{:24} {:7} {} {} {} {}",
        situation.title,
        new,
        cell(&answers.plain, 8),
        cell(&answers.no_writing, 15),
        cell(answers.hooks.as_deref().unwrap_or("-"), 8),
        cell(&answers.gate, 0),
    );
}

/// The situation in one second, and what Python answers in each way. Python alone changes nothing
/// in a stale entry, so the three can be asked one after the other; the hooks get a repository
/// of their own.
fn run(situation: &Situation, python: &Path) -> Result<Answers> {
    let scratch = reach(situation, python, false)?;
    let plain = scratch.ask(python, situation, None)?;
    let no_writing = scratch.ask(python, situation, Some(("PYTHONDONTWRITEBYTECODE", "1")))?;
    let gate = scratch.ask_under_gate(python, situation)?;
    let empty = scratch.base().join("empty-prefix");
    let prefix = empty.to_str().context("the temporary directory is UTF-8")?;
    let truth = scratch.ask(python, situation, Some(("PYTHONPYCACHEPREFIX", prefix)))?;
    ensure!(
        truth == situation.answers[1],
        "Python answers {truth:?} even without any bytecode"
    );
    let hooks = if situation.has_event {
        let scratch = reach(situation, python, true)?;
        Some(scratch.ask(python, situation, None)?)
    } else {
        None
    };
    Ok(Answers {
        plain,
        no_writing,
        hooks,
        gate,
    })
}

/// A scratch repository in which the situation has happened within one second.
fn reach(situation: &Situation, python: &Path, hooks: bool) -> Result<Scratch> {
    for _ in 0..ATTEMPTS {
        let scratch = Scratch::new()?;
        (situation.prepare)(&scratch)?;
        if hooks {
            scratch.install_hooks()?;
        }
        start_of_a_second();
        (situation.before)(&scratch, situation)?;
        let before = scratch.stamp(situation.source)?;
        let cached = scratch.ask(python, situation, None)?;
        ensure!(
            cached == situation.answers[0],
            "Python answers {cached:?} before anything has happened"
        );
        (situation.act)(&scratch, situation)?;
        if scratch.stamp(situation.source)? == before {
            return Ok(scratch);
        }
    }
    bail!("this machine is too slow: one second was never enough in {ATTEMPTS} attempts")
}

/// A repository, a home and a `pycgate` on PATH.
struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("pycgate-incident-")
            .tempdir()?;
        let scratch = Self { directory };
        for name in ["work", "home", "bin"] {
            fs::create_dir(scratch.base().join(name))?;
        }
        fs::write(scratch.base().join("home/.gitconfig"), GITCONFIG)?;
        symlink(std::env::current_exe()?, scratch.base().join("bin/pycgate"))?;
        scratch.git(&["init", "-q"])?;
        Ok(scratch)
    }

    fn base(&self) -> &Path {
        self.directory.path()
    }

    /// A command in the work tree that gets nothing of the caller's settings for git and Python.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["PYTHON", "GIT_", "PYCGATE_"]
                .iter()
                .any(|prefix| text.starts_with(prefix))
            {
                command.env_remove(name);
            }
        }
        let bin = self.base().join("bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(bin).chain(std::env::split_paths(&path));
        command
            .current_dir(self.base().join("work"))
            .env(
                "PATH",
                std::env::join_paths(path).expect("PATH had no quotes before"),
            )
            .env("HOME", self.base().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("XDG_CONFIG_HOME")
            .stdin(Stdio::null());
        command
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        output_of(self.command("git").args(arguments)).map(drop)
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.base().join("work").join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
    }

    fn commit(&self, files: &[(&str, &str)]) -> Result<()> {
        for (name, content) in files {
            self.write(name, content)?;
            self.git(&["add", name])?;
        }
        self.git(&["commit", "-q", "-m", "a commit"])
    }

    fn install_hooks(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = self.base().join("work/.git/hooks");
        fs::create_dir_all(&directory)?;
        for (name, content) in HOOKS {
            let path = directory.join(name);
            fs::write(&path, content)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    /// What Python compares: the second of the last change, and the size.
    fn stamp(&self, source: &str) -> Result<(i64, u64)> {
        let stat = fs::metadata(self.base().join("work").join(source))?;
        Ok((stat.mtime(), stat.size()))
    }

    fn ask(
        &self,
        python: &Path,
        situation: &Situation,
        variable: Option<(&str, &str)>,
    ) -> Result<String> {
        output_of(self.command(python).args(situation.ask).envs(variable))
    }

    fn ask_under_gate(&self, python: &Path, situation: &Situation) -> Result<String> {
        let mut command = self.command("pycgate");
        output_of(command.args(["gate", "--"]).arg(python).args(situation.ask))
    }
}

/// What a command says on standard output; it must succeed.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The file of `python3`, past version managers' shims, which take too long for one second.
fn find_python() -> Result<PathBuf> {
    let code = "import sys; sys.version_info >= (3, 8) or sys.exit(sys.version); \
                print(sys.executable)";
    output_of(Command::new("python3").args(["-I", "-c", code]))
        .map(PathBuf::from)
        .context("the incident needs a `python3` on PATH, 3.8 or later")
}

/// Returns just after a second of the clock has begun.
fn start_of_a_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let behind = now.expect("the clock is past 1970").subsec_nanos();
    // A file's time may be a timer tick behind the clock: wait that much longer.
    std::thread::sleep(Duration::from_nanos(u64::from(1_010_000_000 - behind)));
}
