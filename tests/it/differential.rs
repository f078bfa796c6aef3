//! The payload, made from the stats of one walk, against `git status` on trees dirtied at random.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use filetime::FileTime;
use pycgate::exclude::Exclude;
use pycgate::git::Repo;
use pycgate::payload::Base;
use pycgate::scan::{self, Options};

use crate::harness::{Dir, TestCommand};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

fn git(dir: &Dir, arguments: &[&str]) -> Vec<u8> {
    let command = TestCommand::new("git", dir.root(), dir.root().parent().expect("its base"));
    let output = command
        .args(arguments)
        .into_inner()
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    output.stdout
}

/// The Python sources that `git status` names, and how.
fn status(dir: &Dir) -> BTreeMap<BString, String> {
    let answer = git(
        dir,
        &[
            "--no-optional-locks",
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ],
    );
    answer
        .split(|&byte| byte == 0)
        .filter(|line| line.ends_with(b".py"))
        .map(|line| (line[3..].into(), line[..2].to_str_lossy().into_owned()))
        .collect()
}

fn payload(root: &Path) -> BTreeSet<BString> {
    limited_payload(root, None, &[])
}

fn limited_payload(root: &Path, revision: Option<&str>, only: &[&str]) -> BTreeSet<BString> {
    let repo = Repo::nested(root).expect("a repository");
    let only = only.iter().map(|path| BString::from(*path)).collect();
    let base = Base::new(&repo, revision, only).expect("a base");
    let exclude = Exclude::new::<&str>(&[]).expect("no globs");
    let options = Options {
        root: repo.root(),
        repo: Some(&repo),
        prefixes: &[],
        also: &[],
        exclude: &exclude,
        read_every_header: false,
        keep_all: false,
        numba_all: false,
        payload: Some(&base),
        stamp: false,
        progress: None,
    };
    let payload = scan::whole(&options).expect("a payload").payload;
    payload.sources.into_keys().collect()
}

/// The same names, but for edits that git itself overlooks (same size and second, mtime put back):
/// those are proved by content. `more` allows names that git does not give.
fn agrees(dir: &Dir, what: &str, more: bool) -> usize {
    let expected = status(dir);
    let found = payload(dir.root());
    let missing: Vec<_> = expected
        .iter()
        .filter(|(path, _)| !found.contains(*path))
        .collect();
    assert!(missing.is_empty(), "{what}: git names more: {missing:?}");
    for path in found.iter().filter(|path| !expected.contains_key(*path)) {
        let name = path.to_str().expect("UTF-8");
        let staged = git(
            dir,
            &["--literal-pathspecs", "ls-files", "-s", "-z", "--", name],
        );
        let recorded = staged
            .split(|byte| *byte == b' ')
            .nth(1)
            .unwrap_or_default();
        let actual = git(dir, &["hash-object", "--", name]);
        assert!(
            more || recorded != actual.trim_end(),
            "{what}: {name} is named, and git calls it unchanged"
        );
    }
    expected.len()
}

const FILES: usize = 60;

fn name(number: usize) -> String {
    let directory = ["", "pkg/", "pkg/sub/", "dos/", "id/", "ignored/", "pkg-x/"][number % 7];
    let odd = ["", "", "", ":", "-", "", "we ird\n'", "[a]", "", ""][number % 10];
    format!("{directory}{odd}m{number}.py")
}

fn content(dice: &mut Dice) -> String {
    let end = ["\n", "\n", "\n", "\r\n"][dice.below(4)];
    let id = ["", "", "# $Id$", "# $Id: 0123abcd $"][dice.below(4)];
    format!("V = {}{end}{id}{end}", dice.below(10))
}

