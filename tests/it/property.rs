//! Random histories of sources and imports; after `gate` every module imports what its source
//! says, by every interpreter.
//!
//! The sequences of a run go through time together: each has its directory in one repository, and
//! a wait that all share lies between their rounds, so that there are settled entries, too.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use filetime::{FileTime, set_file_mtime};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::{Dir, Interpreter, interpreter};

const MODULES: usize = 3;
const ROUNDS: usize = 3;
/// More than the margin of so small a source.
const WAIT: Duration = Duration::from_millis(2300);
const THEN: i64 = 1_700_000_000;

/// One step of a history; numbers stand for modules, values and interpreters.
#[derive(Clone, Debug)]
enum Step {
    /// Writes a source, and gives it the time it had before or leaves it with that of now.
    Write {
        module: usize,
        value: u8,
        long: bool,
        keep_time: bool,
    },
    /// Sets a source's time to one of few.
    Time { module: usize, time: usize },
    /// Moves a source over another.
    Rename { from: usize, to: usize },
    /// Changes the mode, and with it the ctime alone.
    Mode { module: usize },
    /// Removes a source.
    Remove { module: usize },
    /// Imports every module.
    Import { interpreter: usize },
    /// Compiles every module to entries with unchecked hashes.
    Unchecked { interpreter: usize },
    /// Puts the entries aside, or what is aside in their place.
    Aside,
}

fn step() -> impl Strategy<Value = Step> {
    let module = 0..MODULES;
    prop_oneof![
        6 => (module.clone(), 0..4u8, prop::bool::weighted(0.1), prop::bool::weighted(0.7)).prop_map(
            |(module, value, long, keep_time)| Step::Write { module, value, long, keep_time }
        ),
        2 => (module.clone(), 0..4usize).prop_map(|(module, time)| Step::Time { module, time }),
        2 => (module.clone(), module.clone()).prop_map(|(from, to)| Step::Rename { from, to }),
        1 => module.clone().prop_map(|module| Step::Mode { module }),
        1 => module.prop_map(|module| Step::Remove { module }),
        6 => (0..2usize).prop_map(|interpreter| Step::Import { interpreter }),
        1 => (0..2usize).prop_map(|interpreter| Step::Unchecked { interpreter }),
        1 => Just(Step::Aside),
    ]
}

type History = Vec<Vec<Step>>;

fn history() -> impl Strategy<Value = History> {
    prop::collection::vec(prop::collection::vec(step(), 1..7), ROUNDS)
}

/// An interpreter that forks for each import: as fresh as one that has just been started, and
/// much sooner there.
struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    hashes: bool,
}

const WORKER: &str = "
import os, sys
def work(job, names):
    for name in names:
        try:
            if job == 'unchecked':
                import py_compile
                mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
                py_compile.compile(name + '.py', doraise=True, invalidation_mode=mode)
            else:
                sys.dont_write_bytecode = job == 'look'
                yield __import__(name).V
        except ImportError:
            yield 'absent'
        except Exception as error:
            yield 'error:' + type(error).__name__
for line in iter(sys.stdin.readline, ''):
    job, place, names = line.rstrip('\\n').split('\\t')
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        if os.path.isdir(place):
            os.chdir(place)
        sys.path.insert(0, place)
        os.write(w, ' '.join(work(job, names.split())).encode())
        os._exit(0)
    os.close(w)
    said = os.read(r, 4096).decode()
    os.close(r)
    os.waitpid(child, 0)
    sys.stdout.write(said + '\\n')
    sys.stdout.flush()
";

impl Worker {
    fn start(dir: &Dir, python: &Interpreter) -> Self {
        let mut command = dir.command(&python.path).args(["-c", WORKER]).into_inner();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the interpreter starts");
        Self {
            requests: child.stdin.take().expect("it is piped"),
            answers: BufReader::new(child.stdout.take().expect("it is piped")),
            child,
            hashes: python.version >= (3, 7),
        }
    }

