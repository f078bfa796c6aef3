//! Time: situations that one second must hold, and entries old enough to be settled.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::command::clean;
use super::interpreter;

/// How often a situation is tried anew when the second ended in the middle of it.
const ATTEMPTS: usize = 60;

/// Returns just after a second of the clock has begun, so that nearly all of it is left.
pub fn start_of_a_second() {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    // A file's time may be a timer tick behind the clock: the first 10 ms do not belong to us.
    let behind = u64::from(now.subsec_nanos());
    if !(10_000_000..60_000_000).contains(&behind) {
        let left = (1_010_000_000 - behind) % 1_000_000_000;
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// Tries a situation until it gives a result: `None` where what it needs did not come about.
///
/// # Panics
/// Where it never gave one: a test that did not race has shown nothing.
pub fn until_it_happens<T>(mut situation: impl FnMut() -> Option<T>) -> T {
    (0..ATTEMPTS)
        .find_map(|_| situation())
        .unwrap_or_else(|| panic!("the situation never came about in {ATTEMPTS} attempts"))
}

/// Runs `situation` right after a second begins, until it gives a result. It gives `None` where
/// the second ended in the middle (see [`super::pyc::matches`]) and must be able to start anew.
///
/// # Panics
/// Where it never gave one: a test that did not race has shown nothing.
pub fn in_one_second<T>(mut situation: impl FnMut() -> Option<T>) -> T {
    in_one_second_after(|| {}, |()| situation())
}

/// The same, where each attempt begins with something to prepare that need not be in that second.
///
/// # Panics
/// As [`in_one_second`].
pub fn in_one_second_after<P, T>(
    mut prepare: impl FnMut() -> P,
    mut situation: impl FnMut(P) -> Option<T>,
) -> T {
    until_it_happens(|| {
        let prepared = prepare();
        start_of_a_second();
        situation(prepared)
    })
}

/// Which margin an entry gets.
#[derive(Clone, Copy, Debug)]
pub enum Margin {
    /// Entries of plain imports: 2 s and more.
    Plain,
    /// Entries of tools, pytest's for instance: 10 s and more.
    Tool,
}

/// Waits until an entry written now is later than the last touch of all these sources by more
/// than the margin. Write the sources of many trees, wait once, then import.
pub fn wait_out(margin: Margin, sources: &[impl AsRef<Path>]) {
    let until = sources
        .iter()
        .map(|source| past_margin(margin, source.as_ref()))
        .max();
    if let Some(until) = until
        && let Ok(left) = until.duration_since(SystemTime::now())
    {
        std::thread::sleep(left);
    }
}

fn past_margin(margin: Margin, source: &Path) -> SystemTime {
    let stat = fs::metadata(source)
        .unwrap_or_else(|error| panic!("cannot stat {}: {error}", source.display()));
    let (fixed, rate) = match margin {
        Margin::Plain => (2000, 16 * 1024),
        Margin::Tool => (10_000, 1024),
    };
    // A file system of whole seconds gets two more.
    let coarse = if stat.ctime_nsec() == 0 { 3000 } else { 0 };
    let size = stat.size() * 1000 / rate;
    let touched = Duration::new(
        u64::try_from(stat.ctime()).expect("after 1970"),
        u32::try_from(stat.ctime_nsec()).expect("less than a second"),
    );
    UNIX_EPOCH + touched + Duration::from_millis(fixed + coarse + size + 60)
}

/// Whether an entry was written before the margin of its source was over. A machine that is stopped
/// for that long in the middle of a compile is a limit that the documents name, and shows nothing.
pub fn within_margin(margin: Margin, entry: &Path, source: &Path) -> bool {
    let written = fs::metadata(entry).and_then(|stat| stat.modified());
    written.is_ok_and(|written| written < past_margin(margin, source))
}

/// How many trees of innocents are made with one wait.
const BATCH: usize = 24;
/// How many modules each of them has.
pub const INNOCENTS: usize = 6;

/// Moves one tree of innocents here. Trees are made many at a time, because their entries have to
/// be later than the margin; a rename changes no time of the files in them.
pub fn move_innocents_to(target: &Path) {
    static READY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut ready = READY.lock().unwrap_or_else(|poison| poison.into_inner());
    if ready.is_empty() {
        *ready = make_innocents();
    }
    let tree = ready.pop().expect("just made");
    drop(ready);
    fs::rename(&tree, target).unwrap_or_else(|error| {
        panic!(
            "cannot rename {} to {}: {error}",
            tree.display(),
            target.display()
        )
    });
}

/// Where this process keeps innocents. Nothing runs at the end of the tests that could remove what
/// is left of them, so those of processes that have ended are removed here.
fn stock() -> PathBuf {
    const HEAD: &str = "pycgate-innocents-";
    let above = std::env::temp_dir();
    for entry in fs::read_dir(&above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(HEAD));
        let owner = owner.and_then(|owner| Pid::from_raw(owner.parse().ok()?));
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(Errno::SRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    above.join(format!("{HEAD}{}", std::process::id()))
}

fn make_innocents() -> Vec<PathBuf> {
    let mut trees = Vec::new();
    let mut sources = Vec::new();
    let stock = stock();
    for number in 0..BATCH {
        let tree = stock.join(number.to_string());
        fs::create_dir_all(&tree).expect("a directory");
        for number in 0..INNOCENTS {
            let source = tree.join(format!("innocent{number}.py"));
            fs::write(&source, format!("V = {number}\n")).expect("a source");
            sources.push(source);
        }
        trees.push(tree);
    }
    wait_out(Margin::Plain, &sources);
    let mut command = Command::new(&interpreter::main().path);
    clean(&mut command);
    let status = command
        .args(["-m", "compileall", "-q"])
        .args(&trees)
        .stdin(Stdio::null())
        .status()
        .expect("the interpreter starts");
    assert!(status.success(), "compileall failed");
    trees
}
