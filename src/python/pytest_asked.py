"""Runs after pytest_outcome.py, in the same namespace: see pytest_loader.py, which gives `archive`.

What the gate has added for this run is taken away as soon as pytest has found it, so that the tests,
and what they start, find everything as the caller has it.
"""

import os
import sys


def pytest_addoption():
    # Coverage that was started before pytest has noted the loader, and would look for its source when
    # it reports. What runs from here on has no file, and is not noted.
    coverage = sys.modules.get("coverage")
    try:
        noted = coverage.Coverage.current()._collector.data
        for name in [name for name in noted if name.startswith(archive)]:  # noqa: F821
            del noted[name]
    except Exception:
        pass


def _take_away(archive):
    rest = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p != archive]
    if rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)
    while archive in sys.path:
        sys.path.remove(archive)


_take_away(archive)  # noqa: F821
# An empty answer: pytest was reached. It stays empty where the arguments keep a session from beginning.
open(os.environ["PYCGATE_OUTCOME"], "a").close()
