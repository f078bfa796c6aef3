"""The plugin: purges before the first conftest is imported, and looks again after the run."""

import os
import sys

import pytest

from pytest_pycgate.gate import Gate, Unavailable
from pytest_pycgate.outcome import Outcome

INCONCLUSIVE = 125
# Names the process whose workers need no gate of their own.
CONTROLLER = "PYCGATE_XDIST_CONTROLLER"


class PycgateWarning(pytest.PytestWarning):
    """The tests run without pycgate."""


def pytest_addoption(parser):
    parser.getgroup("pycgate").addoption(
        "--pycgate",
        choices=["purge", "gate", "off"],
        help="purge (the default): purge bytecode that can be stale, and say which sources changed"
        " during the run; gate: also exit with 125 where the run is INCONCLUSIVE; off: do nothing",
    )
    parser.addini("pycgate", "purge, gate or off: the default of --pycgate", default="purge")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    run = _begin(early_config)
    result = yield
    if run is not None:
        run.outcome.conftests_loaded(result)


def _begin(config):
    options = config.known_args_namespace
    mode = options.pycgate or config.getini("pycgate")
    if mode not in ("purge", "gate", "off"):
        raise pytest.UsageError("pycgate = %s: it is purge, gate or off" % mode)
    skip = os.environ.get("PYCGATE_SKIP", "") not in ("", "0")
    if mode == "off" or (mode == "purge" and skip):
        return None
    if options.help or options.version or _is_worker():
        return None
    run = Run(config, mode == "gate")
    config.pluginmanager.register(run.outcome, "pycgate-outcome")
    config.pluginmanager.register(run, "pycgate-run")
    config.add_cleanup(run.close)
    run.begin()
    return run


def _is_worker():
    """Whether this is a worker of xdist whose controller has a gate. (A pytest that a test starts
    has the worker's environment, and another parent.)"""
    return "PYTEST_XDIST_WORKER" in os.environ and os.environ.get(CONTROLLER) == str(os.getppid())


class Run:
    """One run of pytest."""

    def __init__(self, config, certify):
        self.config = config
        self.certify = certify
        self.outcome = Outcome()
        self.gate = None
        self.purged = 0
        self.reasons = []  # why what is on disk may not be what runs
        self.verdict = None

    def begin(self):
        config = self.config
        root = str(config.rootpath)
        try:
            self.gate = Gate(root, list(_places_beside(config, root)))
        except Unavailable as unavailable:
            self.verdict = "INCONCLUSIVE"
            if self.certify:
                self.reasons.append(str(unavailable))
            else:
                _warn(config, "pycgate does not run: %s" % unavailable)
            return
        os.environ[CONTROLLER] = str(os.getpid())
        ready = self.gate.ready
        self.purged = ready["counts"]["purged"]
        self.reasons += ready["reasons"]
        if ready["verdict"] != "PASS":
            self.verdict = ready["verdict"]
        self.reasons += _imported_already(ready)

    def pytest_report_header(self):
        if self.purged or self.certify:
            noun = "entry" if self.purged == 1 else "entries"
            return "pycgate: %d %s purged" % (self.purged, noun)
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self):
        if self.certify and self.verdict is not None:
            why = "\n".join(["pycgate: INCONCLUSIVE, and no test was run"] + self.reasons)
            pytest.exit(why, returncode=INCONCLUSIVE)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        self.outcome.finished(session)
        if self.verdict is None:
            self.end()
        if self.certify and self.verdict == "INCONCLUSIVE":
            session.exitstatus = INCONCLUSIVE

    def end(self):
        # Without a verdict to give, how pytest ended is pytest's own business.
        word = dict(self.outcome.told()) if self.certify else {"status": 0}
        word["argv"] = ["pytest"] + [str(one) for one in self.config.invocation_params.args]
        word["reasons"] = self.reasons
        try:
            report = self.gate.tell(word)
        except Unavailable as unavailable:
            report = {"verdict": "INCONCLUSIVE", "reasons": self.reasons + [str(unavailable)]}
        self.verdict, self.reasons = report["verdict"], report["reasons"]

    def pytest_terminal_summary(self, terminalreporter):
        lines = ["pycgate: %s" % reason for reason in self.reasons]
        if self.certify:
            lines.append("pycgate: %s" % self.verdict)
        if self.reasons or (self.certify and terminalreporter.verbosity >= 0):
            terminalreporter.section("pycgate")
            for line in lines:
                terminalreporter.line(line)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self):
        result = yield
        error = result.excinfo and result.excinfo[1]
        # pytest would end with its own status of wrong arguments, whatever the session's is.
        if self.certify and isinstance(error, pytest.UsageError):
            for line in error.args:
                sys.stderr.write("ERROR: %s\n" % line)
            result.force_result(INCONCLUSIVE)

    def close(self):
        if os.environ.get(CONTROLLER) == str(os.getpid()):
            del os.environ[CONTROLLER]
        if self.gate is not None:
            self.gate.close()


def _warn(config, text):
    try:
        config.issue_config_time_warning(PycgateWarning(text), stacklevel=2)
    except PycgateWarning:
        # `-W error` is about the tests; they are to run.
        sys.stderr.write("%s\n" % text)


def _places_beside(config, root):
    """Directories that are imported from and have nothing to do with the root: the caller's, and
    those of files named on the command line."""
    named = [str(one).split("::")[0] for one in config.known_args_namespace.file_or_dir]
    here = str(config.invocation_params.dir)
    for place in dict.fromkeys([here] + [os.path.join(here, name) for name in named]):
        place = os.path.realpath(place)
        place = place if os.path.isdir(place) else os.path.dirname(place)
        real = os.path.realpath(root)
        if os.path.isdir(place) and not _within(place, real) and not _within(real, place):
            yield place


def _within(path, directory):
    try:
        return os.path.commonpath([path, directory]) == directory
    except ValueError:  # another drive
        return False


def _imported_already(ready):
    """Modules of the work tree that were imported before the purge, from an entry that could lie."""
    lying = {
        os.path.realpath(os.path.join(ready["root"], entry["source"]))
        for entry in ready["entries"]
        if entry["source"] is not None and entry["state"] in ("racy", "stale")
    }
    if not lying:
        return
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and os.path.realpath(path) in lying:
            yield (
                "%s was imported before its bytecode could be judged, and that could be stale;"
                " run it again" % path
            )
