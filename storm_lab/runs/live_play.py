"""Playing scenes, experiments and the suite on real Storm; each play becomes an ordinary run folder.

No two plays are equal, so a run is named by the number of its play (as its seed) and marked as live.

Recorded runs of the suite are thinned until they are small enough to be part of the project. Windows,
placements and control events are complete. Of the root tuples and executions of each second and topology only
a few are kept, and only for topologies and components that a scene measures. Traffic is left out.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.parameter import Parameters
from storm_lab.live.hosts import HostOptions, machine_mhz, machine_name
from storm_lab.live.java_build import read_sources
from storm_lab.live.play import Stage, open_stage, play_live, scaled
from storm_lab.live.releases import RELEASES, Release
from storm_lab.live.suite.measure import sinks_of
from storm_lab.live.suite.scene import Effect, Measure, Scene, Sitting
from storm_lab.live.suite.sittings import SITTINGS, releases_of
from storm_lab.machine.places import checkout, data_folder, runs_folder, shipped
from storm_lab.machine.progress import progress_bar
from storm_lab.model import StormVersion
from storm_lab.runs.digest import PLAYING, library_digest, scalar
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import Manifest, Run, RunIdentity, RunWriter, Scalar, open_run
from storm_lab.tuplelog.schema import TABLES

SCENES_NAME = "live"
"""Experiment name of live runs of scenes, and their folder among the runs."""


@dataclass(frozen=True, slots=True)
class LiveTask:
    """One play of a description on real Storm, named by experiment, variant and parameters.

    ``seed`` is that of the description, or the number of the play of a scene.
    """

    experiment: str
    variant: str
    parameters: dict[str, Scalar]
    seed: int
    spec: EmulationSpec

    def __str__(self) -> str:
        return f"{self.experiment}/{self.variant}, {self.seed}"


def experiment_tasks(
    experiment: Experiment,
    version: StormVersion,
    parameters: Parameters | None = None,
    *,
    only: Iterable[str] = (),
    load: float = 1.0,
    longest_s: float | None = None,
) -> list[LiveTask]:
    """Return tasks for an experiment's runs whose variant matches one of ``only``, for a version of Storm.

    The load is multiplied by ``load``, and runs end after ``longest_s`` at the latest.
    """
    patterns = list(only) or ["*"]
    return [
        LiveTask(
            spec.experiment,
            spec.variant,
            {name: scalar(value) for name, value in spec.parameters.items()}
            | {"live_load": load, "live_longest_s": longest_s},
            spec.seed,
            replace(scaled(spec.describe(spec), load=load, longest_s=longest_s), version=version),
        )
        for spec in experiment.runs(parameters or experiment.checked())
        if any(fnmatchcase(spec.variant, pattern) for pattern in patterns)
    ]


def nearest_release(version: StormVersion) -> Release:
    """Release to play an experiment's version with: the same, or the next newer one."""
    newer = [release for release in RELEASES.values() if release.storm >= version]
    return min(newer, key=lambda release: release.storm) if newer else next(iter(RELEASES.values()))


def play_task(task: LiveTask, stage: Stage, home: Path | None, advance: Advance) -> Path:
    """Play a task on a running cluster and return the run's folder; raises as `play_live`."""
    spec, identity = task.spec, live_identity(task)
    folder = (home or runs_folder()) / identity.experiment / identity.run
    with RunWriter(folder, identity) as log:
        stage.storm.note_drafts(*folder.parent.glob(f".partial-{folder.name}-{os.getpid()}"))
        outcome = play_live(spec, stage, log, lambda done, total: advance(min(1.0, done / total)))
        log.finish(
            duration_ns=outcome.duration_ns,
            warm_up_ns=round(spec.warm_up_s * NS_PER_S),
            conditions=outcome.conditions,
        )
    return folder


def live_identity(task: LiveTask) -> RunIdentity:
    """Identity that names a live run."""
    spec = task.spec
    return RunIdentity(
        experiment=task.experiment,
        variant=task.variant,
        parameters=task.parameters,
        seed=task.seed,
        storm_version=str(spec.version),
        code_digest=player_digest(),
        lock_digest=library_digest(PLAYING),
        inputs={plan.topology.id: plan.trace.digest for plan in spec.topologies},
        sample_every=spec.sample_every,
        runtime="live",
    )


def player_digest() -> str:
    """SHA-256 of the Java sources that play topologies."""
    digest = hashlib.sha256()
    for path, text in read_sources("stormlab").items():
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()


KEPT = 150
"""Root tuples, and executions of each component, that are kept for each second and topology."""
_LEFT_OUT = ("traffic",)


