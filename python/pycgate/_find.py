"""Where installers put the program of this package."""

import os
import sys
import sysconfig


def _places():
    """Directories that hold the program, the likeliest first."""
    # An environment, or the interpreter's own prefix.
    yield sysconfig.get_path("scripts")
    # `pip install --prefix`, `uv run --with` and other layers over an environment: the package lies in
    # PREFIX/lib/pythonX.Y/site-packages (on Windows PREFIX/Lib/site-packages).
    package = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(package)
    up = 2 if sys.platform == "win32" else 3
    prefix = above
    for _ in range(up):
        prefix = os.path.dirname(prefix)
    yield os.path.join(prefix, "Scripts" if sys.platform == "win32" else "bin")
    # `pip install --target DIR`: the program goes to DIR/bin.
    yield os.path.join(above, "bin")
    # `pip install --user`.
    if sys.version_info >= (3, 10):
        scheme = sysconfig.get_preferred_scheme("user")
    elif os.name == "nt":
        scheme = "nt_user"
    elif sys.platform == "darwin" and sys._framework:
        scheme = "osx_framework_user"
    else:
        scheme = "posix_user"
    yield sysconfig.get_path("scripts", scheme=scheme)


def find_program():
    """The path of the program that was installed with this package.

    Raises FileNotFoundError, naming the places, where it is in none of them.
    """
    name = "pycgate" + (sysconfig.get_config_var("EXE") or "")
    places = list(dict.fromkeys(place for place in _places() if place))
    for place in places:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        "the program %s was not installed with this package; looked in %s: reinstall pycgate"
        % (name, ", ".join(places))
    )
