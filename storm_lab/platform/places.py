"""Where things lie: found from the package, never from the folder that a program happens to be started in.

papermill runs a notebook in the caller's folder, nbval in the notebook's own: a path that depends on the
working folder would mean two different files.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
"""Folder of the package `storm_lab`."""


def project_root() -> Path:
    """The checkout that the package lies in; the working folder if the package is installed without one."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else Path.cwd()


def runs_folder() -> Path:
    """Where runs and their tuple logs land; never committed."""
    return project_root() / "data" / "runs"


def sweeps_folder() -> Path:
    """Where the tables of sweeps land; never committed."""
    return project_root() / "data" / "sweeps"


def reports_folder() -> Path:
    """Where executed notebooks and the report land."""
    return project_root() / "reports"