def executions_measured(scenes: Iterable[Scene], spec: EmulationSpec) -> frozenset[tuple[str, str]]:
    """Return topology and component of the executions that the measures of some scenes need."""
    topologies = {plan.topology.id: plan.topology for plan in spec.topologies}
    found: set[tuple[str, str]] = set()
    for scene in scenes:
        if Measure.SPREAD in scene.measures:
            found |= {(name, scene.component) for name in scene.topologies}
        if scene.effect is Effect.RESUME:
            found |= {(scene.topology, sink) for sink in sinks_of(topologies[scene.topology])}
    return frozenset(found)


def roots_measured(scenes: Iterable[Scene]) -> dict[str, float]:
    """Return the topologies whose root tuples the measures of some scenes need, and until when, in s."""
    found: dict[str, float] = {}
    for scene in scenes:
        if {Measure.P50, Measure.P95} & set(scene.measures) or scene.effect is Effect.READY:
            for name in scene.topologies:
                found[name] = max(found.get(name, 0.0), scene.to_s)
    return found


def thin(
    run: Run, folder: Path, executed: Collection[tuple[str, str]], rooted: Mapping[str, float]
) -> Manifest:
    """Write a thinned copy of a run, with its identity and a note of what is left out.

    Executions of the (topology, component) in ``executed`` are kept, and root tuples of the topologies in
    ``rooted`` that are emitted before the time given there, in s.
    """
    with RunWriter(folder, run.manifest.identity) as log:
        for name in TABLES:
            if name in _LEFT_OUT:
                continue
            table = run.table(name).drop_columns(["run"])
            if name == "executions":
                groups = ("topology", "component")
                rows = zip(*(table[column].to_pylist() for column in groups), strict=True)
                table = table.filter(pa.array([row in executed for row in rows], pa.bool_()))
                table = _spread(table, "start_ns", groups)
            elif name == "roots":
                ends = [rooted.get(each, 0.0) * NS_PER_S for each in table["topology"].to_pylist()]
                table = table.filter(pa.array(table["emit_ns"].to_numpy() < np.array(ends)))
                table = _spread(table, "emit_ns", ("topology",))
            if table.num_rows:
                log.append(name, {column: _values(table[column]) for column in table.column_names})
        return log.finish(
            duration_ns=run.manifest.duration_ns,
            warm_up_ns=run.manifest.warm_up_ns,
            conditions={
                **run.manifest.conditions,
                "kept_a_second": KEPT,
                "left_out": list(_LEFT_OUT),
                "executions_of": sorted("/".join(pair) for pair in executed),
                "roots_of": sorted(rooted),
            },
        )


def _spread(table: pa.Table, time: str, groups: Sequence[str]) -> pa.Table:
    """Keep at most `KEPT` rows of each second and group, evenly spread."""
    if not table.num_rows:
        return table
    second = table[time].to_numpy() // NS_PER_S
    group = np.zeros(len(second), np.int64)
    for column in groups:
        codes = pc.dictionary_encode(table[column].combine_chunks().cast(pa.string()))
        group = group * 1000 + codes.indices.to_numpy()
    key = second * 1_000_000 + group
    order = np.lexsort((table[time].to_numpy(), key))
    _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    kept = [
        order[start + (np.arange(min(count, KEPT)) * count) // min(count, KEPT)]
        for start, count in zip(starts, counts, strict=True)
    ]
    return table.take(np.sort(np.concatenate(kept)))


def _values(column: pa.ChunkedArray) -> Any:
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        return column.to_pylist()
    # The log's own code for "none".
    return pc.fill_null(column, -1).to_numpy()


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
        return f"{self.sitting.name}-{self.release.label}-{self.number}"

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


def plays(sittings: Iterable[str] | None, labels: Iterable[str] | None, repeat: int) -> list[Play]:
    """List the plays to record, ordered by version.

    Without ``sittings``, the whole suite; without ``labels`` of releases, only the first one of each sitting.
    Repeats come in rounds, so that a drift of the machine does not affect one sitting alone.
    """
    names = list(sittings or (sitting.name for sitting in SITTINGS.values() if sitting.in_suite))
    found = [
        Play(sitting, release, number)
        for number in range(1, repeat + 1)
        for sitting in SITTINGS.values()
        for release in (releases_of(sitting)[:1] if labels is None else releases_of(sitting))
        if sitting.name in names and (labels is None or release.label in labels)
    ]
    return sorted(found, key=lambda play: play.release.storm)


def record_plays(chosen: Sequence[Play], home: Path) -> Generator[Path, None, None]:
    """Play sittings on real Storm, those with one cluster together, and write thinned runs into ``home``.

    Raises `UserError` if a cluster cannot be started, `StormLabError` if Storm misbehaves.
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
