//! Nothing lost, nothing outside: hostile repositories, faults, races.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pycgate::git::Repo;
use pycgate::payload::{Base, Candidate, Question};

use crate::harness::{Dir, PYCGATE, TestCommand, announce, interpreter, is_root};

/// An entry of an interpreter nobody knows: judged by times alone, and racy when just written.
pub const ENTRY: &str = "mod.cpython-99.pyc";

/// A package with one racy entry.
pub fn package(at: &Path) {
    fs::create_dir_all(at.join("__pycache__")).expect("directories");
    fs::write(at.join("mod.py"), "V = 1\n").expect("a source");
    fs::write(at.join("__pycache__").join(ENTRY), "racy").expect("an entry");
}

/// What lies outside and must stay as it is: its racy entry would go if anybody followed a link.
fn victim(dir: &Dir) -> (PathBuf, Vec<PathBuf>) {
    let victim = dir.beside("victim");
    package(&victim);
    package(&victim.join("pkg"));
    fs::write(victim.join("__pycache__/notes.txt"), "mine").expect("a file");
    let files = files_below(&victim);
    (victim, files)
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn links_lead_nowhere() {
    let dir = Dir::new();
    let (victim, before) = victim(&dir);
    dir.write("linked/mod.py", "V = 1\n");
    symlink(victim.join("__pycache__"), dir.path("linked/__pycache__")).expect("a link");
    symlink(&victim, dir.path("whole")).expect("a link");
    dir.write("mod.py", "V = 1\n");
    dir.git(&["add", "-f", "."]);
    dir.git(&["commit", "-q", "-m", "links"]);
    let done = dir.pycgate(&["gate"]).expect(125);
    assert!(
        done.stderr
            .contains("it lies behind a symlinked __pycache__"),
        "{}",
        done.stderr
    );
    for arguments in [
        &["hook", "post-index-change", "0", "0"][..],
        &["hook", "post-commit"],
        &["purge", "linked", "linked/mod.py"],
        &["purge", "whole/mod.py"],
        &["purge", "../victim/mod.py"],
        &["gate", "--pycache-prefix", ".git/x"],
        &["check"],
    ] {
        dir.pycgate(arguments).run();
    }
    assert_eq!(files_below(&victim), before);
    dir.pycgate(&["purge", "../victim/mod.py"]).expect(2);
}

#[test]
fn configuration_of_the_repository_reaches_nothing_outside() {
    let dir = Dir::new();
    let (victim, before) = victim(&dir);
    let prefix = dir.beside("prefix");
    let inside = prefix.join(dir.root().strip_prefix("/").expect("absolute"));
    fs::create_dir_all(&inside).expect("directories");
    fs::write(inside.join(ENTRY), "racy").expect("an entry");
    dir.write("mod.py", "V = 1\n");
    symlink(&prefix, dir.path("prefix")).expect("a link");
    for (name, text) in [
        (
            "pycgate.toml",
            format!("pycache-prefix = '{}'\n", prefix.display()),
        ),
        ("pycgate.toml", "pycache-prefix = '../prefix'\n".to_owned()),
        ("pycgate.toml", "pycache-prefix = 'prefix'\n".to_owned()),
        (
            "pyproject.toml",
            format!(
                "[tool.pycgate]\npycache-prefix = ['{}']\n",
                victim.display()
            ),
        ),
    ] {
        dir.write(name, &text);
        let done = dir.pycgate(&["gate"]).expect(125);
        assert!(
            done.stderr.contains(name) && done.stderr.contains("outside the work tree"),
            "{}",
            done.stderr
        );
        dir.pycgate(&["hook", "post-commit"]).expect(0);
        fs::remove_file(dir.path(name)).expect("it is there");
    }
    assert!(inside.join(ENTRY).exists());
    assert_eq!(files_below(&victim), before);
    // The user's own word counts.
    dir.pycgate(&["gate", "--pycache-prefix"])
        .arg(&prefix)
        .expect(0);
    assert!(!inside.join(ENTRY).exists());
}

#[test]
fn index_entries_that_lead_outside_are_not_looked_at() {
    let dir = Dir::new();
    let (victim, before) = victim(&dir);
    package(&dir.path(".git/evil"));
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    let absolute = format!("{}/mod.py", victim.display());
    let write = "import hashlib, struct, sys\n\
                 body = b''\n\
                 paths = sorted(path.encode() for path in sys.argv[2:])\n\
                 for path in paths:\n\
                 \x20   one = struct.pack('>10I20sH', 9, 9, 9, 9, 0, 0, 0o100644, 0, 0, 4, b'x' * 20, len(path)) + path\n\
                 \x20   body += one + b'\\0' * (8 - len(one) % 8)\n\
                 body = b'DIRC' + struct.pack('>2I', 2, len(paths)) + body\n\
                 open(sys.argv[1], 'wb').write(body + hashlib.sha1(body).digest())\n";
    let python = dir
        .command(&interpreter::main().path)
        .args(["-c", write, ".git/index"]);
    python
        .args([
            absolute.as_str(),
            "../victim/mod.py",
            "a/../../victim/mod.py",
            ".git/evil/mod.py",
            "mod.py",
        ])
        .ok();
    for arguments in [
        &["hook", "post-index-change", "0", "0"][..],
        &["hook", "pre-commit"],
        &["hook", "post-checkout", "HEAD", "HEAD", "0"],
        &["hook", "post-commit"],
        &["gate"],
        &["check"],
    ] {
        let done = dir.pycgate(arguments).run();
        assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    }
    assert_eq!(files_below(&victim), before);
    assert!(dir.exists(format!(".git/evil/__pycache__/{ENTRY}")));
}

#[test]
fn names_do_not_steer_the_terminal() {
    let dir = Dir::new();
    fs::create_dir(dir.path("__pycache__")).expect("a directory");
    let name = "m\u{1b}[31m\u{202e}\n\u{7}";
    dir.write(format!("{name}.py"), "V = 1\n");
    dir.write(format!("__pycache__/{name}.cpython-99.pyc"), "x");
    for arguments in [
        &["check"][..],
        &["gate", "--dry-run"],
        &["gate", "-v"],
        &["check", "--format", "github"],
    ] {
        let done = dir.pycgate(arguments).run();
        let said = done.stdout + &done.stderr;
        assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said:?}");
    }
}

