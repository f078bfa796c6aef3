//! `install` and `uninstall`: what they write, what they leave alone, and that existing hooks
//! keep working.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::harness::{Dir, MANIFEST, PYCGATE, interpreter, is_root};

const EVENTS: [&str; 8] = [
    "pre-commit",
    "pre-merge-commit",
    "post-checkout",
    "post-merge",
    "post-commit",
    "post-rewrite",
    "post-applypatch",
    "post-index-change",
];

/// Everything below a directory: mode and content, link targets.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return found;
    };
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let content = if metadata.is_dir() {
            found.extend(snapshot(&path));
            Vec::new()
        } else if metadata.is_symlink() {
            fs::read_link(&path)
                .expect("a link")
                .into_os_string()
                .into_encoded_bytes()
        } else {
            fs::read(&path).expect("a file")
        };
        found.insert(path, (metadata.mode(), content));
    }
    found
}

fn hook(dir: &Dir, name: &str, mode: u32, content: &str) -> PathBuf {
    let path = dir.path(".git/hooks").join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("the directory");
    fs::write(&path, content).expect("the hook");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
    path
}

fn install(dir: &Dir, arguments: &[&str]) -> String {
    dir.pycgate(["install"]).args(arguments).ok()
}

fn uninstall(dir: &Dir, arguments: &[&str]) -> String {
    dir.pycgate(["uninstall"]).args(arguments).ok()
}

/// A refusal: status 1, nothing changed, and the message says all of this.
fn refuses(dir: &Dir, arguments: &[&str], says: &[&str]) {
    let git = dir.path(".git");
    let before = snapshot(&git);
    let output = dir.pycgate(arguments).run();
    assert_eq!(output.status, 1, "{output:?}");
    for part in says {
        assert!(
            output.stderr.contains(part),
            "{part:?} in {}",
            output.stderr
        );
    }
    assert_eq!(snapshot(&git), before);
}

/// A commit by which a package is deleted is seen by the hook of post-checkout.
fn hooks_work(dir: &Dir) {
    let name = "hooks_work_pkg";
    dir.git(["switch", "-q", "-C", "with-package"]);
    dir.write(format!("{name}/__init__.py"), "");
    dir.git(["add", name]);
    dir.git(["commit", "-q", "-m", "with a package"]);
    let import = format!("import {name}");
    dir.py(&import);
    dir.git(["switch", "-q", "-"]);
    assert!(!dir.py_runs(&import), "a hook has run");
}

#[test]
fn installs_every_event_once_and_uninstalls_without_a_trace() {
    let dir = Dir::new();
    dir.commit("one");
    let said = install(&dir, &[]);
    for event in EVENTS {
        assert!(said.contains(&format!(".git/hooks/{event}")), "{said}");
        let mode = fs::metadata(dir.path(".git/hooks").join(event))
            .expect("a hook")
            .mode();
        assert_eq!(mode & 0o100, 0o100, "{event} may be run");
    }
    let installed = snapshot(&dir.path(".git"));
    let said = install(&dir, &[]);
    assert_eq!(said.matches("unchanged").count(), EVENTS.len(), "{said}");
    assert_eq!(snapshot(&dir.path(".git")), installed);
    hooks_work(&dir);
    uninstall(&dir, &[]);
    assert!(
        fs::read_dir(dir.path(".git/hooks"))
            .expect("it is left")
            .next()
            .is_none()
    );
    assert!(uninstall(&dir, &[]).contains("no hooks"));
}

#[test]
fn modes_follow_the_umask() {
    let dir = Dir::new();
    for (umask, expected) in [
        ("022", 0o755),
        ("077", 0o700),
        ("002", 0o775),
        ("0177", 0o700),
    ] {
        let shell = format!("umask {umask} && exec \"$@\"");
        dir.command("sh")
            .args(["-c", &shell, "sh", PYCGATE, "install", "-q"])
            .ok();
        let mode = fs::metadata(dir.path(".git/hooks/post-merge"))
            .expect("a hook")
            .mode();
        assert_eq!(mode & 0o777, expected, "umask {umask}");
        uninstall(&dir, &[]);
        fs::remove_dir(dir.path(".git/hooks")).expect("it is empty");
    }
}

