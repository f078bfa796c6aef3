"""One `pycgate gate --wait`: the gate for a sweep that is not its child (docs/runners.md)."""

import json
import os
import shutil
import subprocess
import sys
import tempfile


class Unavailable(Exception):
    """There is no gate: the program is missing, or does not do what this plugin needs."""


class Gate:
    """A gate beside this process. `ready` is its first report."""

    def __init__(self, directory, also):
        words = [_program(), "-C", directory, "-q", "gate", "--wait"]
        for place in also:
            words += ["--also", place]
        # Also where `-X pycache_prefix`, sitecustomize or a launcher has set it.
        if getattr(sys, "pycache_prefix", None):
            words += ["--pycache-prefix", os.path.abspath(sys.pycache_prefix)]
        # A pipe that nobody reads can fill up.
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
            )
        except OSError as error:
            self._errors.close()
            raise Unavailable("%s cannot be started: %s" % (words[0], error)) from error
        try:
            self.ready = self._report()
        except BaseException:
            self.close()
            raise

    def _report(self):
        line = self._process.stdout.readline()
        try:
            return json.loads(line.decode("utf-8"))
        except ValueError:
            self._process.kill()
            self._process.wait()
            self._errors.seek(0)
            said = self._errors.read().decode("utf-8", "replace").strip().split("\n")[0]
            raise Unavailable("%s gave no report: %s" % (self._process.args[0], said)) from None

    def tell(self, word):
        """Tells how the sweep ended, and returns the second report."""
        try:
            self._process.stdin.write(json.dumps(word).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # It has ended; what it said of that is read now.
        return self._report()

    def close(self):
        """Ends the gate, whatever it is doing."""
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            try:
                stream.close()
            except OSError:
                pass
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _program():
    try:
        from pycgate import find_program

        return find_program()
    except (ImportError, FileNotFoundError):
        program = shutil.which("pycgate")
    if program is None:
        raise Unavailable("there is no program `pycgate`: pip install pycgate")
    return program
