//! Trees a walk could run away on: deep ones, wide ones, those that lead into themselves.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::harness::{Dir, PYCGATE, announce, interpreter, is_root};
use crate::losses::{ENTRY, package};

#[test]
fn few_descriptors_and_deep_directories_suffice() {
    let dir = Dir::new();
    let mut deep = PathBuf::new();
    for _ in 0..200 {
        deep.push("d");
        fs::create_dir_all(dir.path(&deep).join("e")).expect("directories");
    }
    package(&dir.path(&deep));
    let limited =
        dir.command("sh")
            .args(["-c", "ulimit -n 20; exec \"$@\"", "sh", PYCGATE, "gate"]);
    limited.expect(0);
    assert!(!dir.path(&deep).join("__pycache__").join(ENTRY).exists());
}

#[test]
fn nesting_deeper_than_a_path_is_walked() {
    let dir = Dir::new();
    let make = "import os, sys\n\
                for _ in range(4096):\n\
                \x20   os.mkdir('nested'); os.chdir('nested')\n\
                os.mkdir('__pycache__')\n\
                open('mod.py', 'w').write('V = 1\\n')\n\
                open('__pycache__/mod.cpython-99.pyc', 'w').write('racy')\n";
    dir.command(&interpreter::main().path)
        .args(["-c", make])
        .ok();
    let done = dir.pycgate(&["gate"]).expect(0);
    assert!(
        done.stdout
            .contains("1 of 1 cache entry purged: it could be stale"),
        "{}",
        done.stdout
    );
    dir.command("rm").args(["-rf", "nested"]).ok();
}

/// Peak memory of a gate that passes, in MB.
fn peak_memory(dir: &Dir) -> u64 {
    let measure = "import resource, subprocess, sys\n\
                   subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n\
                   print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000)\n";
    let python = &interpreter::main().path;
    let done = dir.command(python).args(["-c", measure, PYCGATE, "gate"]);
    let done = done.expect(0);
    done.stdout.trim().parse().expect("a number of MB")
}

/// A directory of `names` data files, one of a tenth as many orphans, and a package.
fn wide(names: usize) -> Dir {
    let dir = Dir::new();
    package(&dir.path("pkg"));
    let make = "import os, sys\n\
                names = int(sys.argv[1])\n\
                os.makedirs('data'); os.makedirs('gone/__pycache__'); open('gone/keep.txt', 'w')\n\
                def touch(path):\n\
                \x20   os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))\n\
                for number in range(names):\n\
                \x20   touch(f'data/file{number:07}.json')\n\
                for number in range(names // 10):\n\
                \x20   touch(f'gone/__pycache__/mod{number:07}.cpython-311.pyc')\n";
    dir.command(&interpreter::main().path)
        .args(["-c", make, &names.to_string()])
        .ok();
    dir
}

#[test]
fn a_hundred_thousand_names_in_one_directory_take_little() {
    let dir = wide(100_000);
    let peak = peak_memory(&dir);
    announce(&format!("100,000 names in one directory: {peak} MB"));
    assert!(!dir.exists(format!("pkg/__pycache__/{ENTRY}")));
    assert!(peak < 48, "{peak} MB");
}

#[test]
#[ignore = "makes a million files"]
fn a_million_names_in_one_directory_take_little() {
    let dir = wide(1_000_000);
    let peak = peak_memory(&dir);
    announce(&format!("1,000,000 names in one directory: {peak} MB"));
    assert!(!dir.exists(format!("pkg/__pycache__/{ENTRY}")));
    assert!(peak < 192, "{peak} MB");
}

#[test]
fn links_that_lead_back_are_not_followed() {
    let dir = Dir::new();
    package(&dir.path("pkg"));
    symlink("..", dir.path("pkg/up")).expect("a link");
    symlink("self", dir.path("self")).expect("a link");
    symlink("pkg", dir.path("also")).expect("a link");
    symlink(dir.root(), dir.path("pkg/__pycache__/round")).expect("a link");
    fs::create_dir(dir.path("cached")).expect("a directory");
    symlink("..", dir.path("cached/__pycache__")).expect("a link");
    let done = dir.pycgate(&["gate"]).expect(0);
    assert!(
        done.stdout
            .contains("1 of 1 cache entry purged: it could be stale"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_tree_mounted_into_itself_ends() {
    if !is_root() {
        return announce("not root: bind mounts are not tested");
    }
    let dir = Dir::new();
    package(&dir.path("pkg"));
    fs::create_dir_all(dir.path("again/once/more")).expect("directories");
    let again = dir.path("again/once");
    let mount = |option: &str| {
        let mount = dir.command("mount").arg(option).arg(dir.root()).arg(&again);
        mount.run().status == 0
    };
    let unmount = || dir.command("umount").arg("-R").arg(&again).run().status == 0;
    if !mount("--rbind") {
        return announce("the kernel refuses bind mounts: not tested");
    }
    let twice = mount("--rbind");
    let done = dir.pycgate(&["gate"]).run();
    while unmount() {}
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(twice, "mounted over itself");
    assert!(!dir.exists(format!("pkg/__pycache__/{ENTRY}")));
}
