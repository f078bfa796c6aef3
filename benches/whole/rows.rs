//! The rows of the table: what is compared with what, and the limit it has to keep.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

use crate::Lab;
use crate::measure::{
    Contender, Timing, clean, forget_names, has, instructions, interleaved, peak_memory, run,
};
use crate::trees;

/// One row: contenders, the first of which is pycgate, and limits as ratios to the second.
pub struct Row {
    pub title: String,
    pub timings: Vec<Timing>,
    /// Largest wall time of the first as a multiple of the second.
    pub wall_limit: Option<f64>,
    /// Largest CPU time of the first as a multiple of the second.
    pub cpu_limit: Option<f64>,
    /// Other figures.
    pub figures: Vec<Figure>,
}

/// A figure beside the times.
pub struct Figure {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    pub limit: Option<f64>,
}

impl Figure {
    fn new(what: impl Into<String>, value: f64, unit: &'static str, limit: Option<f64>) -> Self {
        Self {
            what: what.into(),
            value,
            unit,
            limit,
        }
    }
}

impl Row {
    fn new(title: impl Into<String>, timings: Vec<Timing>, wall_limit: Option<f64>) -> Self {
        Self {
            title: title.into(),
            timings,
            wall_limit,
            cpu_limit: None,
            figures: Vec::new(),
        }
    }

    /// Wall and CPU time of the first as multiples of the second's.
    pub fn ratio(&self) -> Option<(f64, f64)> {
        let [ours, theirs, ..] = self.timings.as_slice() else {
            return None;
        };
        Some(ours.by(theirs))
    }

    pub fn missed(&self) -> bool {
        let over = |limit: Option<f64>, value: f64| limit.is_some_and(|limit| value > limit);
        self.ratio()
            .is_some_and(|(wall, cpu)| over(self.wall_limit, wall) || over(self.cpu_limit, cpu))
            || self
                .figures
                .iter()
                .any(|figure| over(figure.limit, figure.value))
    }

    /// Adds the number of instructions of one run, where valgrind is there to count them.
    fn count(&mut self, root: &Path, lab: &Lab, words: &[&str]) -> Result<()> {
        let program = lab.pycgate.display().to_string();
        let all: Vec<&str> = std::iter::once(program.as_str())
            .chain(words.iter().copied())
            .collect();
        match instructions(root, &all)? {
            Some(count) => self.figures.push(Figure::new(
                "Instructions, as callgrind counts them",
                count as f64 / 1e6,
                "million",
                None,
            )),
            None => println!("valgrind is not here: {} is not counted", self.title),
        }
        Ok(())
    }
}

pub fn all(lab: &Lab, sizes: &[usize]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &modules in sizes {
        let root = trees::warm(lab, &format!("tree-{modules}"), modules)?;
        rows.push(gate(lab, &root, modules)?);
        if modules == 20_000 || sizes.len() == 1 {
            rows.push(check(lab, &root, modules)?);
            // These change their tree, so it is made anew each time.
            let root = trees::warm(lab, "tree-of-hooks", modules)?;
            fs::remove_file(root.join(".made"))?;
            rows.extend(hooks(lab, &root, modules)?);
            rows.push(purge(lab, &root)?);
        }
    }
    if sizes.len() > 1 {
        rows.push(growth(lab, 2_000, 20_000, 10.0)?);
        rows.push(growth(lab, 20_000, 100_000, 5.2)?);
        rows.push(other_files(lab)?);
        rows.push(sweep(lab)?);
    }
    Ok(rows)
}

fn ours(lab: &Lab, name: &str, words: &[&str]) -> Contender {
    let program = lab.pycgate.display().to_string();
    Contender::new(
        name,
        std::iter::once(program).chain(words.iter().map(ToString::to_string)),
    )
}

