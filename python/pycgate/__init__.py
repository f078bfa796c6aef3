"""The `pycgate` program of this environment, for those who start it from Python."""

from pycgate._find import find_program

__all__ = ["find_program"]
