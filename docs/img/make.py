#!/usr/bin/env python3
"""Draws the pictures of the documents again: `python3 docs/img/make.py` from the root of a clone.

incident.svg and explain.svg show the real output of the incident example and of `pycgate explain`;
rule.svg is the rule on a line of time.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEERING = ("PYTHON", "GIT_", "PYCGATE")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
COLORS = {"racy": "#b58900", "stale": "#dc322f", "SURVIVED": "#dc322f", "old": "#dc322f", "new": "#859900",
          "KILLED": "#859900", "settled": "#859900", "■": "#b58900"}


def run(*words, cwd=ROOT):
    done = subprocess.run(words, cwd=cwd, env=CLEAN, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.rstrip("\n")


def terminal(name, command, text):
    """A terminal window with a command and what it printed."""
    lines = ["$ " + command, *text.split("\n")]
    width = 9 * max(map(len, lines)) + 40
    rows = []
    for number, line in enumerate(lines):
        parts = []
        for word in line.replace(" ", "\u00a0").split("\u00a0"):
            color = COLORS.get(word.rstrip(":"))
            text = escape(word)
            parts.append(f'<tspan fill="{color}">{text}</tspan>' if color else text)
        rows.append(f'<text x="20" y="{36 + 20 * number}" xml:space="preserve">{"&#160;".join(parts)}</text>')
    height = 20 * len(lines) + 36
    (HERE / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="monospace" font-size="15" fill="#e6e6e6" role="img" aria-label="{escape(command)}">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#1e2227"/>\n' + "\n".join(rows) + "\n</svg>\n",
        encoding="utf-8",
    )


def incident():
    text = run("cargo", "run", "--quiet", "--release", "--example", "incident")
    terminal("incident.svg", "cargo run --release --example incident", text)


def explain(pycgate):
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "app.py")
        while True:
            time.sleep(1.02 - time.time() % 1)
            source.write_text("ANSWER = 41\n")
            run(sys.executable, "-c", "import app", cwd=scratch)
            time.sleep(0.2)
            second = int(source.stat().st_mtime)
            source.write_text("ANSWER = 42\n")
            if int(source.stat().st_mtime) == second:
                break
        terminal("explain.svg", "pycgate explain app.py", run(pycgate, "explain", "app.py", cwd=scratch))


def rule():
    """Three entries of one source on a line of time."""
    begin, touched, margin, end = 60, 200, 420, 820
    marks = [(130, "racy", "written before its source was touched"), (300, "racy", "too soon to be sure"),
             (620, "settled", "compiled from what is on disk")]
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 230" width="880" height="230" '
        'font-family="sans-serif" font-size="14" fill="#333" role="img" aria-label="The rule on a line of time">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<rect x="{touched}" y="70" width="{margin - touched}" height="60" fill="#f5e6c0"/>',
        f'<line x1="{begin}" y1="100" x2="{end}" y2="100" stroke="#333" stroke-width="2"/>',
        f'<text x="{end + 8}" y="105">time</text>',
        f'<line x1="{touched}" y1="60" x2="{touched}" y2="140" stroke="#268bd2" stroke-width="3"/>',
        f'<text x="{touched}" y="48" text-anchor="middle">source last touched (ctime)</text>',
        f'<line x1="{margin}" y1="60" x2="{margin}" y2="140" stroke="#268bd2" stroke-width="2" stroke-dasharray="4"/>',
        f'<text x="{margin}" y="48" text-anchor="middle">margin ends</text>',
    ]
    for number, (x, state, why) in enumerate(marks):
        color = "#859900" if state == "settled" else "#b58900"
        y = 165 + 24 * (number % 2)
        out.append(f'<rect x="{x - 7}" y="93" width="14" height="14" fill="{color}"/>')
        out.append(f'<text x="{x}" y="{y}" text-anchor="middle"><tspan font-weight="bold" fill="{color}">{state}</tspan>: {why}</text>')
    out.append('<text x="60" y="220" font-size="12">■ an entry that its interpreter accepts, where it was written</text>')
    (HERE / "rule.svg").write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")


if __name__ == "__main__":
    rule()
    incident()
    explain(str(ROOT / "target/release/pycgate"))
