//! Change sets against what git itself says, on every shape of repository and in every state.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use pycgate::git::{Change, ChangeKind, Repo, Tracked, diff};
use pycgate::hooks::Event;
use pycgate::hooks::suspects::suspects;
use pycgate::scan::Wanted;

use crate::harness::{Dir, NOBODY, TestCommand, announce, is_root};

type Set = BTreeSet<(Vec<u8>, char)>;

/// git in some work tree of a scratch directory, its answer in bytes.
fn git_in(dir: &Dir, root: &Path, arguments: &[&str]) -> Vec<u8> {
    let command = TestCommand::new("git", root, dir.root().parent().expect("its base"));
    let mut command = command.args(arguments).into_inner();
    let output = command.output().expect("git starts");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// What `git diff` says of Python sources. Unmerged counts as modified.
fn oracle(dir: &Dir, root: &Path, arguments: &[&str]) -> Set {
    // Without a pathspec: given one, git looks into no folded directory of a sparse index.
    let arguments = [
        &[
            "diff",
            "--name-status",
            "-z",
            "--no-renames",
            "--ignore-submodules",
        ],
        arguments,
    ]
    .concat();
    let answer = git_in(dir, root, &arguments);
    let mut parts = answer.split(|&byte| byte == 0);
    let mut set = Set::new();
    while let (Some([status, ..]), Some(path)) = (parts.next(), parts.next()) {
        let kind = if *status == b'U' {
            'M'
        } else {
            char::from(*status)
        };
        if path.ends_with(b".py") {
            set.insert((path.to_vec(), kind));
        }
    }
    set
}

fn ours(changes: Vec<Change>) -> Set {
    let letter = |kind| match kind {
        ChangeKind::Added => 'A',
        ChangeKind::Modified => 'M',
        ChangeKind::Deleted => 'D',
        ChangeKind::TypeChanged => 'T',
    };
    let set: Set = changes
        .iter()
        .map(|change| (change.path.to_vec(), letter(change.kind)))
        .collect();
    assert_eq!(
        set.len(),
        changes.len(),
        "nothing is named twice: {changes:?}"
    );
    set
}

fn open(root: &Path) -> Repo {
    Repo::nested(root).unwrap_or_else(|error| panic!("{}: {error:#}", root.display()))
}

fn shown(set: &Set) -> Vec<String> {
    set.iter()
        .map(|(path, kind)| format!("{kind} {}", String::from_utf8_lossy(path)))
        .collect()
}

/// Index against HEAD: the same as git says. Gives the number of differences.
fn staged_agrees(dir: &Dir, root: &Path, what: &str) -> usize {
    let expected = oracle(dir, root, &["--cached"]);
    let found = ours(diff::staged(&open(root)).unwrap_or_else(|error| panic!("{what}: {error:#}")));
    assert_eq!(shown(&found), shown(&expected), "{what}: staged");
    expected.len()
}

/// Two revisions: the same as git says, both ways round, whether the index tells of the new one or
/// there is none. Gives the number of differences.
fn revisions_agree(dir: &Dir, root: &Path, old: &str, new: &str, what: &str) -> usize {
    let index = open(root).index_path().to_path_buf();
    let aside = index.with_extension("aside");
    let mut count = 0;
    for (old, new) in [(old, new), (new, old)] {
        let expected = oracle(dir, root, &[old, new]);
        let agrees = |what: &str| {
            let found = ours(
                diff::between(&open(root), old, new)
                    .unwrap_or_else(|error| panic!("{what}: {error:#}")),
            );
            assert_eq!(shown(&found), shown(&expected), "{what}: {old}..{new}");
        };
        agrees(what);
        fs::rename(&index, &aside).expect("an index");
        agrees(&format!("{what}, without an index"));
        fs::rename(&aside, &index).expect("an index");
        count += expected.len();
    }
    count
}

const BYTES: &[u8] = b"pkg/caf\xe9 \n'\".py";

fn first_files(root: &Path) {
    for (path, content) in [
        ("pkg/a.py", "a = 1\n"),
        ("pkg/b.py", "b = 1\n"),
        ("pkg/sub/c.py", "c = 1\n"),
        ("pkg/sub/note.txt", "text\n"),
        ("pkg-x/a.py", "dash = 1\n"),
        ("pkg.py", "pkg = 1\n"),
        ("Case.py", "case = 1\n"),
        ("type.py", "target.py"),
        ("target.py", "t = 1\n"),
        ("mode.py", "m = 1\n"),
        ("swap.py", "file = 1\n"),
        ("folded/deep/f.py", "f = 1\n"),
        ("folded/deep/g.py", "g = 1\n"),
        ("-dash.py", "d = 1\n"),
    ] {
        write(root, path, content);
    }
    fs::write(root.join(OsStr::from_bytes(BYTES)), "odd = 1\n").expect("an odd name");
    symlink("target.py", root.join("link.py")).expect("a symlink");
}

/// Every kind of change at once.
fn change_all(root: &Path) {
    write(root, "pkg/a.py", "a = 2\n");
    remove(root, "pkg/b.py");
    fs::rename(root.join("pkg/sub/c.py"), root.join("pkg/sub/c2.py")).expect("a rename");
    fs::rename(root.join("Case.py"), root.join("case.py")).expect("a rename of case");
    remove(root, "type.py");
    symlink("target.py", root.join("type.py")).expect("a typechange");
    remove(root, "link.py");
    symlink("pkg.py", root.join("link.py")).expect("a link pointed elsewhere");
    fs::set_permissions(root.join("mode.py"), fs::Permissions::from_mode(0o755)).expect("a mode");
    remove(root, "swap.py");
    write(root, "swap.py/inner.py", "inner = 1\n");
    write(root, "pkg/new/n.py", "n = 1\n");
    write(root, "pkg/sub/note.txt", "other\n");
    fs::write(root.join(OsStr::from_bytes(BYTES)), "odd = 2\n").expect("an odd name");
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, content).expect("a file");
}