    fn ask(&mut self, job: &str, place: &Path) -> Vec<String> {
        let mut names = String::new();
        for module in 0..MODULES {
            let _ = write!(names, "m{module} ");
        }
        writeln!(self.requests, "{job}\t{}\t{names}", place.display()).expect("it listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        answer.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn source(place: &Path, module: usize) -> PathBuf {
    place.join(format!("m{module}.py"))
}

fn act(step: &Step, place: &Path, workers: &mut [Worker], first: usize) {
    match *step {
        Step::Write {
            module,
            value,
            long,
            keep_time,
        } => {
            let path = source(place, module);
            let before = fs::metadata(&path).ok();
            let pad = if long { "# more\n" } else { "" };
            let text = format!("V = '{}'\n{pad}", char::from(b'a' + value));
            fs::write(&path, text).expect("a source");
            if let Some(before) = before.filter(|_| keep_time) {
                let mtime = FileTime::from_last_modification_time(&before);
                set_file_mtime(&path, mtime).expect("the mtime");
            }
        }
        Step::Time { module, time } => {
            let times = [
                FileTime::from_unix_time(THEN, 0),
                // Rounded up to the same second by everything but Python 2.
                FileTime::from_unix_time(THEN - 1, 999_999_950),
                FileTime::from_unix_time(THEN + (1 << 32), 0),
                FileTime::now(),
            ];
            let _ = set_file_mtime(source(place, module), times[time]);
        }
        Step::Rename { from, to } => {
            let _ = fs::rename(source(place, from), source(place, to));
        }
        Step::Mode { module } => {
            let path = source(place, module);
            if let Ok(stat) = fs::metadata(&path) {
                let mode = stat.permissions().mode() ^ 0o011;
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode");
            }
        }
        Step::Remove { module } => {
            let _ = fs::remove_file(source(place, module));
        }
        Step::Import { interpreter } => {
            let worker = (first + interpreter) % workers.len();
            workers[worker].ask("import", place);
        }
        Step::Unchecked { interpreter } => {
            let worker = (first + interpreter) % workers.len();
            if workers[worker].hashes {
                workers[worker].ask("unchecked", place);
            }
        }
        Step::Aside => {
            let cache = place.join("__pycache__");
            let aside = place.join("aside");
            let between = place.join("between");
            let _ = fs::rename(&cache, &between);
            let _ = fs::rename(&aside, &cache);
            let _ = fs::rename(&between, &aside);
        }
    }
}

/// What the source says, by reading it.
fn truth(place: &Path, module: usize) -> String {
    match fs::read_to_string(source(place, module)) {
        Ok(text) => text.split('\'').nth(1).expect("a value").to_owned(),
        Err(_) => "absent".to_owned(),
    }
}

/// What a run of many histories has shown.
struct Outcome {
    /// Number of the history, and what is wrong after the gate.
    wrong: Vec<(usize, String)>,
    /// Imports that were stale before the gate.
    stale_before: usize,
    /// Entries that the gate left where they were.
    kept: u64,
}

/// All histories side by side in one repository, then one gate.
fn run(histories: &[History]) -> Outcome {
    let dir = Dir::new();
    let mut workers: Vec<Worker> = interpreter::all()
        .iter()
        .map(|python| Worker::start(&dir, python))
        .collect();
    let places: Vec<PathBuf> = (0..histories.len())
        .map(|number| dir.path(format!("history{number}")))
        .collect();
    for place in &places {
        fs::create_dir(place).expect("a directory");
    }
    for round in 0..ROUNDS {
        if round > 0 {
            std::thread::sleep(WAIT);
        }
        for (number, (history, place)) in histories.iter().zip(&places).enumerate() {
            // Two interpreters a history, so that they meet again what they have compiled.
            for step in &history[round] {
                act(step, place, &mut workers, number);
            }
        }
    }
    // Nothing is in the payload: entries go for what they are, or not at all.
    dir.commit("as on disk");
    let mut outcome = Outcome {
        wrong: Vec::new(),
        stale_before: 0,
        kept: 0,
    };
    for place in &places {
        for worker in &mut workers {
            let values = worker.ask("look", place);
            let stale = |module: &usize| values[*module] != truth(place, *module);
            outcome.stale_before += (0..MODULES).filter(stale).count();
        }
    }
    let report = dir.pycgate(&["gate", "--format", "json"]).expect(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let count = |name: &str| report["counts"][name].as_u64().expect("a number");
    outcome.kept = count("scanned") - count("purged");
    for (number, place) in places.iter().enumerate() {
        for (worker, python) in workers.iter_mut().zip(interpreter::all()) {
            let values = worker.ask("import", place);
            for (module, value) in values.iter().enumerate() {
                let truth = truth(place, module);
                // For Python 2 an entry without its source is a module, and nobody knows that this
                // one was not meant to be.
                let sourceless = !python.is_3() && truth == "absent";
                if *value != truth && !sourceless {
                    let tag = &python.tag;
                    let wrong = format!("{tag}: m{module} is {value}, its source says {truth}");
                    outcome.wrong.push((number, wrong));
                }
            }
        }
    }
    outcome
}

/// Draws histories and runs them; the first that goes wrong is made as small as it can be.
fn draw_and_run(number: usize) {
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let mut trees: Vec<_> = (0..number)
        .map(|_| history().new_tree(&mut runner).expect("a history"))
        .collect();
    let histories: Vec<History> = trees.iter().map(ValueTree::current).collect();
    let outcome = run(&histories);
    crate::harness::announce(&format!(
        "{number} histories, {} imports stale before the gate, {} entries kept by it",
        outcome.stale_before, outcome.kept
    ));
    if let Some((first, wrong)) = outcome.wrong.first() {
        let tree = &mut trees[*first];
        let smallest = simplest(tree);
        let all = outcome.wrong.len();
        panic!("{all} wrong imports after the gate; the first: {wrong}; in short: {smallest:#?}");
    }
    assert!(
        outcome.stale_before > 0,
        "no history went stale: nothing is shown"
    );
    assert!(outcome.kept > 0, "no entry was kept: nothing is shown");
}

fn simplest(tree: &mut impl ValueTree<Value = History>) -> History {
    let mut smallest = tree.current();
    for _ in 0..40 {
        if !tree.simplify() {
            break;
        }
        while run(&[tree.current()]).wrong.is_empty() {
            if !tree.complicate() {
                return smallest;
            }
        }
        smallest = tree.current();
    }
    smallest
}

#[test]
fn fifty_random_histories() {
    draw_and_run(50);
}

#[test]
#[ignore = "the long form: a thousand histories"]
fn a_thousand_random_histories() {
    draw_and_run(1000);
}
