"""Where things lie: what comes with the package, and where results land.

papermill runs a notebook in the caller's folder, nbval in the notebook's own: what depended on the working
folder would be two different files. So a checkout is found from the package. Without one, results land in the
workspace around the working folder (``storm-lab init`` makes one), or else in the working folder itself.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from storm_lab.errors import UserError, check_known, refused_by_system

DATA_VARIABLE = "STORM_LAB_DATA"
"""Environment variable with the folder for runs and caches, in place of the project's ``data``."""

REPORTS_VARIABLE = "STORM_LAB_REPORTS"
"""Environment variable with the folder for executed notebooks and the report, in place of ``reports``."""

PACKAGE = Path(__file__).resolve().parent.parent
"""Folder of the package `storm_lab`."""

WORKSPACE_FILE = "storm-lab.toml"
"""The file that makes a folder a workspace; says where its data and reports lie."""

_SHIPPED = PACKAGE / "shipped"
"""What of the checkout a wheel carries inside the package (``setup.py`` puts it there)."""


def checkout() -> Path | None:
    """The checkout that the package lies in; None where it is installed by itself."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "storm_lab") == PACKAGE else None


def workspace() -> Path | None:
    """The workspace that the working folder lies in; None where there is none."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / WORKSPACE_FILE).is_file()), None)


def project_root() -> Path:
    """Where data and reports lie: workspace around the working folder, else checkout, else that folder."""
    return workspace() or checkout() or Path.cwd()


def shipped(name: str) -> Path:
    """A file or folder of the package, by its path in the checkout; `UserError` if it is not whole."""
    root = checkout()
    found = (root or _SHIPPED) / name
    if not found.exists():
        raise UserError("did not come with the package", field=name, remedy="install storm-lab anew")
    return found


def data_folder() -> Path:
    """Where runs, metrics and other things that can be made again lie; never committed.

    Raises `UserError` if the folder that `DATA_VARIABLE` or a workspace's file names is not there and cannot
    be made.
    """
    given = os.environ.get(DATA_VARIABLE)
    folder = Path(given).resolve() if given else _configured("data")
    home = workspace()
    if not given and home is None:
        return folder
    with refused_by_system(
        "is no folder that can be used",
        field=DATA_VARIABLE if given else f"{home}/{WORKSPACE_FILE}, data",
        value=given or str(folder),
        remedy="name a folder that you may write to",
    ):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def user_cache(env: Mapping[str, str] = os.environ) -> Path:
    """Where all workspaces of a user keep what can be made again."""
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "storm_lab"


def runs_folder() -> Path:
    """Where runs and their tuple logs land; never committed."""
    return data_folder() / "runs"


def reports_folder() -> Path:
    """Where executed notebooks and the report land."""
    given = os.environ.get(REPORTS_VARIABLE)
    return Path(given).resolve() if given else _configured("reports")


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """In this block the environment, also of processes that are started, has these variables."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _configured(name: str) -> Path:
    """A folder of the project, which a workspace's file may put elsewhere."""
    home = workspace()
    if home is None:
        return project_root() / name
    path = home / WORKSPACE_FILE
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read ({error})", field=str(path), remedy="put it right") from error
    for key, value in given.items():
        check_known("key", key, ("data", "reports"), "a workspace", field=f"{path}, key")
        if not isinstance(value, str) or not value:
            raise UserError(
                "names no folder", field=f"{path}, {key}", value=value, remedy="write a folder's path"
            )
    return home / str(given.get(name, name))