#[test]
fn errors_and_findings_do_not_steer_the_terminal() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    let quiet = |arguments: &[&str]| {
        let done = dir.pycgate(arguments).run();
        let said = done.stdout + &done.stderr;
        assert!(said.contains("u{1b}"), "{arguments:?}: {said:?}");
        assert!(!said.contains('\u{1b}'), "{arguments:?}: {said:?}");
    };
    dir.write("pycgate.toml", "\"\\u001b[31m\" = 1\n");
    for arguments in [&["gate"][..], &["check"], &["hook", "post-commit"]] {
        quiet(arguments);
    }
    fs::remove_file(dir.path("pycgate.toml")).expect("it is there");
    symlink("/tmp", dir.path("out\u{1b}[31m")).expect("a link");
    quiet(&["doctor"]);
    quiet(&["gate", "-v"]);
}

#[test]
fn tracked_bytecode_stays_in_every_repository() {
    let dir = Dir::new();
    let nested = [dir.path(""), dir.path("nested"), dir.path("deep/er")];
    for root in &nested {
        package(root);
        fs::write(root.join("__pycache__/other.cpython-99.pyc"), "untracked").expect("an entry");
        fs::write(root.join("other.py"), "V = 1\n").expect("a source");
        let git = |arguments: &[&str]| {
            dir.command("git")
                .current_dir(root)
                .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
                .args(arguments)
                .ok();
        };
        git(&["init", "-q"]);
        git(&["add", "-f", "mod.py", &format!("__pycache__/{ENTRY}")]);
        git(&["commit", "-q", "-m", "one"]);
    }
    dir.git(&["worktree", "add", "-q", "tree"]);
    let done = dir.pycgate(&["gate"]).expect(125);
    for place in ["", "nested/", "deep/er/", "tree/"] {
        let path = format!("{place}__pycache__/{ENTRY}");
        assert!(dir.exists(&path), "{path}");
        assert!(
            done.stderr
                .lines()
                .any(|line| line.contains(&format!("{path}: could be stale"))
                    && line.contains("git tracks it")),
            "{}",
            done.stderr
        );
        assert!(!dir.exists(format!("{place}__pycache__/other.cpython-99.pyc")));
    }
    // A partial commit's index holds less, and a scratch index nothing.
    dir.pycgate(&["hook", "pre-commit"])
        .env("GIT_INDEX_FILE", dir.beside("scratch"))
        .expect(0);
    assert!(dir.exists(format!("__pycache__/{ENTRY}")));
}

