//! Configuration: `[tool.pycgate]` in `pyproject.toml`, or `pycgate.toml`, which wins.
#![forbid(unsafe_code)]