#[test]
fn dry_run_changes_nothing() {
    let dir = Dir::new();
    hook(&dir, "pre-commit", 0o755, "#!/bin/sh\nexit 0\n");
    hook(&dir, "post-merge", 0o755, "#!/usr/bin/env python3\n");
    let before = snapshot(&dir.path(".git"));
    let said = install(&dir, &["--dry-run"]);
    assert!(
        said.contains("would add to       .git/hooks/pre-commit"),
        "{said}"
    );
    assert!(
        said.contains("would install      .git/hooks/post-merge"),
        "{said}"
    );
    assert_eq!(snapshot(&dir.path(".git")), before);
    install(&dir, &[]);
    let installed = snapshot(&dir.path(".git"));
    assert!(uninstall(&dir, &["--dry-run"]).contains("would"));
    assert_eq!(snapshot(&dir.path(".git")), installed);
}

#[test]
fn existing_hooks_keep_arguments_input_status_bytes_and_mode() {
    let report = "printf '%s\\n' \"$0\" \"$#\" \"$@\" >\"$LOG\"; cat >>\"$LOG\"; exit 7\n";
    let shell = format!("#!/bin/sh -eu\n{report}");
    let env = format!("#!/usr/bin/env bash\nset -C; exec 3>&1\n{report}");
    let no_newline = format!("#!/bin/sh\n{}", report.trim_end());
    let no_shebang = report.to_owned();
    let other = format!(
        "#!{}\nimport os, sys\nwith open(os.environ['LOG'], 'wb') as log:\n    \
         log.write('\\n'.join([sys.argv[0], str(len(sys.argv) - 1), *sys.argv[1:], '']).encode())\n    \
         log.write(sys.stdin.buffer.read())\nsys.exit(7)\n",
        interpreter::main().path.display()
    );
    let polyglot = "#!/bin/sh\n\"exec\" \"python3\" \"-c\" \"import sys; sys.exit(7)\"\n";
    let cases = [
        (shell.as_str(), 0o755),
        (&env, 0o750),
        (&no_newline, 0o711),
        (&no_shebang, 0o755),
        (&other, 0o700),
        (polyglot, 0o755),
    ];
    // More than a pipe holds, so that a hook that does not read all of it would show.
    let pairs =
        "0123456789abcdef0123456789abcdef01234567 fedcba9876543210fedcba9876543210fedcba98\n"
            .repeat(5000);
    for (content, mode) in cases {
        for event in ["post-rewrite", "pre-commit", "post-index-change"] {
            for input in ["", "no newline", "a b\n\n", &pairs] {
                let dir = Dir::new();
                let path = hook(&dir, event, mode, content);
                let before = snapshot(&dir.path(".git/hooks"));
                install(&dir, &[]);
                let installed = snapshot(&dir.path(".git"));
                install(&dir, &[]);
                assert_eq!(snapshot(&dir.path(".git")), installed, "{content}");
                let log = dir.beside("log");
                let mut run = std::process::Command::new("sh");
                run.args(["-c", "exec \"$0\" \"$@\""])
                    .arg(&path)
                    .args(["rebase", "two words", "", "*"])
                    .current_dir(dir.root())
                    .env("LOG", &log)
                    .stdin(std::process::Stdio::piped());
                let mut child = run.spawn().expect("sh starts");
                let mut stdin = child.stdin.take().expect("it is piped");
                // A hook that reads nothing is free to go before all is written.
                let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
                drop(stdin);
                let status = child.wait().expect("sh ends");
                assert_eq!(status.code(), Some(7), "{event}: {content}");
                if content != polyglot {
                    let logged = fs::read_to_string(&log).expect("the hook was run");
                    let (name, rest) = logged.split_once('\n').expect("its name");
                    assert!(name.starts_with(path.to_str().expect("UTF-8")), "{name}");
                    assert_eq!(
                        rest,
                        format!("4\nrebase\ntwo words\n\n*\n{input}"),
                        "{event}: {content}"
                    );
                }
                uninstall(&dir, &[]);
                assert_eq!(
                    snapshot(&dir.path(".git/hooks")),
                    before,
                    "{event}: {content}"
                );
            }
        }
    }
}

