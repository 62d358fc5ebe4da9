"""The version of the project, defined only here; `pyproject.toml` reads it from this file."""

__version__ = "0.2.0"
