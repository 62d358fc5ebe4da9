"""The command ``storm-lab live run``: scenes on real Storm, as ordinary run folders."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import click

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.hosts import HostOptions, machine_mhz
from storm_lab.live.play import Stage, open_stage, play_live
from storm_lab.live.releases import RELEASES, find_release
from storm_lab.live.scenes import SCENES, Scene, find_scene, scene_cluster
from storm_lab.machine.options import examples
from storm_lab.machine.places import PACKAGE, runs_folder
from storm_lab.tuplelog import Manifest, RunIdentity, RunWriter

EXPERIMENT = "live"
"""Folder of live runs of scenes among the runs."""

_NS = 1_000_000_000


@click.command(
    epilog=examples(
        "storm-lab live run light-1w",
        "storm-lab live run light-1w light-2n --version 0.9.2 --repeat 2",
        "storm-lab live run --list",
    )
)
@click.argument("names", nargs=-1, metavar="[SCENE]...")
@click.option(
    "--version", default=next(iter(RELEASES)), show_default=True, metavar="V", help="Version of Storm."
)
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1, 99), help="Plays of each scene."
)
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of runs; data/runs without.")
@click.option("--list", "listed", is_flag=True, help="Name the scenes and end.")
def run(names: tuple[str, ...], version: str, repeat: int, runs: Path | None, listed: bool) -> None:
    """Play scenes on real Storm and leave ordinary run folders, marked as live."""
    if listed or not names:
        for scene in SCENES.values():
            click.echo(f"{scene.name:16} {scene.title}")
        return
    scenes = [find_scene(name) for name in names]
    release = find_release(version)
    home = runs_folder() if runs is None else runs
    with open_stage(release.version, scene_cluster(machine_mhz()), hosts=HostOptions(), say=_say) as stage:
        for turn in range(1, repeat + 1):
            for scene in scenes:
                manifest = play_scene(scene, stage, home, turn)
                click.echo(f"{scene.name} {turn}: {home / EXPERIMENT / manifest.run}")


def play_scene(scene: Scene, stage: Stage, home: Path, repeat: int) -> Manifest:
    """Play a scene on a running cluster and write its run folder below ``home``.

    Raises:
        UserError: it cannot be played there.
        StormLabError: Storm does not do what it should.
    """
    spec = scene.describe(stage.release.storm, stage.storm.cluster.nodes[0].core_mhz)
    identity = scene_identity(scene, spec, repeat)
    with (
        click.progressbar(length=round(spec.duration_s * 10), label=f"{scene.name} {repeat}") as bar,
        RunWriter(home / EXPERIMENT / identity.run, identity) as log,
    ):
        outcome = play_live(spec, stage, log, lambda done, total: bar.update(round(done / 1e8) - bar.pos))
        return log.finish(
            duration_ns=outcome.duration_ns,
            warm_up_ns=round(spec.warm_up_s * _NS),
            conditions=outcome.conditions,
        )


def scene_identity(scene: Scene, spec: EmulationSpec, repeat: int) -> RunIdentity:
    """What names a live run of a scene. ``repeat`` tells plays of the same scene apart."""
    return RunIdentity(
        experiment=EXPERIMENT,
        variant=scene.name,
        parameters={"core_mhz": spec.cluster.nodes[0].core_mhz},
        seed=repeat,
        storm_version=str(spec.version),
        code_digest=_digest(sorted((PACKAGE / "live").rglob("*.java"))),
        lock_digest="",
        inputs={plan.topology.id: plan.trace.digest for plan in spec.topologies},
        sample_every=spec.sample_every,
        runtime="live",
    )


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _say(line: str) -> None:
    click.echo(f"storm-lab: {line}", err=True)