/// Where no temporary file can be had, the pairs are the user's hook's.
#[test]
fn standard_input_without_a_place_for_temporary_files() {
    let mut dir = Dir::new();
    dir.commit("one");
    hook(&dir, "post-rewrite", 0o755, "#!/bin/sh\ncat >../pairs\n");
    install(&dir, &[]);
    dir.set("TMPDIR", Path::new("/no/such/place"));
    let old = dir.git(["rev-parse", "HEAD"]);
    dir.git(["commit", "-q", "--amend", "--allow-empty", "-m", "two"]);
    let new = dir.git(["rev-parse", "HEAD"]);
    let pairs = fs::read_to_string(dir.beside("pairs")).expect("the hook was run");
    assert_eq!(pairs, format!("{old} {new}\n"));
}

#[test]
fn the_block_comes_before_an_early_exit() {
    let dir = Dir::new();
    dir.commit("one");
    hook(&dir, "post-checkout", 0o755, "#!/bin/sh\nexit 0\n");
    install(&dir, &["--events", "post-checkout"]);
    hooks_work(&dir);
}

#[test]
fn a_hook_of_another_kind_is_called_after_ours() {
    let dir = Dir::new();
    dir.commit("one");
    let content = format!(
        "#!{}\nopen('ran', 'w').close()\n",
        interpreter::main().path.display()
    );
    hook(&dir, "post-checkout", 0o755, &content);
    install(&dir, &["--events", "post-checkout"]);
    hooks_work(&dir);
    assert!(dir.path("ran").exists());
}

#[test]
fn a_hook_that_was_switched_off_stays_off() {
    let dir = Dir::new();
    dir.commit("one");
    hook(&dir, "post-checkout", 0o644, "#!/bin/sh\ntouch ran\n");
    let before = snapshot(&dir.path(".git/hooks"));
    install(&dir, &["--events", "post-checkout"]);
    hooks_work(&dir);
    assert!(!dir.path("ran").exists());
    uninstall(&dir, &[]);
    assert_eq!(snapshot(&dir.path(".git/hooks")), before);
}

#[test]
fn a_hook_of_ours_that_lost_its_mode_is_mended() {
    let dir = Dir::new();
    install(&dir, &[]);
    let path = dir.path(".git/hooks/post-merge");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
    assert!(install(&dir, &[]).contains("updated       .git/hooks/post-merge"));
    assert_eq!(fs::metadata(&path).expect("a hook").mode() & 0o111, 0o111);
}

#[test]
fn a_shim_that_was_copied_is_known() {
    let dir = Dir::new();
    let shims = Path::new(MANIFEST).join("hooks");
    for event in EVENTS {
        let content = fs::read_to_string(shims.join(event)).expect("a shim");
        let mode = fs::metadata(shims.join(event)).expect("a shim").mode();
        assert_eq!(
            mode & 0o111,
            0o111,
            "{event} may be run where core.hooksPath points at it"
        );
        hook(&dir, event, 0o755, &content);
    }
    assert_eq!(install(&dir, &[]).matches("updated").count(), EVENTS.len());
    uninstall(&dir, &[]);
    assert!(snapshot(&dir.path(".git/hooks")).is_empty());
}

#[test]
fn only_the_events_asked_for() {
    let dir = Dir::new();
    install(
        &dir,
        &[
            "--events",
            "post-merge,post-checkout",
            "--events",
            "post-merge",
        ],
    );
    let names: Vec<PathBuf> = snapshot(&dir.path(".git/hooks")).into_keys().collect();
    assert_eq!(
        names,
        [
            dir.path(".git/hooks/post-checkout"),
            dir.path(".git/hooks/post-merge")
        ]
    );
    let output = dir.pycgate(["install", "--events", "post-chekout"]).run();
    assert_eq!(output.status, 2);
    assert!(
        output.stderr.contains("'post-checkout'"),
        "{}",
        output.stderr
    );
}