/// One change of some file; whatever is there.
fn dirty(dir: &Dir, dice: &mut Dice) -> String {
    let number = dice.below(FILES + 10);
    let name = name(number);
    let path = dir.path(&name);
    let kind = path.symlink_metadata().map(|data| data.file_type());
    let is_file = kind.as_ref().is_ok_and(fs::FileType::is_file);
    let done = match dice.below(12) {
        0 => {
            let _ = fs::remove_file(&path);
            "removed"
        }
        1 | 2 if is_file => {
            // The same size within the same second.
            let text = fs::read_to_string(&path).expect("it");
            let digit = char::from(b'0' + dice.below(10) as u8);
            let new = text.replacen(
                |letter: char| letter.is_ascii_digit(),
                &digit.to_string(),
                1,
            );
            fs::write(&path, new).expect("it");
            "rewritten"
        }
        3 if is_file => {
            let before = path.metadata().expect("it");
            fs::write(&path, content(dice)).expect("it");
            filetime::set_file_mtime(&path, FileTime::from_last_modification_time(&before))
                .expect("its time");
            "rewritten, mtime put back"
        }
        4 if is_file => {
            let mode = [0o644, 0o755][dice.below(2)];
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it");
            "mode"
        }
        5 if is_file => {
            let text = fs::read_to_string(&path).expect("it").replace("\r\n", "\n");
            let text = if dice.below(2) == 0 {
                text.replace('\n', "\r\n")
            } else {
                text
            };
            fs::write(&path, text).expect("it");
            "line ends"
        }
        6 if is_file => {
            let long_ago = FileTime::from_unix_time(1_600_000_000 + dice.below(1000) as i64, 0);
            filetime::set_file_mtime(&path, long_ago).expect("its time");
            "touched"
        }
        7 => {
            let _ = fs::remove_file(&path);
            fs::create_dir_all(path.parent().expect("its directory")).expect("it");
            symlink("m0.py", &path).expect("a symlink");
            "symlink"
        }
        8 => {
            if path.symlink_metadata().is_ok() {
                git(dir, &["--literal-pathspecs", "add", "-f", "--", &name]);
            }
            "staged"
        }
        9 if is_file => {
            git(
                dir,
                &["--literal-pathspecs", "add", "-f", "-N", "--", &name],
            );
            "intended to be added"
        }
        10 => {
            git(
                dir,
                &[
                    "--literal-pathspecs",
                    "rm",
                    "-q",
                    "--cached",
                    "--ignore-unmatch",
                    "-f",
                    "--",
                    &name,
                ],
            );
            "removed from the index"
        }
        _ => {
            let _ = fs::remove_file(&path);
            dir.write(&name, content(dice));
            "written"
        }
    };
    format!("{name} {done}")
}

/// Dirties a tree round for round, with commits between, and compares after each.
fn play(seed: u64, config: &[(&str, &str)], attributes: &str, more: bool) {
    play_in(Dir::new(), seed, config, attributes, more);
}

fn play_in(dir: Dir, seed: u64, config: &[(&str, &str)], attributes: &str, more: bool) {
    for (key, value) in config {
        dir.git(&["config", key, value]);
    }
    let mut dice = Dice(seed);
    dir.write(".gitattributes", attributes);
    dir.write(".gitignore", "ignored/\n*9.py\n!m19.py\n");
    for number in 0..FILES {
        dir.write(name(number), content(&mut dice));
    }
    dir.git(&["-c", "core.safecrlf=false", "add", "-A"]);
    dir.git(&["commit", "-q", "-m", "one"]);
    let mut seen = 0;
    for round in 0..10 {
        let done: Vec<String> = (0..dice.below(14))
            .map(|_| dirty(&dir, &mut dice))
            .collect();
        let what = format!("seed {seed}, {config:?}, {attributes:?}, round {round}: {done:#?}");
        seen += agrees(&dir, &what, more);
        match dice.below(5) {
            0 => dir.commit("more"),
            1 => {
                // Status 1 only says that something needs an update.
                let refresh = dir
                    .command("git")
                    .args(["update-index", "-q", "--really-refresh"]);
                refresh.run();
            }
            2 => {
                // It refuses where something is only intended to be added.
                dir.command("git").args(["stash", "-q", "-u"]).run();
            }
            _ => {}
        }
        seen += agrees(&dir, &format!("{what}, then"), more);
    }
    assert!(seen > 20, "seed {seed}: the tree was dirty: {seen}");
}

/// How many games of each kind are played; more with `PYCGATE_TEST_SEEDS` set.
fn games(usual: u64) -> std::ops::Range<u64> {
    let more = std::env::var("PYCGATE_TEST_SEEDS").ok();
    0..more.and_then(|count| count.parse().ok()).unwrap_or(usual)
}

#[test]
fn plain_trees() {
    for game in games(4) {
        play(game + 1, &[], "", false);
    }
}

#[test]
fn attributes_and_configuration() {
    for game in games(1) {
        let play = |seed: u64, config: &[(&str, &str)], attributes| {
            play(seed + 100 * game, config, attributes, false);
        };
        play(11, &[], "* text=auto\nid/* ident\n");
        play(12, &[], "dos/* text\nid/* ident\npkg/* -text\n");
        play(13, &[("core.autocrlf", "true")], "pkg/* -text\n");
        play(
            14,
            &[("core.autocrlf", "input")],
            "id/* ident\ndos/* text eol=crlf\n",
        );
        play(
            15,
            &[("core.fileMode", "false")],
            "dos/* text=auto eol=lf\n",
        );
        play(16, &[("core.trustctime", "false")], "");
        play(17, &[("core.checkStat", "minimal")], "");
    }
}

