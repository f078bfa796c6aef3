"""How a run of pytest ended, as pytest knows it and its exit status alone does not say.

Exit status 2 is a key pressed as well as a module that cannot be imported, and 4 is a wrong argument
as well as a broken conftest. `Outcome` is a plugin that tells them apart. Loaded as a plugin itself
(`-p pytest_outcome`) this module writes what it has learnt, one JSON object, to the file that
PYCGATE_OUTCOME names, and takes the variable out of the environment: what the tests start is not asked.

For every pytest since 4.6, and whatever Python that runs on.
"""

import json
import os

import pytest

# What an outcome is called; all but the last say nothing about the code.
INTERRUPTED = "interrupted"  # by a key, a signal or pytest.exit()
USAGE = "usage"  # wrong arguments
INTERNAL = "internal-error"  # pytest or a plugin of it failed
NO_TESTS = "no-tests"
COLLECTION = "collection-error"  # a test module or a conftest cannot be imported


class Outcome(object):
    """A plugin that learns how the run ends."""

    def __init__(self):
        self.status = None
        self.outcome = None
        self._collection_failed = False
        self._test_failed = False

    def told(self):
        """What there is to tell: `status` and, where it is no plain pass or failure, `outcome`."""
        return {"status": self.status, "outcome": self.outcome}

    def conftests_loaded(self, result):
        """For a wrapper of `pytest_load_initial_conftests`: where one fails, no session begins."""
        error = result.excinfo and result.excinfo[1]
        if type(error).__name__ == "ConftestImportFailure":
            self.status, self.outcome = 4, COLLECTION

    def pytest_collectreport(self, report):
        self._collection_failed = self._collection_failed or report.failed

    def pytest_runtest_logreport(self, report):
        # What pytest-xdist reports of a test whose worker has gone has another word there.
        of_test = report.when in ("setup", "call", "teardown")
        self._test_failed = self._test_failed or report.failed and of_test

    def pytest_keyboard_interrupt(self, excinfo):
        # pytest stops a run of which modules cannot be imported in the way a key stops it, and
        # --stepwise and others one of which a test has failed.
        if excinfo.typename == "Interrupted" and self._collection_failed:
            self.outcome = COLLECTION
        elif excinfo.typename != "Interrupted" or not self._test_failed:
            self.outcome = INTERRUPTED

    def pytest_internalerror(self):
        self.outcome = INTERNAL

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session):
        yield
        # Other plugins may have changed the status meanwhile.
        self.finished(session)

    def finished(self, session):
        """Takes the status that the session has now."""
        self.status = int(session.exitstatus)
        if self.outcome is None:
            # What a module names is not found where the module cannot be imported.
            usage = COLLECTION if self._collection_failed else USAGE
            self.outcome = {3: INTERNAL, 4: usage, 5: NO_TESTS}.get(self.status)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    outcome = Outcome()
    early_config.pluginmanager.register(outcome, "pycgate-outcome")
    path = os.environ.pop("PYCGATE_OUTCOME", None)
    early_config.add_cleanup(lambda: _write(outcome, path))
    outcome.conftests_loaded((yield))


def _write(outcome, path):
    if path and outcome.status is not None:
        with open(path, "w") as file:
            json.dump(outcome.told(), file)