#[test]
fn core_hooks_path_relative_absolute_and_home() {
    for (setting, place) in [
        ("githooks", "work/githooks"),
        ("../shared hooks/deep", "shared hooks/deep"),
        ("~/my-hooks", "home/my-hooks"),
    ] {
        let dir = Dir::new();
        dir.commit("one");
        dir.git(["config", "core.hooksPath", setting]);
        fs::create_dir_all(dir.path("sub/dir")).expect("a directory");
        dir.command(PYCGATE).args(["-C", "sub/dir", "install"]).ok();
        assert_eq!(
            snapshot(&dir.beside(place)).len(),
            EVENTS.len(),
            "{setting}"
        );
        assert!(!dir.path(".git/hooks").exists());
        hooks_work(&dir);
        uninstall(&dir, &[]);
        assert!(snapshot(&dir.beside(place)).is_empty());
    }
    let dir = Dir::new();
    dir.commit("one");
    let place = dir.beside("absolute");
    dir.git(["config", "core.hooksPath", place.to_str().expect("UTF-8")]);
    install(&dir, &[]);
    hooks_work(&dir);
    assert_eq!(snapshot(&place).len(), EVENTS.len());
}

#[test]
fn hooks_for_all_repositories_are_not_written_to_unasked() {
    let dir = Dir::new();
    dir.commit("one");
    dir.git(["config", "--global", "core.hooksPath", "~/all-hooks"]);
    refuses(
        &dir,
        &["install"],
        &[
            "--global-hooks-path",
            "home/all-hooks",
            ".gitconfig",
            "core.hooksPath .git/hooks",
        ],
    );
    assert!(!dir.beside("home/all-hooks").exists());
    install(&dir, &["--global-hooks-path"]);
    assert_eq!(snapshot(&dir.beside("home/all-hooks")).len(), EVENTS.len());
    hooks_work(&dir);
    refuses(&dir, &["uninstall"], &["--global-hooks-path"]);
    uninstall(&dir, &["--global-hooks-path"]);
    assert!(snapshot(&dir.beside("home/all-hooks")).is_empty());
    // What the message tells to do.
    dir.git(["config", "core.hooksPath", ".git/hooks"]);
    install(&dir, &[]);
    hooks_work(&dir);
}

#[test]
fn linked_work_trees_share_their_hooks() {
    let mut dir = Dir::new();
    dir.commit("one");
    let main = dir.root().to_owned();
    dir.git(["worktree", "add", "-q", "-b", "linked", "../linked"]);
    dir.enter(dir.beside("linked"));
    install(&dir, &[]);
    assert_eq!(snapshot(&main.join(".git/hooks")).len(), EVENTS.len());
    hooks_work(&dir);
    dir.enter(main);
    assert!(install(&dir, &[]).contains("unchanged"));
}

#[test]
fn submodules_only_where_asked_for() {
    let dir = Dir::new();
    dir.submodule("a sub/module");
    dir.commit("one");
    let hooks = dir.path(".git/modules/a sub/module/hooks");
    fs::remove_dir_all(&hooks).expect("the samples of git");
    assert!(install(&dir, &[]).contains("--recurse-submodules"));
    assert!(!hooks.exists());
    install(&dir, &["--recurse-submodules"]);
    assert_eq!(snapshot(&hooks).len(), EVENTS.len());
    uninstall(&dir, &["--recurse-submodules"]);
    assert!(snapshot(&hooks).is_empty());
}