fn gate(lab: &Lab, root: &Path, modules: usize) -> Result<Row> {
    let this = std::env::current_exe()?.display().to_string();
    let mut contenders = vec![
        ours(lab, "pycgate gate", &["gate"]),
        Contender::new("git status", ["git", "status", "--porcelain"]),
        Contender::new(
            "stat walk, two threads (the floor)",
            [this.as_str(), "--floor", "."],
        ),
        Contender::new("find", ["find", ".", "-name", "*.pyc"]),
    ];
    match ["fdfind", "fd"].into_iter().find(|name| has(name)) {
        Some(fd) => contenders.push(Contender::new("fd", [fd, "-HI", "-e", "pyc"])),
        None => println!("fd is not here: left out"),
    }
    let timings = interleaved(root, lab.rounds, &contenders)?;
    let memory = peak_memory(root, &[&lab.pycgate.display().to_string(), "gate"])?;
    let large = modules >= 100_000;
    let floor = timings[2].by(&timings[1]);
    let mut row = Row::new(
        format!("`gate` without command, {modules} modules, warm and settled, clean tree"),
        timings,
        (modules >= 20_000).then_some(if large { 1.1 } else { 1.25 }),
    );
    row.cpu_limit = (modules == 20_000).then_some(1.4);
    row.figures = vec![
        Figure::new("Peak memory", memory, "MB", large.then_some(35.0)),
        Figure::new("Wall time of the floor by git status'", floor.0, "", None),
        Figure::new("CPU time of the floor by git status'", floor.1, "", None),
    ];
    row.count(root, lab, &["gate"])?;
    Ok(row)
}

fn check(lab: &Lab, root: &Path, modules: usize) -> Result<Row> {
    let mut contenders = vec![ours(lab, "pycgate check", &["check"])];
    match venv(lab, "pyclean", &["pyclean==3.7.0"]) {
        Ok(bin) => {
            let pyclean = bin.join("pyclean").display().to_string();
            contenders.push(Contender::new(
                "pyclean --dry-run",
                [pyclean.as_str(), "--dry-run", "."],
            ));
        }
        Err(error) => println!("pyclean could not be installed: {error:#}"),
    }
    contenders.push(Contender::new("find", ["find", ".", "-name", "*.pyc"]));
    let limit = (contenders.len() == 3).then_some(0.2);
    let timings = interleaved(root, lab.rounds, &contenders)?;
    Ok(Row::new(
        format!("`check`, {modules} modules"),
        timings,
        limit,
    ))
}

/// post-checkout with 100 modules changed, and post-index-change with nothing to do.
fn hooks(lab: &Lab, root: &Path, modules: usize) -> Result<Vec<Row>> {
    let changed: Vec<usize> = (0..100).map(|number| number * (modules / 100)).collect();
    let entries = lab.directory.join("saved-entries.tar");
    let old = run(root, &["git", "rev-parse", "HEAD"])?.trim().to_owned();
    for &number in &changed {
        fs::write(root.join(trees::module(number)), trees::body(number, 1))?;
    }
    run(
        root,
        &["git", "commit", "-q", "-a", "-m", "a hundred modules"],
    )?;
    let new = run(root, &["git", "rev-parse", "HEAD"])?.trim().to_owned();
    std::thread::sleep(Duration::from_millis(3500));
    run(root, &["python3", "-m", "compileall", "-q", "."])?;
    let mut archive = vec!["tar", "cf"];
    let archive_path = entries.display().to_string();
    archive.push(&archive_path);
    let directories: Vec<String> = changed
        .iter()
        .map(|&number| format!("{}/__pycache__", trees::package(number)))
        .collect();
    archive.extend(directories.iter().map(String::as_str));
    run(root, &archive)?;
    // The index was written well before now, so that nothing in it is recent.
    std::thread::sleep(Duration::from_secs(61));
    run(root, &["git", "update-index", "--force-write-index"])?;

    let diff = || {
        let words = ["git", "diff", "--name-only", old.as_str(), new.as_str()];
        Contender::new("git diff --name-only", words)
    };
    let switched = ["hook", "post-checkout", &old, &new, "1"];
    let restore = format!("tar xf {archive_path}");
    let hook = ours(lab, "pycgate hook post-checkout", &switched).prepared(restore);
    let timings = interleaved(root, lab.rounds, &[hook, diff()])?;
    let above = timings[0].above(&timings[1]) * 1e3;
    let mut post_checkout = Row::new(
        format!("`hook post-checkout`, 100 of {modules} modules changed"),
        timings,
        Some(2.5),
    );
    let above = Figure::new("Wall time above git diff's", above, "ms", Some(8.0));
    post_checkout.figures.push(above);
    run(root, &["tar", "xf", &archive_path])?;
    post_checkout.count(root, lab, &switched)?;
    run(root, &["tar", "xf", &archive_path])?;

    let index_change = ["hook", "post-index-change", "0", "0"];
    let hook = ours(lab, "pycgate hook post-index-change", &index_change);
    let mut quiet = Row::new(
        format!("`hook post-index-change`, nothing to do, {modules} modules"),
        interleaved(root, lab.rounds, &[hook, diff()])?,
        Some(2.0),
    );
    quiet.count(root, lab, &index_change)?;
    Ok(vec![post_checkout, quiet])
}