#[test]
fn what_cannot_be_removed_is_named_and_the_rest_goes() {
    if !is_root() {
        return announce("not root: faults of permission are not tested");
    }
    let dir = Dir::new();
    for name in ["good", "readonly", "closed", "immutable", "bound"] {
        package(&dir.path(name));
    }
    let all = dir
        .command("chown")
        .args(["-R", "65534:65534"])
        .arg(dir.root());
    all.ok();
    let mode = |path: &str, mode| {
        fs::set_permissions(dir.path(path), fs::Permissions::from_mode(mode)).expect("the mode")
    };
    mode("readonly/__pycache__", 0o555);
    mode("closed", 0o000);
    let immutable = format!("immutable/__pycache__/{ENTRY}");
    let fixed = dir
        .command("chattr")
        .arg("+i")
        .arg(dir.path(&immutable))
        .run()
        .status
        == 0;
    let bound = dir.path("bound");
    let mounted = ["--bind", "-oremount,bind,ro"].iter().all(|option| {
        dir.command("mount")
            .arg(option)
            .arg(&bound)
            .arg(&bound)
            .run()
            .status
            == 0
    });
    let done = dir.pycgate(&["gate"]).by_nobody().run();
    let bare = |path: &str| dir.path(path).symlink_metadata().is_ok();
    let outcome = (
        bare(&format!("good/__pycache__/{ENTRY}")),
        bare(&format!("readonly/__pycache__/{ENTRY}")),
        bare(&immutable),
        bare(&format!("bound/__pycache__/{ENTRY}")),
    );
    if mounted {
        dir.command("umount").arg(&bound).run();
    } else {
        announce("the kernel refuses a read-only bind mount: not tested");
    }
    if fixed {
        dir.command("chattr")
            .arg("-i")
            .arg(dir.path(&immutable))
            .run();
    } else {
        announce("the file system knows no immutable files: not tested");
    }
    assert_eq!(done.status, 125, "{}", done.stderr);
    assert_eq!(outcome, (false, true, fixed, mounted));
    let mut named = vec![
        format!("readonly/__pycache__/{ENTRY}: could be stale"),
        "closed: reading the directory failed".to_owned(),
    ];
    named.extend(fixed.then(|| format!("{immutable}: could be stale")));
    named.extend(mounted.then(|| format!("bound/__pycache__/{ENTRY}: could be stale")));
    for line in named {
        assert!(done.stderr.contains(&line), "{line}\n{}", done.stderr);
    }
    mode("closed", 0o755);
}