#[test]
fn links_and_directories_in_the_way_are_named_and_left() {
    let dir = Dir::new();
    hook(&dir, "pre-commit", 0o755, "#!/bin/sh\n");
    fs::write(dir.path("their-hook"), "#!/bin/sh\n").expect("a file");
    symlink("../../their-hook", dir.path(".git/hooks/post-merge")).expect("a link");
    fs::create_dir(dir.path(".git/hooks/post-commit")).expect("a directory");
    let link = format!(
        "{}/.git/hooks/post-merge is a symlink to ../../their-hook",
        dir.root().display()
    );
    let directory = format!(
        "{}/.git/hooks/post-commit is a directory",
        dir.root().display()
    );
    refuses(
        &dir,
        &["install"],
        &[&link, &directory, "--events", "nothing was changed"],
    );
    fs::remove_file(dir.path(".git/hooks/post-merge")).expect("the link");
    symlink("../../gone", dir.path(".git/hooks/post-merge")).expect("a link");
    refuses(&dir, &["install"], &["is a symlink to ../../gone"]);
    install(&dir, &["--events", "pre-commit,post-checkout"]);
    // A link to a shim is a hook as good as any.
    fs::remove_file(dir.path(".git/hooks/post-merge")).expect("the link");
    let shim = Path::new(MANIFEST).join("hooks/post-merge");
    symlink(shim, dir.path(".git/hooks/post-merge")).expect("a link");
    assert!(install(&dir, &["--events", "post-merge"]).contains("unchanged"));
}

#[test]
fn a_place_for_hooks_that_is_no_directory() {
    let dir = Dir::new();
    dir.git(["config", "core.hooksPath", "/dev/null"]);
    refuses(&dir, &["install"], &["/dev/null", "not a directory"]);
    dir.git(["config", "core.hooksPath", ".git/config/hooks"]);
    let output = dir.pycgate(["install"]).run();
    assert!(matches!(output.status, 1 | 2), "{output:?}");
    assert!(output.stderr.contains(".git/config/hooks"), "{output:?}");
    dir.git(["config", "--unset", "core.hooksPath"]);
    dir.git(["config", "core.hooksPath", ""]);
    assert!(
        dir.pycgate(["install"])
            .run()
            .stderr
            .contains("git config --unset core.hooksPath")
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named_and_left() {
    let dir = Dir::new();
    hook(&dir, "pre-commit", 0o755, "#!/bin/sh\nexit 0\n");
    let hooks = dir.path(".git/hooks");
    if !is_root() {
        fs::set_permissions(&hooks, fs::Permissions::from_mode(0o555)).expect("its mode");
    }
    let before = snapshot(&dir.path(".git"));
    let mut install = dir.pycgate(["install"]);
    // Root may write anywhere: the command is run as somebody else then, who may only read.
    if is_root() {
        install = install
            .by_nobody()
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .env("HOME", "/nonexistent");
    }
    let output = install.run();
    assert_eq!(output.status, 1, "{output:?}");
    let said = output.stderr;
    assert!(said.contains("nothing was changed: cannot write"), "{said}");
    assert!(
        said.contains(hooks.join("pre-commit").to_str().expect("UTF-8")),
        "{said}"
    );
    assert!(
        said.contains("Permission denied") && said.contains("chmod"),
        "{said}"
    );
    assert_eq!(snapshot(&dir.path(".git")), before);
    fs::set_permissions(&hooks, fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn what_was_begun_is_taken_back() {
    let dir = Dir::new();
    let hooks = dir.path(".git/hooks");
    hook(&dir, "pre-commit", 0o750, "#!/bin/sh\nexit 0\n");
    hook(&dir, "post-checkout", 0o755, "#!/usr/bin/env python3\n");
    // The name under which the last hook is written first is taken, for every process.
    let before_shim = hooks.join("post-index-change");
    let before = snapshot(&hooks);
    let shell = "mkdir \"$1.pycgate-$$\" && exec \"$2\" install";
    let output = dir
        .command("sh")
        .args(["-c", shell, "sh"])
        .arg(&before_shim)
        .arg(PYCGATE)
        .run();
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stderr.contains("nothing was changed"), "{output:?}");
    for entry in fs::read_dir(&hooks).expect("the hooks") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            fs::remove_dir(path).expect("it is empty");
        }
    }
    assert_eq!(snapshot(&hooks), before);
}

#[test]
fn a_kept_hook_is_never_overwritten() {
    let dir = Dir::new();
    hook(&dir, "post-merge", 0o755, "#!/usr/bin/env python3\n");
    hook(&dir, "post-merge.pycgate-kept", 0o755, "an older one");
    refuses(
        &dir,
        &["install"],
        &["post-merge.pycgate-kept", "exists already"],
    );
}

#[test]
fn configured_hooks_need_a_git_that_runs_them() {
    let dir = Dir::new();
    let version = dir.command("git").arg("version").ok();
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|part| part.parse::<u32>().ok());
    let output = dir.pycgate(["install", "--config"]).run();
    if version.contains("git version 2.") && minor.is_some_and(|minor| minor < 54) {
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains("git 2.54"), "{output:?}");
        assert!(
            !fs::read_to_string(dir.path(".git/config"))
                .expect("it")
                .contains("[hook")
        );
    } else {
        assert_eq!(output.status, 0, "{output:?}");
    }
}