#[test]
fn shapes() {
    play(21, &[("index.version", "4")], "", false);
    play(
        22,
        &[
            ("core.splitIndex", "true"),
            ("splitIndex.maxPercentChange", "100"),
        ],
        "",
        false,
    );
    play(
        23,
        &[("feature.manyFiles", "true"), ("index.skipHash", "true")],
        "",
        false,
    );
}

#[test]
fn shapes_that_the_git_command_answers_for() {
    for (seed, init) in [
        (41, &["--ref-format=reftable"][..]),
        (42, &["--object-format=sha256"]),
        (43, &["--ref-format=reftable", "--object-format=sha256"]),
    ] {
        let dir = Dir::plain();
        dir.git(&[&["init", "-q"], init].concat());
        play_in(dir, seed, &[], "* text=auto\nid/* ident\n", false);
    }
}

/// A tree of `pkg/a.py`, `pkg/b.py`, `other/c.py` in one commit on `main`.
fn small() -> Dir {
    let dir = Dir::new();
    for path in ["pkg/a.py", "pkg/b.py", "other/c.py"] {
        dir.write(path, "V = 1\n");
    }
    dir.commit("one");
    dir
}

fn names(found: &BTreeSet<BString>) -> Vec<&str> {
    found
        .iter()
        .map(|path| path.to_str().expect("UTF-8"))
        .collect()
}

/// Against the merge base with a revision, and limited to some paths.
#[test]
fn bases_and_limits() {
    let dir = small();
    dir.git(&["switch", "-q", "-c", "topic"]);
    dir.write("pkg/a.py", "V = 2\n");
    dir.git(&["rm", "-q", "other/c.py"]);
    dir.commit("two");
    dir.git(&["switch", "-q", "main"]);
    dir.write("pkg/b.py", "V = 3\n");
    dir.commit("on main, and none of the topic's");
    dir.git(&["switch", "-q", "topic"]);
    dir.write("pkg/new.py", "V = 4\n");
    dir.write("pkgs.py", "V = 4\n");
    let limited = |base, only| limited_payload(dir.root(), base, only);
    assert_eq!(names(&limited(None, &[])), ["pkg/new.py", "pkgs.py"]);
    assert_eq!(
        names(&limited(Some("main"), &[])),
        ["other/c.py", "pkg/a.py", "pkg/new.py", "pkgs.py"]
    );
    assert_eq!(
        names(&limited(Some("main"), &["pkg"])),
        ["pkg/a.py", "pkg/new.py"]
    );
    assert_eq!(names(&limited(None, &["pkgs.py", "other"])), ["pkgs.py"]);
    assert_eq!(limited(None, &[""]).len(), 2, "the root");

    let repo = Repo::nested(dir.root()).expect("a repository");
    let error = |base: &str| {
        let base = Base::new(&repo, Some(base), Vec::new());
        format!("{:#}", base.err().expect("no base"))
    };
    assert!(
        error("no-such").contains("`no-such` names no commit"),
        "{}",
        error("no-such")
    );
    assert!(
        error("--all").contains("`--all` names no commit"),
        "{}",
        error("--all")
    );
    dir.git(&["switch", "-q", "--orphan", "unrelated"]);
    dir.git(&["commit", "-q", "--allow-empty", "-m", "root"]);
    assert!(
        error("main").contains("no commit in common"),
        "{}",
        error("main")
    );
}

/// A submodule's own changes belong to the payload; a nested repository's do not.
#[test]
fn submodules_and_nested_repositories() {
    let inner = small();
    let dir = small();
    dir.git(&[
        "submodule",
        "--quiet",
        "add",
        inner.root().to_str().expect("UTF-8"),
        "lib",
    ]);
    dir.commit("submodule");
    dir.git(&[
        "clone",
        "-q",
        inner.root().to_str().expect("UTF-8"),
        "nested",
    ]);
    assert_eq!(names(&payload(dir.root())), [""; 0]);
    for top in ["", "lib/", "nested/"] {
        dir.write(format!("{top}pkg/a.py"), "V = 2\n");
        dir.write(format!("{top}pkg/new.py"), "V = 2\n");
    }
    dir.git(&["-C", "lib", "rm", "-q", "other/c.py"]);
    assert_eq!(
        names(&payload(dir.root())),
        [
            "lib/other/c.py",
            "lib/pkg/a.py",
            "lib/pkg/new.py",
            "pkg/a.py",
            "pkg/new.py"
        ]
    );
    // What the submodule's commits say is not asked: its own HEAD is its base.
    dir.git(&["-C", "lib", "add", "-A"]);
    dir.git(&["-C", "lib", "commit", "-q", "-m", "two"]);
    assert_eq!(names(&payload(dir.root())), ["pkg/a.py", "pkg/new.py"]);
}

