"""Where files are: those that come with the package, and the folders that results are written to.

papermill executes a notebook in the caller's folder and nbval in the notebook's own, so a checkout is located
from the package. Without one, results go to the workspace around the working folder (``storm-lab init`` makes
one), or else to the working folder itself.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from storm_lab.errors import UserError, check_known, refused_by_system

DATA_VARIABLE = "STORM_LAB_DATA"
"""Environment variable that names the folder of runs and caches, instead of the project's ``data``."""

REPORTS_VARIABLE = "STORM_LAB_REPORTS"
"""Environment variable that names the folder of executed notebooks and the report, instead of ``reports``."""

PACKAGE = Path(__file__).resolve().parent.parent
"""Folder of the package `storm_lab`."""

WORKSPACE_FILE = "storm-lab.toml"
"""The file that makes a folder a workspace; it may name the folders for data and reports."""

_SHIPPED = PACKAGE / "shipped"
"""Files of the checkout that a wheel carries inside the package (``setup.py`` puts them there)."""


def checkout() -> Path | None:
    """Return the checkout that contains the package; None if the package is installed without one."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "storm_lab") == PACKAGE else None


def workspace() -> Path | None:
    """Return the workspace that contains the working folder; None if there is none."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / WORKSPACE_FILE).is_file()), None)


def project_root() -> Path:
    """Return the workspace around the working folder, else the checkout, else the working folder."""
    return workspace() or checkout() or Path.cwd()


def shipped(name: str) -> Path:
    """Return a file or folder of the package by its path in the checkout; `UserError` if it is missing."""
    root = checkout()
    found = (root or _SHIPPED) / name
    if not found.exists():
        raise UserError("did not come with the package", field=name, remedy="reinstall storm-lab")
    return found


def data_folder() -> Path:
    """Return the folder of runs, metrics and other files that can be made again; it is never committed.

    Raises `UserError` if the folder that `DATA_VARIABLE` or a workspace's file names cannot be created.
    """
    given = os.environ.get(DATA_VARIABLE)
    folder = Path(given).resolve() if given else _configured("data")
    home = workspace()
    if not given and home is None:
        return folder
    with refused_by_system(
        "is not a usable folder",
        field=DATA_VARIABLE if given else f"{home}/{WORKSPACE_FILE}, data",
        value=given or str(folder),
        remedy="name a folder that you may write to",
    ):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def user_cache(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder in which all workspaces of a user cache what can be made again.

    Raises `UserError` if the user has no home folder, as in a container with a user id of no account.
    """
    return _user_folder("XDG_CACHE_HOME", ".cache", env)


def user_state(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what a user has running on this machine; `UserError` as for `user_cache`."""
    return _user_folder("XDG_STATE_HOME", ".local/state", env)


def _user_folder(variable: str, default: str, env: Mapping[str, str]) -> Path:
    named = Path(env.get(variable, ""))
    # The XDG specification says to ignore a relative path.
    if named.is_absolute():
        return named / "storm_lab"
    try:
        home = Path.home()
    except RuntimeError as error:
        remedy = f"set HOME, or {variable}, to a folder that you may write to"
        raise UserError("this user has no home folder", field="HOME", remedy=remedy) from error
    return home / default / "storm_lab"


def runs_folder() -> Path:
    """Return the folder of runs and their tuple logs; it is never committed."""
    return data_folder() / "runs"


def reports_folder() -> Path:
    """Return the folder of executed notebooks and the report."""
    given = os.environ.get(REPORTS_VARIABLE)
    return Path(given).resolve() if given else _configured("reports")


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables in this block, also for the processes that it starts."""
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update(before)


def _configured(name: str) -> Path:
    """Return a folder of the project, which a workspace's file may place elsewhere."""
    home = workspace()
    if home is None:
        return project_root() / name
    path = home / WORKSPACE_FILE
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read ({error})", field=str(path), remedy="correct it") from error
    for key, value in given.items():
        check_known("key", key, ("data", "reports"), "a workspace", field=f"{path}, key")
        if not isinstance(value, str) or not value:
            message, remedy = "is not the path of a folder", "write a folder's path"
            raise UserError(message, field=f"{path}, {key}", value=value, remedy=remedy)
    return home / str(given.get(name, name))
