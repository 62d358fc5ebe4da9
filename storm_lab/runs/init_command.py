"""The command ``storm-lab init``: a folder to work in, for those who have no checkout."""

from __future__ import annotations

from pathlib import Path

import click

from storm_lab.errors import refused_by_system
from storm_lab.machine.options import examples, json_option, print_json
from storm_lab.machine.places import WORKSPACE_FILE
from storm_lab.runs.lab import NOTEBOOKS, update_copies
from storm_lab.runs.notebook import notebooks_folder

_CONFIGURATION = """\
# A workspace of storm_lab: commands that are started in this folder or below it find it by this file.
# Where results land, seen from here. STORM_LAB_DATA and STORM_LAB_REPORTS override it.
data = "data"
reports = "reports"
"""


@click.command("init", epilog=examples("storm-lab init my_lab", "storm-lab init ."))
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Make FOLDER a workspace, with notebooks and a configuration of its own.

    In a workspace that is there already, notebooks that you did not change become the newest.
    """
    home = folder.resolve()
    kept = make_workspace(home)
    if as_json:
        print_json({"workspace": str(home), "kept": kept})
        return
    click.echo(f"workspace: {home}")
    for path in kept:
        click.echo(f"kept as you left it: {NOTEBOOKS}/{path}")
    click.echo("go on there with: storm-lab lab, or storm-lab reproduce quick")


def make_workspace(home: Path) -> list[str]:
    """Put notebooks and configuration into a folder; the notebooks that somebody changed and that are kept.

    Raises:
        UserError: the folder cannot be written to.
    """
    place = home / WORKSPACE_FILE
    with refused_by_system(
        "no workspace can be made there",
        field="folder",
        value=str(home),
        remedy="name a folder that you may write to",
    ):
        home.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.write_text(_CONFIGURATION, encoding="utf-8")
    return update_copies(notebooks_folder(), home / NOTEBOOKS)