#[test]
fn faults_of_the_disk_are_inconclusive() {
    let dir = Dir::new();
    package(&dir.path("pkg"));
    let entry = dir.path(format!("pkg/__pycache__/{ENTRY}"));
    let faulty = |fault: &str| {
        package(&dir.path("pkg"));
        let strace = TestCommand::new("strace", dir.root(), &dir.beside(""));
        let strace = strace.args(["-f", "-o", "/dev/null", "-e", &format!("inject={fault}")]);
        let done = strace.arg(PYCGATE).arg("gate").run();
        assert!(
            !done.stderr.contains("panicked"),
            "{fault}: {}",
            done.stderr
        );
        done
    };
    for (fault, named) in [
        ("unlinkat:error=EIO", "pkg"),
        ("unlinkat:error=EROFS", "pkg"),
        (
            "getdents64:error=EIO:when=4+",
            "reading the directory failed",
        ),
    ] {
        let done = faulty(fault);
        assert_eq!(done.status, 125, "{fault}: {}", done.stderr);
        assert!(done.stderr.contains(named), "{fault}: {}", done.stderr);
        assert!(entry.exists());
    }
    // Wherever looking at files begins to fail, no PASS is given while something racy is there.
    let mut failed = 0;
    for first in (1..90).step_by(3) {
        for call in ["newfstatat", "openat", "openat2", "getdents64"] {
            let done = faulty(&format!("{call}:error=EIO:when={first}+"));
            assert!(
                done.status != 0 || !entry.exists(),
                "{call} from {first} on: {}",
                done.stderr
            );
            failed += usize::from(done.status == 125);
        }
    }
    assert!(failed > 0, "no fault was noticed");
    for (arguments, status) in [
        (&["check"][..], 2),
        (&["gate", "--format", "json", "--dry-run"], 125),
        (&["gate", "--help"], 0),
    ] {
        let mut command = dir.pycgate(arguments).into_inner();
        let full = fs::File::create("/dev/full").expect("/dev/full");
        let got = command.stdout(full).status().expect("it runs").code();
        assert!(
            got == Some(status) || arguments.contains(&"--help"),
            "{arguments:?}: {got:?}"
        );
    }
    // A reader that has seen enough is no failure.
    let mut piped = Command::new("sh");
    piped
        .args(["-c", "\"$@\" | true; exit 0", "sh", PYCGATE, "check"])
        .current_dir(dir.root());
    assert!(
        !String::from_utf8_lossy(&piped.output().expect("it runs").stderr).contains("panicked")
    );
}

#[test]
fn odd_files_hang_nobody() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    let cache = dir.path("__pycache__");
    fs::create_dir_all(cache.join("mod.cpython-311.pyc")).expect("a directory by an entry's name");
    dir.command("mkfifo")
        .arg(cache.join("mod.cpython-312.pyc"))
        .ok();
    let _socket = UnixListener::bind(cache.join("mod.cpython-313.pyc")).expect("a socket");
    fs::write(cache.join("mod.cpython-310.pyc"), "").expect("an empty entry");
    let sparse = fs::File::create(cache.join("mod.cpython-39.pyc")).expect("a sparse entry");
    sparse.set_len(4 << 30).expect("4 GiB of nothing");
    symlink("nowhere", cache.join("mod.cpython-38.pyc")).expect("a broken link");
    symlink("mod.cpython-37.pyc", cache.join("mod.cpython-37.pyc")).expect("a loop");
    dir.command("mkfifo").arg(dir.path("pipe.py")).ok();
    fs::write(cache.join("pipe.cpython-311.pyc"), "x").expect("an entry of a FIFO");
    for arguments in [
        &["check", "--all-entries"][..],
        &["explain", "mod.py"],
        &["gate"],
        &["purge", "mod.py"],
        &["hook", "post-commit"],
    ] {
        let done = dir.pycgate(arguments).run();
        assert!(
            matches!(done.status, 0 | 1),
            "{arguments:?}: {}",
            done.stderr
        );
    }
    let kind = fs::symlink_metadata(cache.join("mod.cpython-312.pyc"))
        .expect("the FIFO")
        .file_type();
    assert!(kind.is_fifo(), "what is no file stays");
    assert!(cache.join("mod.cpython-311.pyc").is_dir());
}

