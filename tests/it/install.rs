//! `install` and `uninstall`: what they write, what they leave alone, and that existing hooks
//! keep working.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::MANIFEST;
use crate::lab::{Lab, PYCGATE, python, succeeded};

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

fn hook(lab: &Lab, name: &str, mode: u32, content: &str) -> PathBuf {
    let path = lab.root.join(".git/hooks").join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("the directory");
    fs::write(&path, content).expect("the hook");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
    path
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn install(lab: &Lab, arguments: &[&str]) -> String {
    let mut command = lab.command(PYCGATE);
    succeeded(command.arg("install").args(arguments))
}

fn uninstall(lab: &Lab, arguments: &[&str]) -> String {
    let mut command = lab.command(PYCGATE);
    succeeded(command.arg("uninstall").args(arguments))
}

/// A refusal: status 1, nothing changed, and the message says all of this.
fn refuses(lab: &Lab, arguments: &[&str], says: &[&str]) {
    let git = lab.root.join(".git");
    let before = snapshot(&git);
    let output = lab.pycgate(arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for part in says {
        assert!(
            stderr(&output).contains(part),
            "{part:?} in {}",
            stderr(&output)
        );
    }
    assert_eq!(snapshot(&git), before);
}

/// A commit by which a package is deleted is seen by the hook of post-checkout.
fn hooks_work(lab: &Lab) {
    let name = "hooks_work_pkg";
    lab.git(["switch", "-q", "-C", "with-package"]);
    lab.write(&format!("{name}/__init__.py"), "");
    lab.git(["add", name]);
    lab.git(["commit", "-q", "-m", "with a package"]);
    let import = format!("import {name}");
    lab.python(&import);
    lab.git(["switch", "-q", "-"]);
    assert!(!lab.python_runs(&import), "a hook has run");
}

#[test]
fn installs_every_event_once_and_uninstalls_without_a_trace() {
    let lab = Lab::new();
    lab.commit("one");
    let said = install(&lab, &[]);
    for event in EVENTS {
        assert!(said.contains(&format!(".git/hooks/{event}")), "{said}");
        let mode = fs::metadata(lab.root.join(".git/hooks").join(event))
            .expect("a hook")
            .mode();
        assert_eq!(mode & 0o100, 0o100, "{event} may be run");
    }
    let installed = snapshot(&lab.root.join(".git"));
    let said = install(&lab, &[]);
    assert_eq!(said.matches("unchanged").count(), EVENTS.len(), "{said}");
    assert_eq!(snapshot(&lab.root.join(".git")), installed);
    hooks_work(&lab);
    uninstall(&lab, &[]);
    assert!(
        fs::read_dir(lab.root.join(".git/hooks"))
            .expect("it is left")
            .next()
            .is_none()
    );
    assert!(uninstall(&lab, &[]).contains("no hooks"));
}

#[test]
fn modes_follow_the_umask() {
    let lab = Lab::new();
    for (umask, expected) in [
        ("022", 0o755),
        ("077", 0o700),
        ("002", 0o775),
        ("0177", 0o700),
    ] {
        let shell = format!("umask {umask} && exec \"$@\"");
        succeeded(
            lab.command("sh")
                .args(["-c", &shell, "sh", PYCGATE, "install", "-q"]),
        );
        let mode = fs::metadata(lab.root.join(".git/hooks/post-merge"))
            .expect("a hook")
            .mode();
        assert_eq!(mode & 0o777, expected, "umask {umask}");
        uninstall(&lab, &[]);
        fs::remove_dir(lab.root.join(".git/hooks")).expect("it is empty");
    }
}

#[test]
fn dry_run_changes_nothing() {
    let lab = Lab::new();
    hook(&lab, "pre-commit", 0o755, "#!/bin/sh\nexit 0\n");
    hook(&lab, "post-merge", 0o755, "#!/usr/bin/env python3\n");
    let before = snapshot(&lab.root.join(".git"));
    let said = install(&lab, &["--dry-run"]);
    assert!(
        said.contains("would add to       .git/hooks/pre-commit"),
        "{said}"
    );
    assert!(
        said.contains("would install      .git/hooks/post-merge"),
        "{said}"
    );
    assert_eq!(snapshot(&lab.root.join(".git")), before);
    install(&lab, &[]);
    let installed = snapshot(&lab.root.join(".git"));
    assert!(uninstall(&lab, &["--dry-run"]).contains("would"));
    assert_eq!(snapshot(&lab.root.join(".git")), installed);
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
        python().display()
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
                let lab = Lab::new();
                let path = hook(&lab, event, mode, content);
                let before = snapshot(&lab.root.join(".git/hooks"));
                install(&lab, &[]);
                let installed = snapshot(&lab.root.join(".git"));
                install(&lab, &[]);
                assert_eq!(snapshot(&lab.root.join(".git")), installed, "{content}");
                let log = lab.beside("log");
                let mut run = std::process::Command::new("sh");
                run.args(["-c", "exec \"$0\" \"$@\""])
                    .arg(&path)
                    .args(["rebase", "two words", "", "*"])
                    .current_dir(&lab.root)
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
                uninstall(&lab, &[]);
                assert_eq!(
                    snapshot(&lab.root.join(".git/hooks")),
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
    let mut lab = Lab::new();
    lab.commit("one");
    hook(&lab, "post-rewrite", 0o755, "#!/bin/sh\ncat >../pairs\n");
    install(&lab, &[]);
    lab.set("TMPDIR", Path::new("/no/such/place"));
    let old = lab.git(["rev-parse", "HEAD"]);
    lab.git(["commit", "-q", "--amend", "--allow-empty", "-m", "two"]);
    let new = lab.git(["rev-parse", "HEAD"]);
    let pairs = fs::read_to_string(lab.beside("pairs")).expect("the hook was run");
    assert_eq!(pairs, format!("{old} {new}\n"));
}

#[test]
fn the_block_comes_before_an_early_exit() {
    let lab = Lab::new();
    lab.commit("one");
    hook(&lab, "post-checkout", 0o755, "#!/bin/sh\nexit 0\n");
    install(&lab, &["--events", "post-checkout"]);
    hooks_work(&lab);
}

#[test]
fn a_hook_of_another_kind_is_called_after_ours() {
    let lab = Lab::new();
    lab.commit("one");
    let content = format!("#!{}\nopen('ran', 'w').close()\n", python().display());
    hook(&lab, "post-checkout", 0o755, &content);
    install(&lab, &["--events", "post-checkout"]);
    hooks_work(&lab);
    assert!(lab.root.join("ran").exists());
}

#[test]
fn a_hook_that_was_switched_off_stays_off() {
    let lab = Lab::new();
    lab.commit("one");
    hook(&lab, "post-checkout", 0o644, "#!/bin/sh\ntouch ran\n");
    let before = snapshot(&lab.root.join(".git/hooks"));
    install(&lab, &["--events", "post-checkout"]);
    hooks_work(&lab);
    assert!(!lab.root.join("ran").exists());
    uninstall(&lab, &[]);
    assert_eq!(snapshot(&lab.root.join(".git/hooks")), before);
}

#[test]
fn a_hook_of_ours_that_lost_its_mode_is_mended() {
    let lab = Lab::new();
    install(&lab, &[]);
    let path = lab.root.join(".git/hooks/post-merge");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
    assert!(install(&lab, &[]).contains("updated       .git/hooks/post-merge"));
    assert_eq!(fs::metadata(&path).expect("a hook").mode() & 0o111, 0o111);
}

#[test]
fn a_shim_that_was_copied_is_known() {
    let lab = Lab::new();
    let shims = Path::new(MANIFEST).join("hooks");
    for event in EVENTS {
        let content = fs::read_to_string(shims.join(event)).expect("a shim");
        let mode = fs::metadata(shims.join(event)).expect("a shim").mode();
        assert_eq!(
            mode & 0o111,
            0o111,
            "{event} may be run where core.hooksPath points at it"
        );
        hook(&lab, event, 0o755, &content);
    }
    assert_eq!(install(&lab, &[]).matches("updated").count(), EVENTS.len());
    uninstall(&lab, &[]);
    assert!(snapshot(&lab.root.join(".git/hooks")).is_empty());
}

#[test]
fn only_the_events_asked_for() {
    let lab = Lab::new();
    install(
        &lab,
        &[
            "--events",
            "post-merge,post-checkout",
            "--events",
            "post-merge",
        ],
    );
    let names: Vec<PathBuf> = snapshot(&lab.root.join(".git/hooks")).into_keys().collect();
    assert_eq!(
        names,
        [
            lab.root.join(".git/hooks/post-checkout"),
            lab.root.join(".git/hooks/post-merge")
        ]
    );
    let output = lab.pycgate(&["install", "--events", "post-chekout"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("'post-checkout'"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn core_hooks_path_relative_absolute_and_home() {
    for (setting, place) in [
        ("githooks", "work/githooks"),
        ("../shared hooks/deep", "shared hooks/deep"),
        ("~/my-hooks", "home/my-hooks"),
    ] {
        let lab = Lab::new();
        lab.commit("one");
        lab.git(["config", "core.hooksPath", setting]);
        fs::create_dir_all(lab.root.join("sub/dir")).expect("a directory");
        succeeded(lab.command(PYCGATE).args(["-C", "sub/dir", "install"]));
        assert_eq!(
            snapshot(&lab.beside(place)).len(),
            EVENTS.len(),
            "{setting}"
        );
        assert!(!lab.root.join(".git/hooks").exists());
        hooks_work(&lab);
        uninstall(&lab, &[]);
        assert!(snapshot(&lab.beside(place)).is_empty());
    }
    let lab = Lab::new();
    lab.commit("one");
    let place = lab.beside("absolute");
    lab.git(["config", "core.hooksPath", place.to_str().expect("UTF-8")]);
    install(&lab, &[]);
    hooks_work(&lab);
    assert_eq!(snapshot(&place).len(), EVENTS.len());
}

#[test]
fn hooks_for_all_repositories_are_not_written_to_unasked() {
    let lab = Lab::new();
    lab.commit("one");
    lab.git(["config", "--global", "core.hooksPath", "~/all-hooks"]);
    refuses(
        &lab,
        &["install"],
        &[
            "--global-hooks-path",
            "home/all-hooks",
            ".gitconfig",
            "core.hooksPath .git/hooks",
        ],
    );
    assert!(!lab.beside("home/all-hooks").exists());
    install(&lab, &["--global-hooks-path"]);
    assert_eq!(snapshot(&lab.beside("home/all-hooks")).len(), EVENTS.len());
    hooks_work(&lab);
    refuses(&lab, &["uninstall"], &["--global-hooks-path"]);
    uninstall(&lab, &["--global-hooks-path"]);
    assert!(snapshot(&lab.beside("home/all-hooks")).is_empty());
    // What the message tells to do.
    lab.git(["config", "core.hooksPath", ".git/hooks"]);
    install(&lab, &[]);
    hooks_work(&lab);
}

#[test]
fn linked_work_trees_share_their_hooks() {
    let mut lab = Lab::new();
    lab.commit("one");
    let main = lab.root.clone();
    lab.git(["worktree", "add", "-q", "-b", "linked", "../linked"]);
    lab.root = lab.beside("linked");
    install(&lab, &[]);
    assert_eq!(snapshot(&main.join(".git/hooks")).len(), EVENTS.len());
    hooks_work(&lab);
    lab.root = main;
    assert!(install(&lab, &[]).contains("unchanged"));
}

#[test]
fn submodules_only_where_asked_for() {
    let lab = Lab::new();
    lab.submodule("a sub/module");
    lab.commit("one");
    let hooks = lab.root.join(".git/modules/a sub/module/hooks");
    fs::remove_dir_all(&hooks).expect("the samples of git");
    assert!(install(&lab, &[]).contains("--recurse-submodules"));
    assert!(!hooks.exists());
    install(&lab, &["--recurse-submodules"]);
    assert_eq!(snapshot(&hooks).len(), EVENTS.len());
    uninstall(&lab, &["--recurse-submodules"]);
    assert!(snapshot(&hooks).is_empty());
}

#[test]
fn links_and_directories_in_the_way_are_named_and_left() {
    let lab = Lab::new();
    hook(&lab, "pre-commit", 0o755, "#!/bin/sh\n");
    fs::write(lab.root.join("their-hook"), "#!/bin/sh\n").expect("a file");
    symlink("../../their-hook", lab.root.join(".git/hooks/post-merge")).expect("a link");
    fs::create_dir(lab.root.join(".git/hooks/post-commit")).expect("a directory");
    let link = format!(
        "{}/.git/hooks/post-merge is a symlink to ../../their-hook",
        lab.root.display()
    );
    let directory = format!(
        "{}/.git/hooks/post-commit is a directory",
        lab.root.display()
    );
    refuses(
        &lab,
        &["install"],
        &[&link, &directory, "--events", "nothing was changed"],
    );
    fs::remove_file(lab.root.join(".git/hooks/post-merge")).expect("the link");
    symlink("../../gone", lab.root.join(".git/hooks/post-merge")).expect("a link");
    refuses(&lab, &["install"], &["is a symlink to ../../gone"]);
    install(&lab, &["--events", "pre-commit,post-checkout"]);
    // A link to a shim is a hook as good as any.
    fs::remove_file(lab.root.join(".git/hooks/post-merge")).expect("the link");
    let shim = Path::new(MANIFEST).join("hooks/post-merge");
    symlink(shim, lab.root.join(".git/hooks/post-merge")).expect("a link");
    assert!(install(&lab, &["--events", "post-merge"]).contains("unchanged"));
}

#[test]
fn a_place_for_hooks_that_is_no_directory() {
    let lab = Lab::new();
    lab.git(["config", "core.hooksPath", "/dev/null"]);
    refuses(&lab, &["install"], &["/dev/null", "not a directory"]);
    lab.git(["config", "core.hooksPath", ".git/config/hooks"]);
    let output = lab.pycgate(&["install"]);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    assert!(stderr(&output).contains(".git/config/hooks"), "{output:?}");
    lab.git(["config", "--unset", "core.hooksPath"]);
    lab.git(["config", "core.hooksPath", ""]);
    assert!(stderr(&lab.pycgate(&["install"])).contains("git config --unset core.hooksPath"));
}

#[test]
fn a_directory_that_cannot_be_written_is_named_and_left() {
    let lab = Lab::new();
    hook(&lab, "pre-commit", 0o755, "#!/bin/sh\nexit 0\n");
    let hooks = lab.root.join(".git/hooks");
    // Root may write anywhere: the command is run as somebody else then, who may only read.
    let program = lab.beside("pycgate");
    fs::copy(PYCGATE, &program).expect("a copy that everybody may run");
    for directory in lab.root.ancestors().take(2) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        fs::set_permissions(&hooks, fs::Permissions::from_mode(0o555)).expect("its mode");
    }
    let before = snapshot(&lab.root.join(".git"));
    let mut command = lab.command(&program);
    command.arg("install");
    if is_root {
        use std::os::unix::process::CommandExt as _;
        command.uid(65534).gid(65534);
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .env("HOME", "/nonexistent");
    }
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = stderr(&output);
    assert!(said.contains("nothing was changed: cannot write"), "{said}");
    assert!(
        said.contains(hooks.join("pre-commit").to_str().expect("UTF-8")),
        "{said}"
    );
    assert!(
        said.contains("Permission denied") && said.contains("chmod"),
        "{said}"
    );
    assert_eq!(snapshot(&lab.root.join(".git")), before);
    fs::set_permissions(&hooks, fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn what_was_begun_is_taken_back() {
    let lab = Lab::new();
    let hooks = lab.root.join(".git/hooks");
    hook(&lab, "pre-commit", 0o750, "#!/bin/sh\nexit 0\n");
    hook(&lab, "post-checkout", 0o755, "#!/usr/bin/env python3\n");
    // The name under which the last hook is written first is taken, for every process.
    let before_shim = hooks.join("post-index-change");
    let before = snapshot(&hooks);
    let shell = "mkdir \"$1.pycgate-$$\" && exec \"$2\" install";
    let output = lab
        .command("sh")
        .args(["-c", shell, "sh"])
        .arg(&before_shim)
        .arg(PYCGATE)
        .output()
        .expect("sh starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        stderr(&output).contains("nothing was changed"),
        "{output:?}"
    );
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
    let lab = Lab::new();
    hook(&lab, "post-merge", 0o755, "#!/usr/bin/env python3\n");
    hook(&lab, "post-merge.pycgate-kept", 0o755, "an older one");
    refuses(
        &lab,
        &["install"],
        &["post-merge.pycgate-kept", "exists already"],
    );
}

#[test]
fn configured_hooks_need_a_git_that_runs_them() {
    let lab = Lab::new();
    let version = succeeded(lab.command("git").arg("version"));
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|part| part.parse::<u32>().ok());
    let output = lab.pycgate(&["install", "--config"]);
    if version.contains("git version 2.") && minor.is_some_and(|minor| minor < 54) {
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains("git 2.54"), "{output:?}");
        assert!(
            !fs::read_to_string(lab.root.join(".git/config"))
                .expect("it")
                .contains("[hook")
        );
    } else {
        assert!(output.status.success(), "{output:?}");
    }
}

/// A git that calls itself 2.54 and is the real one otherwise: what is written is tested, and the
/// command is run as git's shell runs it; that git runs it at all is not.
#[test]
fn configured_hooks_are_written_guard_themselves_and_go() {
    let mut lab = Lab::new();
    lab.commit("one");
    let bin = lab.beside("bin");
    fs::create_dir(&bin).expect("a directory");
    let real = succeeded(lab.command("sh").args(["-c", "command -v git"]));
    let fake = format!(
        "#!/bin/sh\nfor a; do [ \"$a\" = version ] && echo git version 2.54.0 && exit; done\nexec {real} \"$@\"\n"
    );
    fs::write(bin.join("git"), fake).expect("the fake");
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("PATH"));
    lab.set("PATH", Path::new(&path));
    let config = lab.root.join(".git/config");
    let before = fs::read_to_string(&config).expect("the configuration");
    install(&lab, &["--config", "--dry-run"]);
    assert_eq!(
        fs::read_to_string(&config).expect("the configuration"),
        before
    );
    install(&lab, &["--config"]);
    let installed = fs::read_to_string(&config).expect("the configuration");
    assert!(install(&lab, &["--config"]).contains("unchanged"));
    assert_eq!(
        fs::read_to_string(&config).expect("the configuration"),
        installed
    );
    assert!(!lab.root.join(".git/hooks").exists(), "no file is touched");
    for event in EVENTS {
        assert_eq!(
            lab.git(["config", &format!("hook.pycgate-{event}.event")]),
            event
        );
    }
    let command = lab.git(["config", "hook.pycgate-post-checkout.command"]);
    lab.write(".gitignore", "__pycache__/\n");
    lab.write("pkg/__init__.py", "");
    lab.commit("with");
    lab.python("import pkg");
    let old = lab.git(["rev-parse", "HEAD"]);
    lab.git(["rm", "-q", "-r", "pkg"]);
    lab.commit("without");
    let new = lab.git(["rev-parse", "HEAD"]);
    // Git runs a command that has arguments as `COMMAND "$@"`.
    let as_git = format!("{command} \"$@\"");
    succeeded(
        lab.command("sh")
            .args(["-c", &as_git, &command, &old, &new, "1"]),
    );
    assert!(!lab.python_runs("import pkg"), "the hook has run");
    let gone = as_git.replace(PYCGATE, "/gone/pycgate");
    lab.set("PATH", Path::new("/usr/bin:/bin"));
    let output = lab
        .command("sh")
        .args(["-c", &gone, "x", &old, &new, "1"])
        .output();
    let output = output.expect("sh starts");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    lab.set("PATH", Path::new(&path));
    uninstall(&lab, &[]);
    assert_eq!(
        fs::read_to_string(&config).expect("the configuration"),
        before
    );
}

#[test]
fn a_program_that_is_gone_never_breaks_git() {
    let mut lab = Lab::new();
    let program = lab.beside("pycgate");
    fs::copy(PYCGATE, &program).expect("a copy");
    hook(&lab, "pre-commit", 0o755, "#!/bin/sh -eu\ntouch ran\n");
    succeeded(lab.command(&program).arg("install"));
    fs::remove_file(&program).expect("the copy");
    lab.set("PATH", Path::new("/usr/local/bin:/usr/bin:/bin"));
    lab.write("a.py", "");
    let output = lab.git_may_fail(&["add", "a.py"]);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let output = lab.git_may_fail(&["commit", "-q", "-m", "one"]);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    assert!(lab.root.join("ran").exists());
    let output = lab.git_may_fail(&["commit", "-q", "--amend", "-m", "two"]);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn a_program_that_crashes_never_breaks_git() {
    let mut lab = Lab::new();
    let bin = lab.beside("bin");
    fs::create_dir(&bin).expect("a directory");
    let program = bin.join("pycgate");
    fs::write(&program, "#!/bin/sh\nkill -9 $$\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    lab.set("PATH", Path::new(&path));
    let shims = Path::new(MANIFEST).join("hooks");
    lab.git(["config", "core.hooksPath", shims.to_str().expect("UTF-8")]);
    lab.write("a.py", "");
    lab.git(["add", "a.py"]);
    lab.git(["commit", "-q", "-m", "one"]);
    lab.git(["commit", "-q", "--amend", "-m", "two"]);
}

#[test]
fn skipping_is_asked_for_in_the_environment() {
    let mut lab = Lab::new();
    lab.commit("one");
    install(&lab, &[]);
    lab.set("PYCGATE_SKIP", Path::new("1"));
    lab.git(["switch", "-q", "-c", "with-package"]);
    lab.write("pkg/__init__.py", "");
    lab.commit("with");
    lab.python("import pkg");
    lab.git(["switch", "-q", "main"]);
    assert!(lab.python_runs("import pkg"), "the hooks are off");
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
        let lab = Lab::new();
        let path = hook(&lab, "post-rewrite", 0o755, content);
        let said = install(&lab, &[]);
        assert!(said.contains(&format!("(written by {name})")), "{said}");
        assert!(said.contains(&format!("{name} manages")), "{said}");
        assert!(said.contains(snippet), "{said}");
        assert_eq!(fs::read_to_string(&path).expect("the hook"), content);
        assert!(
            lab.root.join(".git/hooks/post-index-change").exists(),
            "the others are installed"
        );
        uninstall(&lab, &[]);
        assert_eq!(snapshot(&lab.root.join(".git/hooks")).len(), 1);
    }
}

#[test]
fn outside_of_a_work_tree() {
    let lab = Lab::new();
    lab.commit("one");
    let output = lab.pycgate(&["-C", "..", "install"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("not in a git repository"),
        "{output:?}"
    );
    lab.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let output = lab.pycgate(&["-C", "../bare.git", "install"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("bare repository"), "{output:?}");
    let output = lab.pycgate(&["-C", "nowhere", "install"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nowhere"), "{output:?}");
    assert!(stdout(&output).is_empty());
}