/// What git is told not to look at is on disk all the same.
#[test]
fn hidden_edits() {
    let dir = small();
    dir.git(&["update-index", "--skip-worktree", "pkg/a.py"]);
    dir.git(&["update-index", "--assume-unchanged", "pkg/b.py"]);
    assert_eq!(names(&payload(dir.root())), [""; 0]);
    dir.write("pkg/a.py", "V = 22\n");
    dir.write("pkg/b.py", "V = 3\n");
    assert_eq!(names(&payload(dir.root())), ["pkg/a.py", "pkg/b.py"]);
    // Left out of the work tree is no deletion.
    fs::remove_file(dir.path("pkg/a.py")).expect("it");
    assert_eq!(names(&payload(dir.root())), ["pkg/b.py"]);
    fs::remove_file(dir.path("pkg/b.py")).expect("it");
    assert_eq!(names(&payload(dir.root())), ["pkg/b.py"]);
}

/// Files that are there although a sparse index keeps their directory folded.
#[test]
fn in_a_folded_directory() {
    let dir = small();
    dir.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
    dir.git(&["sparse-checkout", "set", "pkg"]);
    assert_eq!(dir.git(&["ls-files", "--sparse", "other"]), "other/");
    assert!(!dir.exists("other/c.py"));
    assert_eq!(names(&payload(dir.root())), [""; 0]);
    dir.write("other/c.py", "V = 1\n");
    assert_eq!(names(&payload(dir.root())), [""; 0]);
    dir.write("other/c.py", "V = 2\n");
    dir.write("other/new.py", "V = 2\n");
    assert_eq!(names(&payload(dir.root())), ["other/c.py", "other/new.py"]);
    assert_eq!(status(&dir).len(), 2);
}

#[test]
fn amid_a_conflict() {
    let dir = small();
    dir.git(&["switch", "-q", "-c", "topic"]);
    dir.write("pkg/a.py", "V = 2\n");
    dir.commit("two");
    dir.git(&["switch", "-q", "main"]);
    dir.write("pkg/a.py", "V = 3\n");
    dir.git(&["rm", "-q", "pkg/b.py"]);
    dir.commit("three");
    assert_eq!(
        dir.command("git")
            .args(["merge", "-q", "topic"])
            .run()
            .status,
        1
    );
    assert_eq!(names(&payload(dir.root())), ["pkg/a.py"]);
    agrees(&dir, "a conflict", false);
}

/// No configured command is run: what one would convert counts as changed.
#[test]
fn a_filter_may_name_more() {
    let config = [
        ("filter.loud.clean", "tr a-z A-Z"),
        ("filter.loud.smudge", "cat"),
    ];
    play(31, &config, "pkg/* filter=loud\n", true);

    let dir = small();
    dir.write(".gitattributes", "pkg/* filter=loud\n");
    dir.git(&["config", "filter.loud.clean", "touch ran; cat"]);
    dir.git(&["config", "filter.loud.required", "true"]);
    dir.git(&["config", "core.fsmonitor", "touch ran"]);
    // The same bytes, but git would have to ask the command.
    dir.write("pkg/a.py", "V = 1\n");
    dir.write("other/c.py", "V = 1\n");
    let _ = fs::remove_file(dir.path("ran"));
    assert!(payload(dir.root()).contains(&BString::from("pkg/a.py")));
    assert!(!payload(dir.root()).contains(&BString::from("other/c.py")));
    assert!(!dir.exists("ran"), "no command is run");
}

/// git's own racy case: the index is written in the second in which the file changes again.
#[test]
fn racily_clean() {
    for _ in 0..5 {
        let dir = Dir::new();
        for number in 0..FILES {
            dir.write(name(number), "V = 1\n");
        }
        dir.git(&["add", "-A"]);
        dir.git(&["commit", "-q", "-m", "one"]);
        for number in (0..FILES).step_by(3) {
            dir.write(name(number), "V = 2\n");
        }
        let found = payload(dir.root());
        assert_eq!(found.len(), FILES.div_ceil(3), "{found:?}");
        agrees(&dir, "racily clean", false);
    }
}
