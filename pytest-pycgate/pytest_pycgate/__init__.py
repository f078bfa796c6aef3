"""pytest on the code that is on disk: see `pytest_pycgate.plugin`."""
