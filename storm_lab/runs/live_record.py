"""Recording the suite: plays sittings on real Storm and keeps a small run folder of each."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, groupby
from pathlib import Path

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.hosts import HostOptions, machine_mhz, machine_name
from storm_lab.live.play import open_stage
from storm_lab.live.releases import Release
from storm_lab.live.suite.scene import Sitting
from storm_lab.live.suite.sittings import SITTINGS, releases_of
from storm_lab.live.suite.thin import executions_measured, roots_measured, thin
from storm_lab.machine.places import checkout, data_folder, shipped
from storm_lab.machine.progress import progress_bar
from storm_lab.runs.live_play import LiveTask, play_task
from storm_lab.tuplelog import Scalar, open_run

EXPERIMENT = "live-suite"
"""Experiment name of recorded runs."""

WEIGHT = 10_000
"""CPU weight of a cluster while it is recorded: a hundred times that of any other program."""

_C1_FLAGS = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True, slots=True)
class Play:
    """One play of a sitting on one version."""

    sitting: Sitting
    release: Release
    number: int

    @property
    def name(self) -> str:
        """Name of its folder among the records."""
        return f"{self.sitting.name}-{self.release.generation}-{self.number}"

    def describe(self, mhz: float) -> EmulationSpec:
        """Description of the sitting for a machine with that clock."""
        return self.sitting.describe(self.release.storm, mhz)


RECORDS = "data/live"
"""Folder of the project's recorded runs in the checkout."""


def records_folder() -> Path:
    """Folder of the project's recorded runs; `UserError` if the installation is incomplete."""
    return shipped(RECORDS)


def new_records_folder() -> Path:
    """Folder for this machine's recorded runs: in the checkout, or without one in the folder for data."""
    root = checkout()
    return (data_folder() / "live" if root is None else root / RECORDS) / machine_name()


def plays(sittings: Iterable[str] | None, generations: Iterable[str] | None, repeat: int) -> list[Play]:
    """List the plays to record, ordered by version.

    Without ``sittings``, the whole suite; without ``generations``, only the first release of each sitting.
    Repeats come in rounds, so that a drift of the machine does not affect one sitting alone.
    """
    names = list(sittings or (sitting.name for sitting in SITTINGS.values() if sitting.in_suite))
    found = [
        Play(sitting, release, number)
        for number in range(1, repeat + 1)
        for sitting in SITTINGS.values()
        for release in (releases_of(sitting)[:1] if generations is None else releases_of(sitting))
        if sitting.name in names and (generations is None or release.generation in generations)
    ]
    return sorted(found, key=lambda play: play.release.storm)


def record_plays(chosen: Sequence[Play], home: Path) -> Generator[Path, None, None]:
    """Play sittings on real Storm and write a thinned run folder of each into ``home``.

    Plays on the same cluster come together. A progress bar is shown; if stderr is no terminal, an occasional
    line instead. Raises `UserError` if a cluster cannot be started, `StormLabError` if Storm does not behave
    as it should.
    """
    mhz, numbers = machine_mhz(), count()
    clusters = groupby(sorted(chosen, key=_cluster_of), key=_cluster_of)
    with progress_bar(len(chosen), True, "playing on real Storm") as advance:
        for (version, limit_cpu, pinned, c1_only, _), group in clusters:
            members = list(group)
            cluster = members[0].describe(mhz).cluster
            hosts = HostOptions(weight=WEIGHT, limit_cpu=limit_cpu, pinned=pinned)
            settings = {"topology.worker.childopts": _C1_FLAGS} if c1_only else {}
            with open_stage(version, cluster, hosts=hosts, settings=settings) as stage:
                scratch = stage.storm.new_folder("played")
                for play, number in zip(members, numbers, strict=False):
                    spec, name = play.describe(mhz), play.sitting.name
                    parameters: dict[str, Scalar] = {"sitting": name, "mhz": mhz, "c1_only": c1_only}
                    task = LiveTask(EXPERIMENT, name, parameters, play.number, spec)
                    advance(number, 0.0)
                    folder = play_task(task, stage, scratch, partial(advance, number))
                    scenes = play.sitting.scenes(play.release.storm)
                    executed = executions_measured(scenes, spec)
                    thin(open_run(folder), home / play.name, executed, roots_measured(scenes))
                    shutil.rmtree(folder, ignore_errors=True)
                    yield home / play.name


def _cluster_of(play: Play) -> tuple[str, bool, bool, bool, int]:
    nodes = play.describe(machine_mhz()).cluster.nodes
    sitting = play.sitting
    return play.release.version, sitting.limit_cpu, sitting.pinned, sitting.c1_only, len(nodes)
