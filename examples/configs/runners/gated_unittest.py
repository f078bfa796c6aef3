"""unittest in this process, under the gate: `python gated_unittest.py [ARGUMENT OF DISCOVER]...`."""

import json
import subprocess
import sys
import unittest

gate = subprocess.Popen(
    ["pycgate", "gate", "--wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
ready = json.loads(gate.stdout.readline() or "{}")
if ready.get("verdict") != "PASS":
    sys.exit(125)

# Nothing of the work tree is imported before this line.
argv = ["unittest", "discover", *sys.argv[1:]]
result = unittest.main(module=None, argv=argv, exit=False).result
word = {"status": 0 if result.wasSuccessful() else 1, "argv": argv}
if result.testsRun == 0:
    word["outcome"] = "no-tests"

gate.communicate(json.dumps(word) + "\n")
sys.exit(gate.returncode)
