"""`python -m pycgate`: the program in this process's place."""

import os
import sys

from pycgate import find_program


def _main():
    program = find_program()
    words = [program, *sys.argv[1:]]
    if sys.platform == "win32":
        # There an exec would return to the caller at once.
        import subprocess

        try:
            return subprocess.run(words).returncode
        except KeyboardInterrupt:
            return 2
    os.execv(program, words)


if __name__ == "__main__":
    sys.exit(_main())
