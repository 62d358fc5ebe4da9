"""Playing scenes and experiments on real Storm; each play becomes an ordinary run folder.

No two plays are equal, so a run is named by the number of its play (as its seed) and marked as live.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.parameter import Parameters
from storm_lab.live.java_build import read_sources
from storm_lab.live.play import Stage, play_live, scaled
from storm_lab.live.releases import RELEASES, Release
from storm_lab.machine.places import runs_folder
from storm_lab.model import StormVersion
from storm_lab.runs.digest import PLAYING, library_digest, scalar
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import RunIdentity, RunWriter, Scalar

SCENES_NAME = "live"
"""Experiment name of live runs of scenes, and their folder among the runs."""


@dataclass(frozen=True, slots=True)
class LiveTask:
    """One play of a description on real Storm.

    ``experiment``, ``variant`` and ``parameters`` name it. ``seed`` is that of the description, or the number
    of the play of a scene.
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
    """Play a task on a running cluster and return the run's folder.

    Raises `UserError` if it cannot be played there, `StormLabError` if Storm does not behave as it should.
    """
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
