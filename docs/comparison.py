#!/usr/bin/env python3
"""Tries the alternatives to pycgate and prints the table of docs/comparison.md.

    python3 docs/comparison.py target/release/pycgate [DIRECTORY OF pyclean]
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

STEERING = ("PYTHON", "GIT_", "PYCGATE")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
CLEAN.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")
IMPORT = f"{sys.executable} -c 'import mod; print(mod.V)'"
OLDER = "find . -name '*.pyc' -path '*__pycache__*' ! -newer mod.py -delete"


def shell(command, cwd):
    return subprocess.run(["sh", "-c", command], cwd=cwd, env=CLEAN, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()


def project(root):
    """A repository with what must not be lost, and a warm entry."""
    root = pathlib.Path(root)
    shell("git init -q && git config user.name n && git config user.email n@example.invalid", root)
    (root / ".gitignore").write_text("__pycache__/\n.env\n*.pyc\n")
    (root / ".env").write_text("SECRET=1\n")
    (root / "lib").mkdir()
    (root / "lib/x.py").write_text("V = 1\n")
    (root / "other.py").write_text("V = 1\n")
    shell(f"{sys.executable} -m compileall -q -b lib && rm lib/x.py && cp lib/x.pyc committed.pyc", root)
    shell("git add -f .gitignore other.py committed.pyc && git commit -q -m one && git branch fix/cleanup.pyc", root)
    time.sleep(2.3)
    shell(f"{sys.executable} -c 'import other'", root)
    return root


def rewritten(root):
    """The incident: a rewrite of the same size within one second."""
    while True:
        time.sleep(1.02 - time.time() % 1)
        source = root / "mod.py"
        source.write_text("V = 'old'\n")
        shell(IMPORT, root)
        second = int(source.stat().st_mtime)
        source.write_text("V = 'new'\n")
        if int(source.stat().st_mtime) == second:
            return


def compiled_late(root):
    """The source changes while it is compiled: the entry is newer than its source, and old."""
    source = root / "mod.py"
    while True:
        time.sleep(1.02 - time.time() % 1)
        source.write_text("V = 'old'\n")
        code = ("import importlib._bootstrap_external as e\nreal = e.SourceFileLoader.source_to_code\n"
                "def slow(self, data, path):\n    open('mod.py', 'w').write(\"V = 'new'\\n\")\n"
                "    return real(self, data, path)\ne.SourceFileLoader.source_to_code = slow\nimport mod")
        second = int(source.stat().st_mtime)
        subprocess.run([sys.executable, "-c", code], cwd=root, env=CLEAN, check=True)
        if int(source.stat().st_mtime) == second:
            return


def restored(root):
    """A mutation, and the mtime put back."""
    source = root / "mod.py"
    source.write_text("V = 'old'\n")
    shell(IMPORT, root)
    stat = source.stat()
    source.write_text("V = 'new'\n")
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def main():
    pycgate = os.path.abspath(sys.argv[1])
    pyclean = os.path.join(os.path.abspath(sys.argv[2]), "pyclean") if len(sys.argv) > 2 else None
    ways = [
        ("nothing", IMPORT),
        ("`PYTHONDONTWRITEBYTECODE=1 python ...`", "PYTHONDONTWRITEBYTECODE=1 " + IMPORT),
        ("`find . -name '*.pyc' -delete`", f"find . -name '*.pyc' -delete; {IMPORT}"),
        ("`git clean -fdqX`", f"git clean -fdqX; {IMPORT}"),
        ("`" + OLDER.replace("mod.py", "SOURCE") + "`", f"{OLDER}; {IMPORT}"),
        ("`PYTHONPYCACHEPREFIX=$(mktemp -d) python ...`", f"PYTHONPYCACHEPREFIX=$(mktemp -d) {IMPORT}"),
        ("`pycgate gate -- python ...`", f"{pycgate} gate -q -- {IMPORT}"),
    ]
    if pyclean:
        ways.insert(3, ("`pyclean .`", f"{pyclean} . >/dev/null; {IMPORT}"))
    print("| way | rewritten in one second | changed while compiled | mtime restored | warm entry | lost |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, command in ways:
        cells = []
        lost, warm = set(), True
        for situation in (rewritten, compiled_late, restored):
            with tempfile.TemporaryDirectory() as scratch:
                root = project(scratch)
                situation(root)
                cells.append("right" if shell(command, root) == "new" else "**stale**")
                valuables = {"lib/x.pyc": "a sourceless module", "committed.pyc": "a committed file", ".env": "an ignored file"}
                lost |= {what for path, what in valuables.items() if not (root / path).exists()}
                if "cleanup.pyc" not in shell("git branch", root):
                    lost.add("a git branch")
                warm &= any("other" in entry.name for entry in (root / "__pycache__").glob("*"))
        if "PREFIX" in command:
            warm_word = "not used"
        else:
            warm_word = "kept" if warm else "lost"
        print(f"| {name} | {' | '.join(cells)} | {warm_word} | {', '.join(sorted(lost)) or 'nothing'} |", flush=True)


if __name__ == "__main__":
    main()
