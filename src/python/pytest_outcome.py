"""How a run of pytest ended, as pytest knows it and its exit status alone does not say.

Exit status 2 is a key pressed as well as a module that cannot be imported, and 4 is a wrong argument
as well as a broken conftest. `Outcome` is a plugin that tells them apart. Loaded by its name
(`-p pytest_outcome`) this module writes what it has learnt, one JSON object, to the file that
PYCGATE_OUTCOME names.

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

    def pytest_keyboard_interrupt(self, excinfo):
        # pytest stops a run of which modules cannot be imported in the way a key stops it.
        stopped = excinfo.typename == "Interrupted" and self._collection_failed
        self.outcome = COLLECTION if stopped else INTERRUPTED

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
            self.outcome = {3: INTERNAL, 4: USAGE, 5: NO_TESTS}.get(self.status)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    outcome = Outcome()
    early_config.pluginmanager.register(outcome, "pycgate-outcome")
    early_config.add_cleanup(lambda: _write(outcome))
    outcome.conftests_loaded((yield))


def _write(outcome):
    path = os.environ.get("PYCGATE_OUTCOME")
    if path and outcome.status is not None:
        with open(path, "w") as file:
            json.dump(outcome.told(), file)
