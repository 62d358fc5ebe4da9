"""Where things lie: found from the package, never from the folder that a program happens to be started in.

papermill runs a notebook in the caller's folder, nbval in the notebook's own: a path that depends on the
working folder would mean two different files.
"""

from __future__ import annotations

import os
from pathlib import Path

from storm_lab.errors import UserError

DATA_VARIABLE = "STORM_LAB_DATA"
"""Environment variable with the folder for runs and caches, in place of the checkout's ``data``."""

REPORTS_VARIABLE = "STORM_LAB_REPORTS"
"""Environment variable with the folder for executed notebooks and the report, in place of ``reports``."""

PACKAGE = Path(__file__).resolve().parent.parent
"""Folder of the package `storm_lab`."""


def project_root() -> Path:
    """The checkout that the package lies in; the working folder if the package is installed without one."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else Path.cwd()


def data_folder() -> Path:
    """Where runs, metrics and other things that can be made again lie; never committed.

    Raises:
        UserError: the folder that `DATA_VARIABLE` names is not there and cannot be made.
    """
    given = os.environ.get(DATA_VARIABLE)
    if not given:
        return project_root() / "data"
    folder = Path(given).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"is no folder that can be used ({error.strerror})",
            field=DATA_VARIABLE,
            value=given,
            remedy="name a folder that you may write to",
        ) from error
    return folder


def runs_folder() -> Path:
    """Where runs and their tuple logs land; never committed."""
    return data_folder() / "runs"


def sweeps_folder() -> Path:
    """Where the tables of sweeps land; never committed."""
    return data_folder() / "sweeps"


def reports_folder() -> Path:
    """Where executed notebooks and the report land."""
    given = os.environ.get(REPORTS_VARIABLE)
    return Path(given).resolve() if given else project_root() / "reports"