fn purge(lab: &Lab, root: &Path) -> Result<Row> {
    let source = trees::module(1);
    let remove = format!("rm -f {}/__pycache__/mod001.*", trees::package(1));
    let contenders = [
        ours(lab, "pycgate purge", &["purge", &source]).prepared(remove),
        Contender::new("/bin/true", ["/bin/true"]),
    ];
    let timings = interleaved(root, lab.rounds, &contenders)?;
    Ok(Row::new(
        "`purge` of one file without entries",
        timings,
        Some(3.0),
    ))
}

/// The same gate in trees of two sizes, in the same rounds.
fn growth(lab: &Lab, from: usize, to: usize, limit: f64) -> Result<Row> {
    let contender = |modules: usize| -> Result<Contender> {
        let root = trees::warm(lab, &format!("tree-{modules}"), modules)?;
        let root = root.display().to_string();
        Ok(ours(
            lab,
            &format!("{modules} modules"),
            &["-C", &root, "gate"],
        ))
    };
    let contenders = [contender(to)?, contender(from)?];
    Ok(Row::new(
        format!("growth of `gate` from {from} to {to} modules"),
        interleaved(&lab.directory, lab.rounds, &contenders)?,
        Some(limit),
    ))
}

/// 2,000 modules beside 300,000 files that are none of Python's business.
fn other_files(lab: &Lab) -> Result<Row> {
    let root = trees::warm(lab, "tree-beside-others", 2_000)?;
    let others = root.join("node_modules");
    if !others.exists() {
        for directory in 0..3_000 {
            let directory = others.join(format!("{:02}/{directory:04}", directory % 60));
            fs::create_dir_all(&directory)?;
            for file in 0..100 {
                fs::write(directory.join(format!("file{file}.js")), "")?;
            }
        }
        fs::write(
            root.join(".gitignore"),
            "__pycache__/\n.made\nnode_modules/\n",
        )?;
    }
    let contenders = [
        ours(lab, "pycgate gate", &["gate"]),
        Contender::new("find", ["find", ".", "-name", "*.pyc"]),
    ];
    Ok(Row::new(
        "`gate`, 2000 modules beside 300,000 other files",
        interleaved(&root, lab.rounds, &contenders)?,
        Some(1.0),
    ))
}