fn remove(root: &Path, path: &str) {
    fs::remove_file(root.join(path)).expect("a file that was there");
}

fn commit_all(dir: &Dir, root: &Path, message: &str) {
    git_in(dir, root, &["add", "-A"]);
    git_in(dir, root, &["commit", "-q", "-m", message]);
}

/// A repository of some shape, with two commits; gives the root of its work tree.
fn shaped(shape: &str) -> (Dir, PathBuf) {
    let dir = Dir::plain();
    let mut root = dir.root().to_path_buf();
    let init: &[&str] = match shape {
        "sha256" => &["init", "-q", "--object-format=sha256"],
        "reftable" => &["init", "-q", "--ref-format=reftable"],
        "reftable sha256" => &[
            "init",
            "-q",
            "--ref-format=reftable",
            "--object-format=sha256",
        ],
        _ => &["init", "-q"],
    };
    dir.git(init);
    let config: &[(&str, &str)] = match shape {
        "manyFiles" => &[("feature.manyFiles", "true")],
        "skipHash" => &[("index.skipHash", "true")],
        "index v4" => &[("index.version", "4")],
        "split index" => &[
            ("core.splitIndex", "true"),
            ("splitIndex.maxPercentChange", "100"),
        ],
        "untracked cache" => &[("core.untrackedCache", "true")],
        "worktreeConfig" => &[("extensions.worktreeConfig", "true")],
        _ => &[],
    };
    for (key, value) in config {
        dir.git(&["config", key, value]);
    }
    first_files(&root);
    commit_all(&dir, &root, "one");
    match shape {
        "linked worktree" => {
            let linked = dir.beside("linked");
            dir.git(&[
                "worktree",
                "add",
                "-q",
                linked.to_str().expect("UTF-8"),
                "-b",
                "side",
            ]);
            root = linked;
        }
        "partial clone" => {
            dir.git(&["config", "uploadpack.allowFilter", "true"]);
            let clone = dir.beside("partial");
            let source = format!("file://{}", dir.root().display());
            let target = clone.to_str().expect("UTF-8");
            dir.git(&["clone", "-q", "--filter=blob:none", &source, target]);
            root = clone;
        }
        "sparse index" => {
            dir.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
            dir.git(&[
                "sparse-checkout",
                "set",
                "--skip-checks",
                "pkg",
                "pkg-x",
                "swap.py",
            ]);
            let index = git_in(&dir, &root, &["ls-files", "--sparse", "folded"]);
            assert_eq!(index, b"folded/\n", "the index keeps a directory folded");
        }
        _ => {}
    }
    change_all(&root);
    commit_all(&dir, &root, "two");
    match shape {
        "split index" => {
            let git_dir = fs::read_dir(root.join(".git")).expect("it exists");
            let shared = git_dir.filter(|entry| {
                let name = entry.as_ref().expect("an entry").file_name().into_vec();
                name.starts_with(b"sharedindex.")
            });
            assert_ne!(shared.count(), 0, "the index is split");
        }
        "index v4" => {
            let index = fs::read(root.join(".git/index")).expect("an index");
            assert_eq!(index[7], 4);
        }
        _ => {}
    }
    (dir, root)
}