#[test]
fn a_directory_swapped_for_a_link_ten_thousand_times_leads_nowhere() {
    const SWAPS: usize = 10_000;
    let dir = Dir::new();
    let (victim, before) = victim(&dir);
    dir.write("keep.py", "V = 1\n");
    package(&dir.path("pkg"));
    dir.git(&["add", "pkg/mod.py", "keep.py"]);
    let swapped = AtomicUsize::new(0);
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let places = [
                ("pkg", victim.join("pkg")),
                ("pkg/__pycache__", victim.join("pkg/__pycache__")),
            ];
            while swapped.load(Ordering::Relaxed) < SWAPS || !enough.load(Ordering::Relaxed) {
                for (name, target) in &places {
                    let (place, aside) = (dir.path(name), dir.path("aside"));
                    let _ = fs::create_dir(dir.path("pkg/__pycache__"));
                    let _ = fs::write(dir.path("pkg/__pycache__").join(ENTRY), "racy");
                    if fs::rename(&place, &aside).is_ok() {
                        symlink(target, &place).expect("a link");
                        std::thread::yield_now();
                        fs::remove_file(&place).expect("the link");
                        fs::rename(&aside, &place).expect("the way back");
                        swapped.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        let begun = Instant::now();
        let mut runs = 0;
        while swapped.load(Ordering::Relaxed) < SWAPS || runs < 40 {
            dir.pycgate(&["gate"]).run();
            dir.pycgate(&["hook", "post-index-change", "0", "0"])
                .expect(0);
            dir.pycgate(&["purge", "pkg"]).run();
            runs += 1;
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "the swaps take too long"
            );
        }
        enough.store(true, Ordering::Relaxed);
    });
    assert_eq!(
        files_below(&victim),
        before,
        "after {} swaps",
        swapped.load(Ordering::Relaxed)
    );
}

#[test]
fn an_untracked_source_that_vanishes_is_no_deletion() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    let repo = Repo::nested(dir.root()).expect("the repository");
    let base = Base::new(&repo, None, Vec::new()).expect("a base");
    let candidate = |path: &str, question| Candidate {
        path: path.into(),
        prefix: "".into(),
        question,
    };
    // What a walk has seen, and what is there no more when it is hashed.
    let seen = vec![
        candidate("untracked.py", Question::Ignored),
        candidate("tracked.py", Question::Nothing),
    ];
    let payload = base.finish(dir.root(), Some(&repo), seen, &|_| false);
    let sources = payload.expect("a payload").sources;
    assert_eq!(
        sources.into_iter().collect::<Vec<_>>(),
        [("tracked.py".into(), None)]
    );
}

#[test]
fn killed_at_any_moment_nothing_is_half_done() {
    let dir = Dir::new();
    for number in 0..300 {
        package(&dir.path(format!("pkg{number}")));
    }
    dir.git(&["add", "."]);
    dir.git(&["commit", "-q", "-m", "one"]);
    for pause in [0, 2, 4, 6, 9, 12, 16, 20, 30] {
        for number in 0..300 {
            dir.write(format!("pkg{number}/__pycache__/{ENTRY}"), "racy");
        }
        let mut gate = dir.pycgate(&["gate", "--report", "report.json"]).spawn();
        std::thread::sleep(Duration::from_millis(pause));
        let _ = gate.kill();
        let _ = gate.wait();
        assert_eq!(dir.git(&["status", "--porcelain", "-uno"]), "");
    }
    dir.pycgate(&["gate"]).expect(0);
}

