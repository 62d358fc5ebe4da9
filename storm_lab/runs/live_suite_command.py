"""The commands ``storm-lab live record`` and ``storm-lab live trust``."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import click

from storm_lab.errors import UserError
from storm_lab.live.hosts import machine_mhz
from storm_lab.live.releases import find_release
from storm_lab.live.suite.sittings import SITTINGS, find_sitting, releases_of
from storm_lab.live.suite.trust_tables import trust_lines
from storm_lab.machine.options import constants_option, examples, json_option, print_json
from storm_lab.machine.progress import progress_bar
from storm_lab.runs.live_record import new_records_folder, plays, record_shown, records_folder
from storm_lab.runs.live_trust import SEEDS, compare, costs_of, play_of, recorded_runs

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(
    epilog=examples(
        "storm-lab live record",
        "storm-lab live record light control --version 2.8 --repeat 2",
        "storm-lab live record --list",
    )
)
@click.argument("names", nargs=-1, metavar="[SITTING]...")
@click.option("--version", "versions", multiple=True, metavar="V", help="Only these versions of Storm.")
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 99), help="Plays of each.")
@click.option("--folder", type=_FOLDER, help="Where recorded runs go; without, data/live/MACHINE.")
@click.option("--list", "listed", is_flag=True, help="Name the sittings with their scenes and end.")
@json_option
def record(
    names: tuple[str, ...],
    versions: tuple[str, ...],
    repeat: int,
    folder: Path | None,
    listed: bool,
    as_json: bool,
) -> None:
    """Play the suite on real Storm and keep small recorded runs, in place of those that are there."""
    if listed:
        _list(as_json)
        return
    for name in names:
        find_sitting(name)
    generations = [find_release(text).generation for text in versions] if versions else None
    chosen = plays(names, generations, repeat)
    if not chosen:
        raise UserError("these sittings are not played on it", field="--version", value=", ".join(versions))
    folders: list[str] = []
    with closing(record_shown(chosen, folder or new_records_folder(), _say)) as recorded:
        for path in recorded:
            folders.append(str(path))
            if not as_json:
                click.echo(str(path))
    if as_json:
        print_json(folders)


def _list(as_json: bool) -> None:
    """The sittings with their scenes, and how long each takes."""
    mhz = machine_mhz()
    rows: list[dict[str, Any]] = [
        {
            "name": sitting.name,
            "title": sitting.title,
            "seconds": {
                release.generation: sitting.describe(release.storm, mhz).duration_s
                for release in releases_of(sitting)
            },
            "scenes": [scene.name for scene in sitting.scenes(releases_of(sitting)[0].storm)],
        }
        for sitting in SITTINGS.values()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        spans = ", ".join(f"{seconds:.0f} s on {version}" for version, seconds in row["seconds"].items())
        click.echo(f"{row['name']:10} {row['title']} ({spans}): {', '.join(row['scenes'])}")
    whole_s = sum(sum(row["seconds"].values()) for row in rows)
    click.echo(f"together {whole_s / 60:.0f} minutes, without the starts of clusters")


@click.command(epilog=examples("storm-lab live trust", "storm-lab live trust --json"))
@click.option("--folder", type=_FOLDER, help="Recorded runs; data/live without.")
@constants_option
@click.option(
    "--seeds",
    default=len(SEEDS),
    show_default=True,
    type=click.IntRange(1, 99),
    help="Emulations of each sitting.",
)
@json_option
def trust(folder: Path | None, constants: Path | None, seeds: int, as_json: bool) -> None:
    """Compare the emulator with recorded runs of real Storm, scene by scene."""
    home = folder or records_folder()
    found = recorded_runs(home)
    names = {play_of(each) for each in found}
    with progress_bar(len(names), True, "comparing") as advance:
        begun = count()

        def tell(name: str) -> None:
            if (before := next(begun)) > 0:
                advance(before - 1, 1.0)

        costs = costs_of(found, home, constants)
        compared = compare(found, costs, seeds=range(1, seeds + 1), tell=tell)
    if as_json:
        print_json(compared.document())
        return
    for line in trust_lines(compared):
        click.echo(line)


def _say(line: str) -> None:
    click.echo(f"storm-lab: {line}", err=True)