/// A test run that imports sympy and pandas.
fn sweep(lab: &Lab) -> Result<Row> {
    let bin = venv(
        lab,
        "sweep",
        &["pytest==8.3.4", "sympy==1.13.3", "pandas==2.2.3"],
    )?;
    let root = lab.directory.join("sweep");
    fs::create_dir_all(&root)?;
    fs::write(root.join("app.py"), "def double(x):\n    return 2 * x\n")?;
    fs::write(
        root.join("test_app.py"),
        "import pandas\nimport sympy\nimport app\n\n\ndef test_double():\n    assert app.double(2) == 4\n",
    )?;
    if !root.join(".git").exists() {
        run(&root, &["git", "init", "-q", "-b", "main"])?;
    }
    std::thread::sleep(Duration::from_secs(13));
    let python = bin.join("python").display().to_string();
    let pytest = [
        python.as_str(),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
    ];
    run(&root, &pytest)?;
    let program = lab.pycgate.display().to_string();
    let with = |head: &[&str]| {
        head.iter()
            .chain(&pytest)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let venv_root = bin
        .parent()
        .context("the venv has a root")?
        .display()
        .to_string();
    let fresh = "export PYTHONPYCACHEPREFIX=$(mktemp -d); \"$@\"; status=$?; rm -rf \"$PYTHONPYCACHEPREFIX\"; exit $status";
    let everything = format!("find . {venv_root} -name \"*.pyc\" -delete");
    let warm = [
        Contender::new("under pycgate gate", with(&[&program, "gate", "--"])),
        Contender::new("plain, warm", with(&[])),
    ];
    // Apart from the others: what writes thousands of files slows down what comes next.
    let cold = [
        Contender::new("a fresh prefix", with(&["sh", "-c", fresh, "sh"])),
        Contender::new("after deleting every pyc", with(&[])).prepared(everything),
    ];
    let mut timings = interleaved(&root, lab.rounds, &warm)?;
    timings.extend(interleaved(&root, lab.rounds, &cold)?);
    Ok(Row::new(
        "a pytest run that imports sympy and pandas",
        timings,
        Some(1.05),
    ))
}

/// The `bin` of a virtual environment with these packages, made once.
fn venv(lab: &Lab, name: &str, packages: &[&str]) -> Result<PathBuf> {
    let root = lab.directory.join(format!("venv-{name}"));
    let bin = root.join("bin");
    if !root.join(".made").exists() {
        run(
            &lab.directory,
            &[
                "python3",
                "-m",
                "venv",
                "--clear",
                &root.display().to_string(),
            ],
        )?;
        let pip = bin.join("pip").display().to_string();
        let mut words = vec![pip.as_str(), "install", "-q", "--disable-pip-version-check"];
        words.extend(packages);
        run(&lab.directory, &words)?;
        fs::write(root.join(".made"), "")?;
    }
    Ok(bin)
}

/// The least a program can do that looks at every file: list each directory, stat each file, in
/// two threads.
pub fn floor(directory: &Path) -> Result<()> {
    let queue = Mutex::new((vec![directory.to_path_buf()], 0_usize));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = {
                        let mut queue = queue.lock().expect("no thread panics with the lock");
                        match queue.0.pop() {
                            Some(path) => {
                                queue.1 += 1;
                                path
                            }
                            None if queue.1 == 0 => return,
                            None => {
                                drop(queue);
                                std::thread::yield_now();
                                continue;
                            }
                        }
                    };
                    let below = list(&next);
                    let mut queue = queue.lock().expect("no thread panics with the lock");
                    queue.0.extend(below);
                    queue.1 -= 1;
                }
            });
        }
    });
    Ok(())
}

fn list(directory: &Path) -> Vec<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = openat(CWD, directory, flags, Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = Dir::read_from(&handle) else {
        return Vec::new();
    };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name == c"." || name == c".." || name == c".git" {
            continue;
        }
        if entry.file_type() == FileType::Directory {
            below.push(directory.join(name.to_string_lossy().as_ref()));
        } else {
            let _ = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW);
        }
    }
    below
}

/// Versions of everything compared, and the day.
pub fn versions() -> Vec<String> {
    let mut lines: Vec<String> = ["git", "python3", "hyperfine", "rustc"]
        .into_iter()
        .filter_map(|program| {
            let output = clean(program).arg("--version").output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        })
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    lines.push(format!("{cores} cores"));
    if forget_names() {
        lines.push("the kernel's cache of names emptied before each table".into());
    }
    let days = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    if let Ok(output) = clean("date")
        .args(["-u", "-d", &format!("@{days}"), "+%Y-%m-%d"])
        .output()
    {
        lines.insert(0, String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    lines
}