#[test]
fn every_shape_of_repository() {
    for shape in [
        "plain",
        "linked worktree",
        "manyFiles",
        "skipHash",
        "index v4",
        "split index",
        "sparse index",
        "partial clone",
        "sha256",
        "reftable",
        "reftable sha256",
        "untracked cache",
        "worktreeConfig",
    ] {
        let (dir, root) = shaped(shape);
        assert_eq!(
            open(&root).is_libgit2(),
            !shape.starts_with("reftable"),
            "{shape}"
        );
        assert!(
            revisions_agree(&dir, &root, "HEAD^", "HEAD", shape) >= 20,
            "{shape}"
        );
        assert_eq!(staged_agrees(&dir, &root, shape), 0, "{shape}");
        // Everything staged the other way round, and some more.
        git_in(&dir, &root, &["read-tree", "HEAD^"]);
        assert!(staged_agrees(&dir, &root, shape) >= 10, "{shape}");
        git_in(&dir, &root, &["read-tree", "HEAD"]);
        write(&root, "pkg/a.py", "a = 3\n");
        write(&root, "pkg/added.py", "x = 3\n");
        git_in(&dir, &root, &["add", "pkg"]);
        git_in(&dir, &root, &["rm", "-q", "--cached", "pkg-x/a.py"]);
        assert_eq!(staged_agrees(&dir, &root, shape), 3, "{shape}");
        // In a conflict.
        git_in(&dir, &root, &["reset", "-q", "--hard"]);
        git_in(&dir, &root, &["checkout", "-q", "-b", "theirs", "HEAD^"]);
        write(&root, "pkg/a.py", "a = 4\n");
        git_in(&dir, &root, &["commit", "-q", "-am", "theirs"]);
        let merge = TestCommand::new("git", &root, dir.root().parent().expect("its base"));
        assert_eq!(
            merge.args(["merge", "-q", "@{-1}"]).run().status,
            1,
            "{shape}: a conflict"
        );
        assert!(staged_agrees(&dir, &root, shape) >= 10, "{shape}: conflict");
        let (found, troubles) = suspects(&open(&root), &Event::PostIndexChange);
        assert!(troubles.is_empty(), "{shape}: {troubles:?}");
        assert!(
            found.iter().any(|suspect| suspect.path == "pkg/a.py"),
            "{shape}: {found:?}"
        );
    }
}

