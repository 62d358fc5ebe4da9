"""The command ``storm-lab live run``, beside those that only need a cluster."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path

import click

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError, unknown_name
from storm_lab.live.commands import live
from storm_lab.live.hosts import machine_mhz
from storm_lab.live.play import check_live, open_stage
from storm_lab.live.releases import RELEASES, Release, find_release
from storm_lab.live.scenes import SCENES
from storm_lab.machine.options import examples, json_option, print_json
from storm_lab.machine.progress import progress_bar
from storm_lab.papers.registry import experiment, experiments
from storm_lab.runs.live_play import (
    LiveTask,
    experiment_tasks,
    nearest_release,
    play_task,
    scene_task,
)
from storm_lab.runs.live_suite_command import record, trust

__all__ = ["live"]

live.add_command(record)
live.add_command(trust)


@live.command(
    epilog=examples(
        "storm-lab live run --list",
        "storm-lab live run light-1w light-2n --repeat 3",
        "storm-lab live run chain-acked --version 0.9.2",
        "storm-lab live run rstorm-network-bound --only 'linear-*' -p seeds=1 --seconds 120 --load 0.1",
    )
)
@click.argument("names", nargs=-1, metavar="[SCENE|EXPERIMENT]...")
@click.option("--version", metavar="V", help="Version of Storm; 2.8 for scenes, an experiment's own else.")
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 99), help="Plays of a scene.")
@click.option("--only", metavar="PATTERN", multiple=True, help="Only variants of experiments like this.")
@click.option(
    "-p",
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a parameter of the experiment.",
)
@click.option(
    "--load",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Part of the load.",
)
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), help="End each run of experiments so soon."
)
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of runs; data/runs without.")
@click.option("--list", "listed", is_flag=True, help="Name the scenes and end.")
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
    """Play scenes and experiments on real Storm and leave ordinary run folders, marked as live."""
    if listed or not names:
        if as_json:
            print_json([{"name": scene.name, "title": scene.title} for scene in SCENES.values()])
            return
        for scene in SCENES.values():
            click.echo(f"{scene.name:16} {scene.title}")
        return
    mhz = machine_mhz()  # once: on many machines it is never the same
    # All are looked at before the first is played.
    chosen = [
        (release, [(task, _checked(task, release, mhz)) for task in tasks])
        for release, tasks in _by_release(names, version, repeat, only, parameters, load, seconds)
    ]
    folders: list[str] = []
    for release, specs in chosen:
        with closing(_play(release, specs, runs)) as played:
            for folder in played:
                folders.append(str(folder))
                if not as_json:
                    click.echo(str(folder))
    if as_json:
        print_json(folders)


def _by_release(
    names: Iterable[str],
    version: str | None,
    repeat: int,
    only: tuple[str, ...],
    parameters: tuple[str, ...],
    load: float,
    seconds: float | None,
) -> list[tuple[Release, list[LiveTask]]]:
    asked = None if version is None else find_release(version)
    found: list[tuple[Release, list[LiveTask]]] = []
    slugs = [each.slug for each in experiments()]
    if parameters and not set(names) & set(slugs):
        raise UserError("only experiments have parameters", field="--param", value=", ".join(parameters))
    for name in names:
        if name in SCENES:
            release = asked or next(iter(RELEASES.values()))
            found.append((release, [scene_task(SCENES[name], play + 1) for play in range(repeat)]))
        elif name in slugs:
            chosen = experiment(name)
            checked = chosen.parsed(parameters)
            tasks = experiment_tasks(chosen, checked, only=only, load=load, longest_s=seconds)
            versions = {spec.storm_version for spec in chosen.runs(checked)}
            if not tasks:
                raise UserError("no run of it is left", field="--only", value=", ".join(only) or name)
            found.append((asked or nearest_release(min(versions)), tasks))
        else:
            raise unknown_name("scene or experiment", name, [*SCENES, *slugs], "storm_lab", field="name")
    return found


def _play(
    release: Release, specs: Iterable[tuple[LiveTask, EmulationSpec]], home: Path | None
) -> Generator[Path, None, None]:
    """Play tasks one after another, those of one cluster on it; the folders of their runs."""
    for _, group in groupby(specs, key=lambda pair: pair[1].cluster):
        members = list(group)
        with open_stage(release.version, members[0][1].cluster, say=_say) as stage:
            for line in stage.storm.unrealised:
                _say(f"not realised: {line}")
            for task, _ in members:
                with progress_bar(1, True, str(task)) as advance:
                    folder, _ = play_task(task, stage, home, partial(advance, 0))
                yield folder


def _checked(task: LiveTask, release: Release, mhz: float) -> EmulationSpec:
    spec = task.describe(release.storm, mhz)
    check_live(spec, spec.cluster)
    return spec


def _say(line: str) -> None:
    click.echo(f"storm-lab: {line}", err=True)
