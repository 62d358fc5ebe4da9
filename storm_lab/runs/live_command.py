"""The commands ``storm-lab live run``, ``record`` and ``trust``.

The commands of ``storm-lab live`` that only need a cluster are in `storm_lab.live.commands`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from storm_lab.errors import UserError, unknown_name
from storm_lab.live.commands import live
from storm_lab.live.hosts import machine_mhz
from storm_lab.live.play import check_live, open_stage
from storm_lab.live.releases import RELEASES, Release, find_release
from storm_lab.live.scenes import SCENES
from storm_lab.live.suite.sittings import SITTINGS, find_sitting, releases_of
from storm_lab.live.suite.trust_tables import trust_lines
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import FiniteRange, answer, examples, json_option, param_option, print_json
from storm_lab.machine.places import runs_folder
from storm_lab.machine.progress import progress_bar
from storm_lab.papers.registry import experiment, experiments
from storm_lab.runs.live_play import (
    SCENES_NAME,
    LiveTask,
    experiment_tasks,
    nearest_release,
    new_records_folder,
    play_task,
    plays,
    record_plays,
    records_folder,
)
from storm_lab.runs.live_trust import SEEDS, compare, costs_of, play_of, recorded_runs

__all__ = ["live"]

_FOLDER = click.Path(path_type=Path, file_okay=False)


@live.command(
    epilog=examples(
        "storm-lab live run --list",
        "storm-lab live run light-1w light-2n --repeat 3",
        "storm-lab live run chain-acked --version 0.9.2",
        "storm-lab live run rstorm-network-bound --only 'linear-*' -p seeds=1 --seconds 120 --load 0.1",
    )
)
@click.argument("names", nargs=-1, metavar="[SCENE|EXPERIMENT]...")
@click.option(
    "--version",
    metavar="V",
    help="Version of Storm. Default: 2.8 for scenes, the experiment's own version otherwise.",
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 99), help="Plays of a scene.")
@click.option("--only", metavar="PATTERN", multiple=True, help="Only variants that match this pattern.")
@param_option("Set a parameter of the experiment.")
@click.option(
    "--load",
    default=1.0,
    show_default=True,
    type=FiniteRange(0, min_open=True),
    help="Factor on the load.",
)
@click.option("--seconds", type=FiniteRange(0, min_open=True), help="End each run after this many seconds.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of runs (default: data/runs).")
@click.option("--list", "listed", is_flag=True, help="List the scenes and exit.")
@json_option
def run(
    names: tuple[str, ...],
    version: str | None,
    repeat: int,
    only: tuple[str, ...],
    parameters: tuple[str, ...],
    load: float,
    seconds: float | None,
    runs: Path | None,
    listed: bool,
    as_json: bool,
) -> None:
    """Play scenes and experiments on real Storm and write ordinary run folders, marked as live.

    A play replaces an earlier one of the same number, or for experiments of the same parameters and seed.
    """
    if listed or not names:
        scenes = [{"name": scene.name, "title": scene.title} for scene in SCENES.values()]
        answer(as_json, scenes, "\n".join("{name:16} {title}".format(**scene) for scene in scenes))
        return
    requested = None if version is None else find_release(version)
    mhz = machine_mhz()  # measured once, because it varies on many machines
    slugs = [each.slug for each in experiments()]
    for field, value, kind, known in (
        ("--param", ", ".join(parameters), "experiments", slugs),
        ("--only", ", ".join(only), "experiments", slugs),
        ("--seconds", seconds, "experiments", slugs),
        ("--load", None if load == 1.0 else load, "experiments", slugs),
        ("--repeat", None if repeat == 1 else repeat, "scenes", SCENES),
    ):
        if value and not set(names) & set(known):
            raise UserError(f"applies to {kind} only", field=field, value=value, remedy="leave it out")
    chosen: list[tuple[Release, list[LiveTask]]] = []
    for name in dict.fromkeys(names):
        if name in SCENES:
            release = requested or next(iter(RELEASES.values()))
            spec = SCENES[name].describe(release.storm, mhz)
            tasks = [LiveTask(SCENES_NAME, name, {}, play, spec) for play in range(1, repeat + 1)]
        elif name in slugs:
            found = experiment(name)
            checked = found.parsed(parameters)
            versions = [spec.storm_version for spec in found.runs(checked)]
            if not versions:
                remedy = "name a scene or another experiment"
                raise UserError("this experiment plays no runs", field="name", value=name, remedy=remedy)
            release = requested or nearest_release(min(versions))
            tasks = experiment_tasks(found, release.storm, checked, only=only, load=load, longest_s=seconds)
            if not tasks:
                raise UserError("no run matches", field="--only", value=", ".join(only))
        else:
            raise unknown_name("scene or experiment", name, [*SCENES, *slugs], "storm_lab", field="name")
        chosen.append((release, tasks))
    # Check all before the first is played.
    for task in (task for _, tasks in chosen for task in tasks):
        check_live(task.spec, task.spec.cluster)
    check_folder(runs or runs_folder(), field="--runs")
    with closing(_played(chosen, runs)) as folders:
        _show_folders(folders, as_json)


def _show_folders(folders: Iterable[Path], as_json: bool) -> None:
    """Print folders of runs, each as soon as it exists; with ``as_json``, all of them at the end."""
    shown: list[str] = []
    for folder in folders:
        shown.append(str(folder))
        if not as_json:
            click.echo(str(folder))
    if as_json:
        print_json(shown)


def _played(
    chosen: Iterable[tuple[Release, Iterable[LiveTask]]], home: Path | None
) -> Generator[Path, None, None]:
    """Play tasks and yield the folders of their runs; those in succession with one cluster share it."""
    for release, tasks in chosen:
        for cluster, members in groupby(tasks, key=lambda task: task.spec.cluster):
            with open_stage(release.version, cluster) as stage:
                for line in stage.storm.unrealised:
                    _say(f"not realised: {line}")
                for task in members:
                    with progress_bar(1, True, str(task)) as advance:
                        folder = play_task(task, stage, home, partial(advance, 0))
                    yield folder


@live.command(
    epilog=examples(
        "storm-lab live record",
        "storm-lab live record light control --version 2.8 --repeat 2",
        "storm-lab live record --list",
    )
)
@click.argument("names", nargs=-1, metavar="[SITTING]...")
@click.option(
    "--version",
    "versions",
    multiple=True,
    metavar="V",
    help="Versions of Storm to play (default: for each sitting the first that --list shows).",
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 99), help="Plays of each.")
@click.option("--folder", type=_FOLDER, help="Folder for recorded runs (default: data/live/MACHINE).")
@click.option("--list", "listed", is_flag=True, help="List the sittings with their scenes and exit.")
@json_option
def record(
    names: tuple[str, ...],
    versions: tuple[str, ...],
    repeat: int,
    folder: Path | None,
    listed: bool,
    as_json: bool,
) -> None:
    """Play the suite on real Storm and keep small recorded runs, replacing existing ones."""
    if listed:
        _list(as_json)
        return
    for name in names:
        find_sitting(name)
    labels = [find_release(text).label for text in versions] if versions else None
    chosen = plays(names, labels, repeat)
    if not chosen:
        message = "none of these sittings is played on this version"
        raise UserError(message, field="--version", value=", ".join(versions))
    home = folder or new_records_folder()
    check_folder(home, field="--folder")
    with closing(record_plays(chosen, home)) as recorded:
        _show_folders(recorded, as_json)


def _list(as_json: bool) -> None:
    """Print the sittings with their scenes and durations."""
    mhz = machine_mhz()
    rows: list[dict[str, Any]] = [
        {
            "name": sitting.name,
            "title": sitting.title,
            "in_suite": sitting.in_suite,
            "seconds": {
                release.label: sitting.describe(release.storm, mhz).duration_s
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
        click.echo(f"{row['name']:11} {row['title']} ({spans}): {', '.join(row['scenes'])}")
    suite_s = [list(row["seconds"].values()) for row in rows if row["in_suite"]]
    others = ", ".join(row["name"] for row in rows if not row["in_suite"])
    click.echo(
        f"the suite plays every sitting except {others} on its first version: "
        f"{sum(each[0] for each in suite_s) / 60:.0f} minutes, without starting clusters; "
        f"on all versions {sum(map(sum, suite_s)) / 60:.0f}"
    )


@live.command(epilog=examples("storm-lab live trust", "storm-lab live trust --json"))
@click.option("--folder", type=_FOLDER, help="Folder of recorded runs (default: data/live).")
@click.option(
    "--constants",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Constants of a machine, written by storm-lab calibrate --live.",
)
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
    with progress_bar(len({play_of(each) for each in found}), True, "comparing") as advance:
        costs = costs_of(found, home, constants)
        if constants is not None:
            known = next(iter(costs.values()))
            for generation in sorted({each.release.generation for each in found} - set(known)):
                _say(f"{constants} has no constants for Storm {generation}: the cost model's own apply")
        compared = compare(found, costs, seeds=range(1, seeds + 1), advance=advance)
    answer(as_json, compared.document(), "\n".join(trust_lines(compared)))


def _say(line: str) -> None:
    click.echo(f"storm-lab: {line}", err=True)