/// A folded directory that a commit of the index would change.
#[test]
fn a_folded_directory_that_differs_from_head() {
    let (dir, root) = shaped("sparse index");
    git_in(&dir, &root, &["sparse-checkout", "disable"]);
    write(&root, "folded/deep/f.py", "f = 2\n");
    remove(&root, "folded/deep/g.py");
    commit_all(&dir, &root, "three");
    git_in(
        &dir,
        &root,
        &["sparse-checkout", "init", "--cone", "--sparse-index"],
    );
    git_in(
        &dir,
        &root,
        &[
            "sparse-checkout",
            "set",
            "--skip-checks",
            "pkg",
            "pkg-x",
            "swap.py",
        ],
    );
    git_in(&dir, &root, &["reset", "-q", "--soft", "HEAD^"]);
    assert_eq!(
        git_in(&dir, &root, &["ls-files", "--sparse", "folded"]),
        b"folded/\n",
        "still folded"
    );
    assert_eq!(staged_agrees(&dir, &root, "folded"), 2);
    // Left out of the work tree is not gone.
    let (found, troubles) = suspects(&open(&root), &Event::PostIndexChange);
    assert!(troubles.is_empty(), "{troubles:?}");
    let folded: Vec<&Wanted> = found
        .iter()
        .filter(|suspect| suspect.path.starts_with(b"folded/"))
        .collect();
    assert_eq!(folded.len(), 2, "{found:?}");
    assert!(folded.iter().all(|suspect| !suspect.gone), "{folded:?}");
}

#[test]
fn without_a_commit() {
    let dir = Dir::new();
    first_files(dir.root());
    assert_eq!(staged_agrees(&dir, dir.root(), "no index"), 0);
    dir.git(&["add", "-A"]);
    assert!(staged_agrees(&dir, dir.root(), "unborn") >= 14);
    let repo = open(dir.root());
    assert_eq!(repo.resolve("HEAD"), None);
    let (found, troubles) = suspects(&repo, &Event::FrameworkCommit { given: Vec::new() });
    assert!(troubles.is_empty(), "{troubles:?}");
    assert!(found.iter().filter(|suspect| suspect.purge).count() >= 14);
    // An orphan branch: an unborn HEAD in a repository with commits.
    dir.commit("one");
    dir.git(&["switch", "-q", "--orphan", "fresh"]);
    assert_eq!(staged_agrees(&dir, dir.root(), "orphan branch"), 0);
    write(dir.root(), "pkg/a.py", "a = 5\n");
    dir.git(&["add", "-A"]);
    assert_eq!(staged_agrees(&dir, dir.root(), "orphan branch"), 1);
}