/// A git that calls itself 2.54 and is the real one otherwise: what is written is tested, and the
/// command is run as git's shell runs it; that git runs it at all is not.
#[test]
fn configured_hooks_are_written_guard_themselves_and_go() {
    let mut dir = Dir::new();
    dir.commit("one");
    let bin = dir.beside("bin");
    fs::create_dir(&bin).expect("a directory");
    let real = dir.command("sh").args(["-c", "command -v git"]).ok();
    let fake = format!(
        "#!/bin/sh\nfor a; do [ \"$a\" = version ] && echo git version 2.54.0 && exit; done\nexec {real} \"$@\"\n"
    );
    fs::write(bin.join("git"), fake).expect("the fake");
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("PATH"));
    dir.set("PATH", Path::new(&path));
    let config = dir.path(".git/config");
    let before = fs::read_to_string(&config).expect("the configuration");
    install(&dir, &["--config", "--dry-run"]);
    assert_eq!(
        fs::read_to_string(&config).expect("the configuration"),
        before
    );
    install(&dir, &["--config"]);
    let installed = fs::read_to_string(&config).expect("the configuration");
    assert!(install(&dir, &["--config"]).contains("unchanged"));
    assert_eq!(
        fs::read_to_string(&config).expect("the configuration"),
        installed
    );
    assert!(!dir.path(".git/hooks").exists(), "no file is touched");
    for event in EVENTS {
        assert_eq!(
            dir.git(["config", &format!("hook.pycgate-{event}.event")]),
            event
        );
    }
    let command = dir.git(["config", "hook.pycgate-post-checkout.command"]);
    dir.write(".gitignore", "__pycache__/\n");
    dir.write("pkg/__init__.py", "");
    dir.commit("with");
    dir.py("import pkg");
    let old = dir.git(["rev-parse", "HEAD"]);
    dir.git(["rm", "-q", "-r", "pkg"]);
    dir.commit("without");
    let new = dir.git(["rev-parse", "HEAD"]);
    // Git runs a command that has arguments as `COMMAND "$@"`.
    let as_git = format!("{command} \"$@\"");
    dir.command("sh")
        .args(["-c", &as_git, &command, &old, &new, "1"])
        .ok();
    assert!(!dir.py_runs("import pkg"), "the hook has run");
    let gone = as_git.replace(PYCGATE, "/gone/pycgate");
    dir.set("PATH", Path::new("/usr/bin:/bin"));
    let output = dir
        .command("sh")
        .args(["-c", &gone, "x", &old, &new, "1"])
        .run();
    assert!(output.status == 0 && output.stderr.is_empty(), "{output:?}");
    dir.set("PATH", Path::new(&path));
    uninstall(&dir, &[]);
    assert_eq!(
        fs::read_to_string(&config).expect("the configuration"),
        before
    );
}