#[test]
fn a_hook_on_an_untouched_tree_writes_nothing_and_stays_inside() {
    let dir = Dir::new();
    for number in 0..20 {
        dir.write(format!("pkg{number}/mod.py"), "V = 1\n");
    }
    dir.commit("one");
    let log = dir.beside("trace");
    for event in [
        &["post-index-change", "0", "0"][..],
        &["post-commit"],
        &["post-checkout", "HEAD", "HEAD", "1"],
    ] {
        let strace = TestCommand::new("strace", dir.root(), &dir.beside(""));
        let strace = strace
            .args([
                "-f",
                "-e",
                "trace=file,write,unlinkat,unlink,rename,execve,mkdir",
            ])
            .arg("-o")
            .arg(&log);
        strace.arg(PYCGATE).arg("hook").args(event).expect(0);
        let trace = fs::read_to_string(&log).expect("the trace");
        assert!(trace.contains("execve"), "strace has seen nothing: {trace}");
        for line in trace.lines().skip(1) {
            let calls = [
                "unlink", "rename", "mkdir", "write(", "execve", "O_WRONLY", "O_RDWR", "O_CREAT",
            ];
            assert!(
                !calls.iter().any(|call| line.contains(call)),
                "{event:?}: {line}"
            );
            let outside = line.contains("open")
                && line.split('"').nth(1).is_some_and(|path| {
                    let inside = [dir.root(), &dir.beside("home")];
                    let system = [
                        "/etc/",
                        "/lib",
                        "/usr/",
                        "/proc/",
                        "/sys/",
                        "/dev/",
                        "/root/.pyenv/",
                    ];
                    path.starts_with('/')
                        && !inside.iter().any(|root| Path::new(path).starts_with(root))
                        && !system.iter().any(|head| path.starts_with(head))
                });
            assert!(!outside || line.contains("ENOENT"), "{event:?}: {line}");
        }
    }
}

#[test]
fn many_at_once_lose_nothing() {
    torture(Duration::from_secs(6));
}

#[test]
#[ignore = "a minute of torture"]
fn a_minute_of_many_at_once() {
    torture(Duration::from_secs(60));
}