#[test]
fn nothing_is_the_empty_tree() {
    for shape in ["plain", "sha256", "reftable"] {
        let (dir, root) = shaped(shape);
        let zeros = "0".repeat(if shape == "sha256" { 64 } else { 40 });
        let all = git_in(&dir, &root, &["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
        let all = all
            .split(|&byte| byte == 0)
            .filter(|path| path.ends_with(b".py"))
            .count();
        let added = ours(diff::between(&open(&root), &zeros, "HEAD").expect("a difference"));
        assert_eq!(added.len(), all, "{shape}");
        assert!(added.iter().all(|(_, kind)| *kind == 'A'), "{shape}");
        let deleted = ours(diff::between(&open(&root), "HEAD", &zeros).expect("a difference"));
        assert!(deleted.iter().all(|(_, kind)| *kind == 'D'), "{shape}");
        assert_eq!(deleted.len(), all, "{shape}");
        assert!(
            diff::between(&open(&root), "HEAD", "no-such-revision").is_err(),
            "{shape}"
        );
        assert!(
            diff::between(&open(&root), "--output=x", "HEAD").is_err(),
            "{shape}"
        );
    }
}

#[test]
fn modes_of_old_trees_are_no_difference() {
    let dir = Dir::new();
    dir.write("pkg/mod.py", "V = 1\n");
    dir.write("tool.py", "V = 1\n");
    let root = dir.root();
    commit_all(&dir, root, "one");
    let new = String::from_utf8(git_in(&dir, root, &["rev-parse", "HEAD^{tree}"])).expect("an id");
    let id = |path: &str| {
        let id = git_in(&dir, root, &["rev-parse", &format!("HEAD:{path}")]);
        hex(id.trim_ascii())
    };
    // As git wrote them in its first months: group-writable files, a leading zero for directories.
    let tree = [
        b"040000 pkg\0".as_slice(),
        &id("pkg"),
        b"100664 tool.py\0",
        &id("tool.py"),
    ]
    .concat();
    fs::write(dir.beside("tree"), tree).expect("a tree");
    let tree = dir.beside("tree").display().to_string();
    let old = git_in(
        &dir,
        root,
        &["hash-object", "-t", "tree", "-w", "--literally", &tree],
    );
    let old = String::from_utf8(old).expect("an id");
    assert_ne!(old, new);
    assert_eq!(
        revisions_agree(&dir, root, old.trim(), new.trim(), "old modes"),
        0
    );
    let commit = git_in(&dir, root, &["commit-tree", "-m", "old", old.trim()]);
    let commit = String::from_utf8(commit).expect("an id");
    git_in(&dir, root, &["update-ref", "HEAD", commit.trim()]);
    assert_eq!(staged_agrees(&dir, root, "old modes"), 0);
}

/// The bytes that hex digits stand for.
fn hex(digits: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// Detached, in the middle of a rebase with a conflict, and amid the flags that hide edits.
#[test]
fn states_of_the_work_tree() {
    let (dir, root) = shaped("plain");
    dir.git(&["checkout", "-q", "--detach", "HEAD^"]);
    write(&root, "pkg/a.py", "a = 6\n");
    dir.git(&["add", "-A"]);
    assert_eq!(staged_agrees(&dir, &root, "detached"), 1);
    dir.git(&["commit", "-q", "-m", "side"]);
    assert!(revisions_agree(&dir, &root, "HEAD", "main", "detached") > 0);
    let rebase = dir.command("git").args(["rebase", "-q", "main"]).run();
    assert_ne!(rebase.status, 0, "a conflict");
    staged_agrees(&dir, &root, "mid-rebase");
    dir.git(&["rebase", "--abort"]);
    assert_eq!(staged_agrees(&dir, &root, "aborted"), 0);

    dir.git(&["checkout", "-q", "-f", "main"]);
    write(&root, "pkg/ita.py", "i = 1\n");
    dir.git(&["add", "-N", "pkg/ita.py"]);
    assert_eq!(staged_agrees(&dir, &root, "intent to add"), 0);
    // Known to HEAD and only intended to be added: deleted, as far as a commit goes.
    dir.git(&["rm", "-q", "--cached", "pkg.py"]);
    dir.git(&["add", "-N", "pkg.py"]);
    assert_eq!(staged_agrees(&dir, &root, "intent to add again"), 1);
    let (found, _) = suspects(&open(&root), &Event::PreCommit { given: Vec::new() });
    let pkg = found.iter().find(|suspect| suspect.path == "pkg.py");
    assert!(
        pkg.is_some_and(|suspect| !suspect.gone),
        "it is on disk: {found:?}"
    );
    dir.git(&["reset", "-q", "--hard"]);

    dir.git(&["update-index", "--skip-worktree", "pkg/a.py"]);
    dir.git(&["update-index", "--assume-unchanged", "target.py"]);
    write(&root, "pkg/a.py", "a = 7\n");
    write(&root, "target.py", "t = 7\n");
    write(&root, "mode.py", "m = 7\n");
    dir.git(&["add", "-u"]);
    assert_eq!(staged_agrees(&dir, &root, "hidden edits"), 1);
    dir.git(&["rm", "-q", "--cached", "pkg-x/a.py"]);
    fs::remove_dir_all(dir.path("pkg-x")).expect("it was there");
    assert_eq!(staged_agrees(&dir, &root, "deleted"), 2);
    let (found, _) = suspects(&open(&root), &Event::PreCommit { given: Vec::new() });
    let gone: Vec<_> = found.iter().filter(|suspect| suspect.gone).collect();
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!(gone[0].path, "pkg-x/a.py");
}

#[test]
fn submodules_are_no_sources() {
    let (dir, root) = shaped("plain");
    let inner = dir.beside("inner");
    fs::create_dir(&inner).expect("a directory");
    git_in(&dir, &inner, &["init", "-q"]);
    write(&inner, "i.py", "i = 1\n");
    commit_all(&dir, &inner, "inner");
    dir.git(&[
        "submodule",
        "--quiet",
        "add",
        inner.to_str().expect("UTF-8"),
        "lib",
    ]);
    assert_eq!(staged_agrees(&dir, &root, "submodule added"), 0);
    dir.git(&["commit", "-q", "-m", "submodule"]);
    write(&root, "lib/i.py", "i = 2\n");
    commit_all(&dir, &root.join("lib"), "inner two");
    dir.git(&["add", "lib"]);
    assert_eq!(staged_agrees(&dir, &root, "submodule moved on"), 0);
    assert_eq!(
        revisions_agree(&dir, &root, "HEAD^", "HEAD", "submodule"),
        0
    );
    // Its own changes are its own.
    assert_eq!(
        revisions_agree(&dir, &root.join("lib"), "HEAD^", "HEAD", "inner"),
        2
    );
    assert_eq!(open(&root.join("lib")).root(), root.join("lib"));
}

/// One staged file among many directories: what git has written down of the trees is used, and
/// what it has not is compared.
#[test]
fn with_and_without_cached_trees() {
    let dir = Dir::new();
    for number in 0..40 {
        write(
            dir.root(),
            &format!("p{}/s{}/m{number}.py", number % 5, number % 4),
            "x = 1\n",
        );
    }
    dir.commit("zero");
    for path in ["p1/s1/m21.py", "p3/s3/m3.py", "p3/s1/m33.py", "p4/x/y/m.py"] {
        write(dir.root(), path, "x = 3\n");
    }
    dir.commit("one");
    dir.git(&["write-tree"]);
    let committed = |what: &str| revisions_agree(&dir, dir.root(), "HEAD^", "HEAD", what);
    assert_eq!(committed("all trees are valid"), 8);
    write(dir.root(), "p3/s1/m13.py", "x = 2\n");
    write(dir.root(), "p3/new/m.py", "x = 2\n");
    dir.git(&["add", "-A"]);
    assert_eq!(staged_agrees(&dir, dir.root(), "some trees are valid"), 2);
    assert_eq!(committed("some trees are valid"), 8);
    dir.git(&["write-tree"]);
    assert_eq!(staged_agrees(&dir, dir.root(), "all trees are valid"), 2);
    assert_eq!(committed("all trees are valid, some of others"), 8);
    // Without the extension.
    let tree = dir.git(&["write-tree"]);
    let listing = git_in(&dir, dir.root(), &["ls-tree", "-r", &tree]);
    dir.git(&["read-tree", "--empty"]);
    dir.command("git")
        .args(["update-index", "--index-info"])
        .input(listing)
        .ok();
    assert_eq!(staged_agrees(&dir, dir.root(), "no tree is known"), 2);
    assert_eq!(committed("no tree is known"), 8);
}

/// Repositories that cannot be read give errors that name them, and nothing is thought untracked.
#[test]
fn what_cannot_be_read() {
    let (dir, root) = shaped("plain");
    let index = fs::read(dir.path(".git/index")).expect("an index");
    for junk in [&b"DIRC junk"[..], &index[..index.len() / 2], &[0; 64]] {
        fs::write(dir.path(".git/index"), junk).expect("an index");
        let error = diff::staged(&open(&root)).expect_err("no index");
        let said = format!("{error:#}");
        assert!(
            said.contains(&dir.path(".git/index").display().to_string()),
            "{said}"
        );
        let (found, troubles) = suspects(&open(&root), &Event::PostIndexChange);
        assert!(found.is_empty() && !troubles.is_empty(), "{found:?}");
    }
    assert!(!Tracked::of(&open(&root)).is_unknown(), "HEAD says it");
    // HEAD cannot say it either.
    fs::write(dir.path(".git/HEAD"), "ref: refs/heads/nowhere\n").expect("a HEAD");
    assert!(Tracked::of(&open(&root)).is_unknown());
    fs::write(dir.path(".git/index"), &index).expect("an index");
    assert!(!Tracked::of(&open(&root)).is_unknown());

    // Trees that are missing. One that the index holds is not missed.
    let (dir, root) = shaped("plain");
    let lose = |revision: &str| {
        let tree = dir.git(&["rev-parse", revision]);
        let place = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
        fs::remove_file(dir.path(place)).expect("it");
        tree
    };
    let both = || {
        [("HEAD^", "HEAD"), ("HEAD", "HEAD^")]
            .map(|(old, new)| diff::between(&open(&root), old, new).expect("a difference"))
    };
    let expected = both();
    lose("HEAD:pkg");
    assert_eq!(both(), expected);
    let tree = lose("HEAD^:pkg");
    let said = format!(
        "{:#}",
        diff::between(&open(&root), "HEAD", "HEAD^").expect_err("no tree")
    );
    assert!(said.contains("pkg") && said.contains(&tree), "{said}");
    let (found, troubles) = suspects(
        &open(&root),
        &Event::SwitchedBranch {
            old: "HEAD".to_owned(),
            new: "HEAD^".to_owned(),
        },
    );
    assert!(
        !troubles.is_empty() && !found.is_empty(),
        "the other sets still count"
    );

    let bare = dir.beside("bare.git");
    dir.git(&["init", "-q", "--bare", bare.to_str().expect("UTF-8")]);
    let done = dir.pycgate(&["check"]).current_dir(&bare).run();
    assert_eq!(done.status, 2);
    assert!(done.stderr.contains("bare repository"), "{}", done.stderr);
    // A `.git` that leads nowhere is no plain directory.
    let broken = dir.beside("broken");
    fs::create_dir(&broken).expect("a directory");
    fs::write(broken.join(".git"), "gitdir: /nonexistent/there\n").expect("a file");
    let done = dir.pycgate(&["check"]).current_dir(&broken).run();
    assert_eq!(done.status, 2, "{}{}", done.stdout, done.stderr);
    assert!(
        done.stderr.contains(broken.to_str().expect("UTF-8")),
        "{}",
        done.stderr
    );
}

/// An index whose paths lead elsewhere: they are dropped.
#[test]
fn hostile_paths_in_an_index() {
    let dir = Dir::new();
    let names = ["xx/victim.py", "aa/bbb/ccc.py", "dddd/e.py", "f/g.py"];
    for name in names {
        write(dir.root(), name, "x = 1\n");
    }
    dir.git(&["add", "-A"]);
    let mut index = fs::read(dir.path(".git/index")).expect("an index");
    for (from, to) in [
        (&b"xx/victim.py"[..], &b"../victim.py"[..]),
        (b"aa/bbb/ccc.py", b"/a//bbb/cc.py"),
        (b"dddd/e.py", b".git/e.py"),
    ] {
        let at = index
            .windows(from.len())
            .position(|part| part == from)
            .expect("the path");
        index[at..at + to.len()].copy_from_slice(to);
    }
    // git writes zeros for no checksum.
    let end = index.len() - 20;
    index[end..].fill(0);
    fs::write(dir.path(".git/index"), index).expect("an index");
    for event in [
        Event::PreCommit {
            given: vec!["../victim.py".into(), "/etc/x.py".into()],
        },
        Event::PostIndexChange,
        Event::PostCommit,
    ] {
        let (found, _) = suspects(&open(dir.root()), &event);
        let paths: Vec<String> = found
            .iter()
            .map(|suspect| suspect.path.to_string())
            .collect();
        assert!(
            paths.iter().all(|path| path == "f/g.py"),
            "{event:?}: {paths:?}"
        );
    }
}

/// What is tracked: by the own index, by the one in use, by HEAD where directories are folded, by
/// the repository around where a `.git` is none.
#[test]
fn what_is_tracked() {
    let dir = Dir::new();
    write(dir.root(), "pkg/__pycache__/kept.cpython-311.pyc", "bytes");
    write(dir.root(), "pkg/a.py", "a = 1\n");
    write(
        dir.root(),
        "folded/__pycache__/kept.cpython-311.pyc",
        "bytes",
    );
    dir.git(&["add", "-f", "."]);
    dir.git(&["commit", "-q", "-m", "one"]);
    let tracks = |path: &str| Tracked::of(&open(dir.root())).contains(path.into());
    assert!(tracks("pkg/__pycache__/kept.cpython-311.pyc"));
    assert!(!tracks("pkg/__pycache__/a.cpython-311.pyc"));
    dir.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
    dir.git(&["sparse-checkout", "set", "pkg"]);
    assert_eq!(dir.git(&["ls-files", "--sparse", "folded"]), "folded/");
    assert!(tracks("folded/__pycache__/kept.cpython-311.pyc"));

    // Not a repository, whatever its name: the directory belongs to the one around it.
    fs::create_dir(dir.path("pkg/.git")).expect("a directory");
    let nested = Tracked::nested(&dir.path("pkg"));
    assert!(nested.contains("__pycache__/kept.cpython-311.pyc".into()));
    assert!(!nested.contains("__pycache__/a.cpython-311.pyc".into()));
    fs::remove_dir(dir.path("pkg/.git")).expect("it");
    fs::write(dir.path("pkg/.git"), "gitdir: /nonexistent/there\n").expect("a file");
    assert!(Tracked::nested(&dir.path("pkg")).is_unknown());
    fs::remove_file(dir.path("pkg/.git")).expect("it");
    // A repository that came later: the outer one still tracks what it did.
    git_in(&dir, &dir.path("pkg"), &["init", "-q"]);
    let done = dir.pycgate(&["gate", "--format", "json"]).run();
    assert!(
        dir.exists("pkg/__pycache__/kept.cpython-311.pyc"),
        "{}",
        done.stdout
    );
    let done = dir.pycgate(&["purge", "pkg"]).run();
    assert!(
        dir.exists("pkg/__pycache__/kept.cpython-311.pyc"),
        "{}",
        done.stdout
    );
}

/// A repository of somebody else is read only if git's `safe.directory` says so, wherever from; git
/// has checked it before it starts a hook.
#[test]
fn a_repository_of_somebody_else() {
    if !is_root() {
        announce("skipped: only root can give files away");
        return;
    }
    let dir = Dir::new();
    write(dir.root(), "pkg/a.py", "a = 1\n");
    dir.commit("one");
    for path in [".", ".git"] {
        std::os::unix::fs::chown(dir.path(path), Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    let done = dir.pycgate(&["check"]).run();
    assert_eq!(done.status, 2, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("safe.directory"), "{}", done.stderr);
    let root = dir.root().to_str().expect("UTF-8");
    let trusted = |command: TestCommand| {
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", root)
    };
    trusted(dir.pycgate(&["check"])).expect(0);
    trusted(dir.pycgate(&["gate", "true"])).expect(0);
    dir.git(&["config", "--global", "safe.directory", root]);
    dir.pycgate(&["check"]).expect(0);
}