#[test]
fn a_program_that_is_gone_never_breaks_git() {
    let mut dir = Dir::new();
    let program = dir.beside("pycgate");
    fs::copy(PYCGATE, &program).expect("a copy");
    hook(&dir, "pre-commit", 0o755, "#!/bin/sh -eu\ntouch ran\n");
    dir.command(&program).arg("install").ok();
    fs::remove_file(&program).expect("the copy");
    dir.set("PATH", Path::new("/usr/local/bin:/usr/bin:/bin"));
    dir.write("a.py", "");
    let output = dir.try_git(["add", "a.py"]);
    assert!(output.status == 0 && output.stderr.is_empty(), "{output:?}");
    let output = dir.try_git(["commit", "-q", "-m", "one"]);
    assert!(output.status == 0 && output.stderr.is_empty(), "{output:?}");
    assert!(dir.path("ran").exists());
    let output = dir.try_git(["commit", "-q", "--amend", "-m", "two"]);
    assert!(output.status == 0 && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_program_that_crashes_never_breaks_git() {
    let mut dir = Dir::new();
    let bin = dir.beside("bin");
    fs::create_dir(&bin).expect("a directory");
    let program = bin.join("pycgate");
    fs::write(&program, "#!/bin/sh\nkill -9 $$\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    dir.set("PATH", Path::new(&path));
    let shims = Path::new(MANIFEST).join("hooks");
    dir.git(["config", "core.hooksPath", shims.to_str().expect("UTF-8")]);
    dir.write("a.py", "");
    dir.git(["add", "a.py"]);
    dir.git(["commit", "-q", "-m", "one"]);
    dir.git(["commit", "-q", "--amend", "-m", "two"]);
}

#[test]
fn skipping_is_asked_for_in_the_environment() {
    let mut dir = Dir::new();
    dir.commit("one");
    install(&dir, &[]);
    dir.set("PYCGATE_SKIP", Path::new("1"));
    dir.git(["switch", "-q", "-c", "with-package"]);
    dir.write("pkg/__init__.py", "");
    dir.commit("with");
    dir.py("import pkg");
    dir.git(["switch", "-q", "main"]);
    assert!(dir.py_runs("import pkg"), "the hooks are off");
}

#[test]
fn managers_are_named_with_their_snippet() {
    for (content, name, snippet) in [
        (
            "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
            "pre-commit",
            "default_install_hook_types",
        ),
        (
            "#!/bin/sh\n# File generated by prek: https://github.com/j178/prek\n",
            "prek",
            "entry: pycgate hook auto",
        ),
        (
            "#!/bin/sh\ncall_lefthook()\n",
            "lefthook",
            "run: pycgate hook post-rewrite {0}",
        ),
        (
            "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"",
            "husky",
            ".husky/post-rewrite",
        ),
    ] {
        let dir = Dir::new();
        let path = hook(&dir, "post-rewrite", 0o755, content);
        let said = install(&dir, &[]);
        assert!(said.contains(&format!("(written by {name})")), "{said}");
        assert!(said.contains(&format!("{name} manages")), "{said}");
        assert!(said.contains(snippet), "{said}");
        assert_eq!(fs::read_to_string(&path).expect("the hook"), content);
        assert!(
            dir.path(".git/hooks/post-index-change").exists(),
            "the others are installed"
        );
        uninstall(&dir, &[]);
        assert_eq!(snapshot(&dir.path(".git/hooks")).len(), 1);
    }
}

#[test]
fn outside_of_a_work_tree() {
    let dir = Dir::new();
    dir.commit("one");
    let output = dir.pycgate(["-C", "..", "install"]).run();
    assert_eq!(output.status, 2);
    assert!(
        output.stderr.contains("not in a git repository"),
        "{output:?}"
    );
    dir.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let output = dir.pycgate(["-C", "../bare.git", "install"]).run();
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("bare repository"), "{output:?}");
    let output = dir.pycgate(["-C", "nowhere", "install"]).run();
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("nowhere"), "{output:?}");
    assert!(output.stdout.is_empty());
}
