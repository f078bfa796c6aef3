//! Runs commands in interleaved rounds and keeps the medians.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// A command to time: what it is called in the table, its words, and what must be put back before
/// each run.
pub struct Contender {
    pub name: String,
    pub words: Vec<String>,
    pub prepare: Option<String>,
}

impl Contender {
    pub fn new<S: Into<String>>(name: &str, words: impl IntoIterator<Item = S>) -> Self {
        Self {
            name: name.into(),
            words: words.into_iter().map(Into::into).collect(),
            prepare: None,
        }
    }

    pub fn prepared(mut self, shell: String) -> Self {
        self.prepare = Some(shell);
        self
    }
}

/// What one contender took in each round, in seconds.
#[derive(Clone)]
pub struct Timing {
    pub name: String,
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Timing {
    /// Median wall time, in seconds.
    pub fn wall(&self) -> f64 {
        median(self.wall.clone())
    }

    /// Median CPU time, in seconds.
    pub fn cpu(&self) -> f64 {
        median(self.cpu.clone())
    }

    /// Wall time above another contender's, in seconds: the median over the rounds.
    pub fn above(&self, other: &Self) -> f64 {
        median(
            self.wall
                .iter()
                .zip(&other.wall)
                .map(|(a, b)| a - b)
                .collect(),
        )
    }

    /// Wall and CPU time as multiples of another contender's: medians over the rounds' ratios.
    pub fn by(&self, other: &Self) -> (f64, f64) {
        let ratio = |ours: &[f64], theirs: &[f64]| {
            median(ours.iter().zip(theirs).map(|(a, b)| a / b).collect())
        };
        (ratio(&self.wall, &other.wall), ratio(&self.cpu, &other.cpu))
    }
}

/// A child with the environment a user's shell would give it.
pub fn clean(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["PYTHON", "GIT_", "PYCGATE", "PRE_COMMIT"]
            .iter()
            .any(|head| text.starts_with(head))
        {
            command.env_remove(&name);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// Whether `program` starts.
pub fn has(program: &str) -> bool {
    clean(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

pub fn require(program: &str, hint: &str) -> Result<()> {
    ensure!(has(program), "`{program}` does not start: {hint}");
    Ok(())
}

/// Runs a command for its effect.
pub fn run(directory: &Path, words: &[&str]) -> Result<String> {
    let output = clean(words[0])
        .args(&words[1..])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", words[0]))?;
    if !output.status.success() {
        bail!(
            "{words:?} in {}: {}",
            directory.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Times the contenders: `rounds` rounds, each of them once in every round, after one round that
/// does not count. Every other round runs backwards, so that none always follows the same one.
/// Names of other files that the kernel still knows are forgotten first: the more it knows, the
/// longer each look takes.
pub fn interleaved(
    directory: &Path,
    rounds: usize,
    contenders: &[Contender],
) -> Result<Vec<Timing>> {
    forget_names();
    let mut timings: Vec<Timing> = contenders
        .iter()
        .map(|contender| Timing {
            name: contender.name.clone(),
            wall: Vec::new(),
            cpu: Vec::new(),
        })
        .collect();
    for round in 0..=rounds {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let (wall, cpu) = once(directory, &contenders[at])?;
            if round > 0 {
                timings[at].wall.push(wall);
                timings[at].cpu.push(cpu);
            }
        }
    }
    Ok(timings)
}

/// Has the kernel drop what it caches of names and inodes, where it lets us: on Linux, as root
/// (proc_sys_vm(5)). Tells whether it did.
pub fn forget_names() -> bool {
    let _ = Command::new("sync").status();
    std::fs::write("/proc/sys/vm/drop_caches", "2").is_ok()
}

fn once(directory: &Path, contender: &Contender) -> Result<(f64, f64)> {
    let out = tempfile::NamedTempFile::new()?;
    let mut command = clean("hyperfine");
    command
        .args([
            "-N",
            "--runs",
            "1",
            "--ignore-failure",
            "--style",
            "none",
            "--export-json",
        ])
        .arg(out.path());
    if let Some(prepare) = &contender.prepare {
        command.arg("--prepare").arg(format!("sh -c '{prepare}'"));
    }
    let line: Vec<String> = contender
        .words
        .iter()
        .map(|word| format!("'{word}'"))
        .collect();
    let output = command
        .arg(line.join(" "))
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("hyperfine: {}", String::from_utf8_lossy(&output.stderr));
    }
    let json: Value = serde_json::from_slice(&std::fs::read(out.path())?)?;
    let field = |name: &str| {
        json["results"][0][name]
            .as_f64()
            .with_context(|| format!("hyperfine gave no {name}"))
    };
    Ok((field("mean")?, field("user")? + field("system")?))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Peak resident memory of a command, in MB.
pub fn peak_memory(directory: &Path, words: &[&str]) -> Result<f64> {
    let script = "import resource,subprocess,sys\n\
                  subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)\n\
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let mut all = vec!["python3", "-c", script];
    all.extend(words);
    Ok(run(directory, &all)?.trim().parse::<f64>()? / 1000.0)
}

/// Instructions of a command as callgrind counts them, or nothing without valgrind.
pub fn instructions(directory: &Path, words: &[&str]) -> Result<Option<u64>> {
    if !has("valgrind") {
        return Ok(None);
    }
    let out = tempfile::NamedTempFile::new()?;
    let output = clean("valgrind")
        .arg("--tool=callgrind")
        // Given /dev/null, valgrind run by root would put a file in its place.
        .arg(format!("--callgrind-out-file={}", out.path().display()))
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text
        .lines()
        .find_map(|line| line.split("Collected :").nth(1))
        .and_then(|count| count.trim().parse().ok()))
}
