"""The commands ``storm-lab lab`` (JupyterLab on working copies) and ``storm-lab init`` (a workspace).

The notebook templates are never edited. A copy that the user has not changed is updated with its template;
a changed copy is kept.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.options import answer, examples, json_option
from storm_lab.machine.places import WORKSPACE_FILE, data_folder, workspace
from storm_lab.runs.notebook import notebooks_folder
from storm_lab.tuplelog.manifest import file_sha256

NOTEBOOKS = "notebooks"
"""Folder of the copies in a workspace."""

_TEMPLATE_DIGESTS_FILE = ".templates.json"
"""File in the folder of copies that maps each copy's path to the digest of the template it was made from."""

_SERVER = {
    "KernelManager": {"transport_encryption": "auto"},
    "ServerApp": {"logging_config": {"loggers": {"tornado.general": {"level": "ERROR"}}}},
}
"""Settings of the server that suppress warnings for every kernel.

Kernels warn that they have no encryption. Tornado 6.5 warns that jupyter_server 2 waits longer for the answer
to a ping than the interval between pings. That is necessary: with equal times it closes every connection at
its first ping.
"""

_OVERRIDES = {"@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True}}
"""Settings of the page: without them, saved widgets show "Error displaying widget" when reopened."""

_CONFIGURATION = """\
# A workspace of storm_lab: commands that are started in this folder or below it find it by this file.
# Folders of results, relative to this file. STORM_LAB_DATA and STORM_LAB_REPORTS override it.
data = "data"
reports = "reports"
"""

_OTHER_WORKSPACE = "make the workspace in a folder that you may write to, on a disk with room"
_OTHER_DATA = "set STORM_LAB_DATA to a folder that you may write to, on a disk with room"


@click.command("init", epilog=examples("storm-lab init my_lab", "storm-lab init ."))
@click.argument("folder", metavar="FOLDER", type=click.Path())
@json_option
def init(folder: str, as_json: bool) -> None:
    """Make FOLDER a workspace, with notebooks and a configuration of its own.

    In an existing workspace, notebooks that you have not changed are updated to the newest version.
    """
    if not folder:
        remedy = "give a path, or . for the current folder"
        raise UserError("is empty", field="folder", value=folder, remedy=remedy)
    home = Path(folder).resolve()
    place = home / WORKSPACE_FILE
    message = "a workspace cannot be created there"
    with refused_by_system(message, field="folder", value=str(home), remedy=_OTHER_WORKSPACE):
        home.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            write_atomic(place, _CONFIGURATION)
    kept = update_copies(notebooks_folder(), home / NOTEBOOKS)
    lines = [f"workspace: {home}"]
    lines += [f"kept, because you changed it: {NOTEBOOKS}/{path}" for path in kept]
    lines += ["next, in that folder: storm-lab lab, or storm-lab reproduce quick"]
    answer(as_json, {"workspace": str(home), "kept": kept}, "\n".join(lines))


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog=examples("storm-lab lab", "storm-lab lab --no-browser --port 8890"),
)
@click.pass_context
def lab(context: click.Context) -> NoReturn:
    """Open JupyterLab on working copies of the notebooks; further options go to JupyterLab."""
    home = workspace()
    folder = home / NOTEBOOKS if home else data_folder() / "lab"
    # A workspace's copies do not depend on STORM_LAB_DATA.
    kept = update_copies(notebooks_folder(), folder, remedy=_OTHER_WORKSPACE if home else _OTHER_DATA)
    click.echo(f"notebooks: working copies in {folder}; the templates are not changed", err=True)
    for path in kept:
        click.echo(f"kept, because you changed it: {path} (delete it to get the newer one)", err=True)
    quiet = ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url=None"]
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *quiet, *context.args]
    sys.stdout.flush()
    os.execve(sys.executable, command, without_announcements(data_folder() / "cache" / "lab-settings"))


def without_announcements(folder: Path) -> dict[str, str]:
    """Environment of a JupyterLab without news and warnings; `UserError` if the folder is not writable."""
    page = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    files = {
        "labconfig/page_config.json": page,
        "labconfig/default_setting_overrides.json": _OVERRIDES,
        "jupyter_server_config.json": _SERVER,
    }
    message = "JupyterLab's settings cannot be written there"
    with refused_by_system(message, field=str(folder), remedy=_OTHER_DATA):
        for name, settings in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    places = [str(folder), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(places)}


def update_copies(templates: Path, folder: Path, *, remedy: str = _OTHER_WORKSPACE) -> list[str]:
    """Update the copies and return changed ones whose template is newer; `UserError` if not writable."""
    kept = []
    with refused_by_system("working copies cannot be written there", field=str(folder), remedy=remedy):
        folder.mkdir(parents=True, exist_ok=True)
        made_from: dict[str, str] = {}
        with suppress(OSError, ValueError):
            made_from = dict(json.loads((folder / _TEMPLATE_DIGESTS_FILE).read_text(encoding="utf-8")))
        for template in sorted(templates.rglob("*.ipynb")):
            name = template.relative_to(templates).as_posix()
            copy, newest = folder / name, file_sha256(template)
            present = file_sha256(copy) if copy.is_file() else None
            if present in (None, made_from.get(name)):
                write_atomic(copy, template.read_bytes())
                _trust(copy)
                made_from[name] = newest
            elif present == newest:
                made_from[name] = newest
            elif made_from.get(name) != newest:
                kept.append(name)
        write_atomic(folder / _TEMPLATE_DIGESTS_FILE, json.dumps(made_from, indent=1) + "\n")
    return kept


def _trust(copy: Path) -> None:
    """Sign a copy, so that JupyterLab trusts it; do without where Jupyter has no folder for signatures."""
    # Imported here, so that ``--help`` does not wait for it.
    import nbformat
    from nbformat.sign import NotebookNotary

    notary: Any = NotebookNotary  # It has no type annotations.
    read: Any = nbformat.read
    document = read(copy, as_version=4)
    # Jupyter raises RuntimeError if the user has no home folder.
    with suppress(OSError, RuntimeError):
        notary().sign(document)