/// Two importers, two editors, two gates, one that switches branches.
fn torture(time: Duration) {
    let python = &interpreter::main().path;
    let dir = Dir::new();
    dir.write(".gitignore", "__pycache__/\n");
    for branch in ["one", "two"] {
        dir.git(&["checkout", "-q", "-B", branch]);
        for number in 0..8 {
            dir.write(format!("mod{number}.py"), format!("V = '{branch}'\n"));
        }
        dir.write("notes.txt", "mine\n");
        dir.commit(branch);
    }
    for number in 0..2 {
        dir.write(format!("edited{number}.py"), "V = 0\n");
    }
    let manifest = |dir: &Dir| -> BTreeMap<PathBuf, Vec<u8>> {
        let files = files_below(dir.root()).into_iter();
        let files = files.filter(|path| {
            !path.to_string_lossy().contains("__pycache__") && !path.starts_with(dir.path(".git"))
        });
        files
            .filter(|path| !path.to_string_lossy().contains("edited"))
            .map(|path| (path.clone(), fs::read(path).expect("it")))
            .collect()
    };
    let before = manifest(&dir);
    let over = Instant::now() + time;
    let (wrong, right, inconclusive) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while Instant::now() < over {
                    let code = "import importlib\nfor n in range(8):\n  try: importlib.import_module('mod%d' % n)\n  except Exception: pass\n";
                    dir.command(python).args(["-c", code]).run();
                }
            });
        }
        for number in 0..2 {
            let dir = &dir;
            scope.spawn(move || {
                for value in 0.. {
                    if Instant::now() >= over {
                        break;
                    }
                    let place = dir.path(format!("edited{number}.py"));
                    let mut file = fs::File::create(place).expect("the source");
                    writeln!(file, "V = {}", value % 10).expect("it is written");
                    std::thread::sleep(Duration::from_millis(30));
                }
            });
        }
        for isolation in ["purge", "fresh"] {
            let (dir, wrong, right, inconclusive) = (&dir, &wrong, &right, &inconclusive);
            scope.spawn(move || {
                while Instant::now() < over {
                    // Two modules may be of two branches while git switches: each alone must be
                    // what its own source says, read before and after.
                    let code = "import ast, sys\n\
                                def says():\n\
                                \x20   try: return open('mod0.py').read()\n\
                                \x20   except OSError: return None\n\
                                before = says()\n\
                                import mod0\n\
                                if before and before == says() and 'V = %r\\n' % mod0.V != before: sys.exit(77)\n";
                    let gate = dir.pycgate(&["gate", "--isolation", isolation, "--"]).arg(python).args(["-c", code]);
                    let done = gate.run();
                    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
                    match done.status {
                        77 if isolation == "fresh" => panic!("a stale import under a fresh prefix: {}", done.stderr),
                        77 => wrong.fetch_add(1, Ordering::Relaxed),
                        125 => inconclusive.fetch_add(1, Ordering::Relaxed),
                        _ => right.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
        scope.spawn(|| {
            let mut branches = ["one", "two"].into_iter().cycle();
            while Instant::now() < over {
                let branch = branches.next().expect("it cycles");
                dir.command("git").args(["checkout", "-q", branch]).run();
                std::thread::sleep(Duration::from_millis(60));
            }
        });
    });
    announce(&format!(
        "torture for {} s: {} gated imports right, {} inconclusive, {} stale by a compile begun before the purge",
        time.as_secs(),
        right.into_inner(),
        inconclusive.into_inner(),
        wrong.into_inner()
    ));
    dir.git(&["checkout", "-q", "-f", "two"]);
    assert_eq!(
        manifest(&dir).keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    assert_eq!(manifest(&dir), before);
}

#[test]
fn configuration_that_is_no_file_hangs_nobody() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    dir.pycgate(&["install"]).ok();
    for name in ["pycgate.toml", "pyproject.toml"] {
        for make in ["mkfifo", "ln -s /dev/zero", "ln -s /proc/self/mem", "mkdir"] {
            dir.command("sh")
                .args(["-c", &format!("{make} {name}")])
                .ok();
            let gate = dir.command("timeout").args(["30", PYCGATE, "gate"]);
            let done = gate.expect(125);
            assert!(done.stderr.contains(name), "{make}: {}", done.stderr);
            let commit = ["30", "git", "commit", "-q", "--allow-empty", "-m", "x"];
            dir.command("timeout").args(commit).expect(0);
            dir.command("rm").args(["-rf", name]).ok();
        }
    }
}

#[test]
fn a_report_overwrites_no_source_and_nothing_of_git() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.commit("one");
    for place in ["mod.py", ".git/index", ".git/new", "new.py"] {
        let done = dir
            .pycgate(&["gate", "--report", place, "--", "true"])
            .expect(125);
        assert!(done.stderr.contains("not overwritten"), "{}", done.stderr);
    }
    assert_eq!(dir.git(&["status", "--porcelain"]), "");
}

#[test]
fn bytecode_beside_a_source_deleted_in_the_payload_goes() {
    let python = interpreter::main();
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.write("pkg/__init__.py", "");
    dir.commit("one");
    dir.write("lib/meant.py", "V = 1\n");
    dir.python(
        python,
        "import compileall; compileall.compile_dir('.', quiet=1, legacy=True)",
    );
    for path in ["mod.py", "pkg/__init__.py", "lib/meant.py"] {
        fs::remove_file(dir.path(path)).expect("it is there");
    }
    assert_eq!(
        dir.import_value(python, "mod"),
        "1",
        "a deleted module is importable"
    );
    dir.pycgate(&["gate"]).expect(0);
    assert!(
        !dir.exists("mod.pyc") && !dir.exists("pkg"),
        "{:?}",
        dir.all_paths()
    );
    assert!(
        dir.exists("lib/meant.pyc"),
        "git has never known its source"
    );
    // A deletion that is committed, and bytecode left on purpose since.
    dir.write("left.py", "V = 1\n");
    dir.git(&["add", "left.py"]);
    dir.git(&["commit", "-q", "-m", "two"]);
    dir.python(
        python,
        "import compileall; compileall.compile_file('left.py', quiet=1, legacy=True)",
    );
    dir.git(&["rm", "-q", "left.py"]);
    dir.git(&["commit", "-q", "-m", "three"]);
    dir.pycgate(&["gate", "--base", "HEAD^"]).expect(0);
    assert!(dir.exists("left.pyc"));
}

#[test]
fn a_start_outside_the_work_tree_is_refused() {
    let dir = Dir::new();
    let other = dir.beside("other");
    fs::create_dir(&other).expect("a directory");
    dir.git(&["config", "core.worktree", other.to_str().expect("UTF-8")]);
    let done = dir.pycgate(&["gate", "--", "true"]).expect(125);
    assert!(
        done.stderr.contains("outside the work tree"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_prefix_is_known_by_its_real_path() {
    let dir = Dir::new();
    dir.write("mod.py", "V = 1\n");
    dir.git(&["add", "-f", "."]);
    dir.git(&["commit", "-q", "-m", "a module"]);
    let place = dir.root().strip_prefix("/").expect("absolute").to_owned();

    // Into a `.git`: nothing is removed, and the gate does not vouch for what it may not touch.
    let data = dir.path(".git/prefix");
    fs::create_dir_all(data.join(&place)).expect("directories");
    fs::write(data.join(&place).join(ENTRY), "racy").expect("an entry");
    let link = dir.beside("link");
    symlink(&data, &link).expect("a link");
    let named = link.to_string_lossy().into_owned();
    for (prefix, named) in [(&data, ".git/prefix"), (&link, &*named)] {
        let done = dir
            .pycgate(&["gate", "--pycache-prefix"])
            .arg(prefix)
            .expect(125);
        assert!(
            done.stderr.contains("inside a `.git`") && done.stderr.contains(named),
            "{}",
            done.stderr
        );
    }
    assert!(data.join(&place).join(ENTRY).exists());

    // Into another repository, which tracks the entry.
    let other = dir.beside("other");
    fs::create_dir_all(other.join(&place)).expect("directories");
    let tracked = other.join(&place).join(ENTRY);
    fs::write(&tracked, "racy").expect("an entry");
    let at = other.to_str().expect("UTF-8");
    dir.git(&["init", "-q", at]);
    dir.git(&["-C", at, "add", "-f", "."]);
    fs::remove_file(&link).expect("it is there");
    symlink(&other, &link).expect("a link");
    let done = dir
        .pycgate(&["gate", "--pycache-prefix"])
        .arg(&link)
        .expect(125);
    assert!(done.stderr.contains("git tracks it"), "{}", done.stderr);
    assert!(tracked.exists());
}

#[test]
fn an_entry_stays_as_long_as_machine_code_built_from_it_does() {
    let dir = Dir::new();
    package(&dir.path("pkg"));
    package(&dir.path("good"));
    let index = "pkg/__pycache__/mod.f-2.py311.nbi";
    fs::write(dir.path(index), "machine code").expect("a file");
    let fix = |flag: &str| {
        let done = dir.command("chattr").arg(flag).arg(dir.path(index)).run();
        done.status == 0
    };
    if !fix("+i") {
        return announce("the file system knows no immutable files: not tested");
    }
    let done = dir.pycgate(&["gate"]).run();
    fix("-i");
    assert_eq!(done.status, 125, "{}", done.stderr);
    assert!(done.stderr.contains(index), "{}", done.stderr);
    let entry = |package: &str| dir.path(package).join("__pycache__").join(ENTRY).exists();
    assert!(entry("pkg") && !entry("good"));
    dir.pycgate(&["gate"]).expect(0);
    assert!(!entry("pkg") && !dir.path(index).exists());
}
