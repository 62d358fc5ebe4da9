"""Playing the runs of an experiment in several processes or on Spark; complete runs are kept and reused."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from storm_lab.errors import StormLabError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.machine.facts import usable_cores
from storm_lab.machine.places import runs_folder
from storm_lab.machine.progress import progress_bar
from storm_lab.runs.digest import identity_of
from storm_lab.runs.play import play_description
from storm_lab.runs.pool import Advance, Pool, TaskFailed
from storm_lab.tuplelog import RunIdentity, RunRefused, RunWriter, open_run

if TYPE_CHECKING:
    # PySpark is slow to import, and most calls do not need it.
    from pyspark.sql import SparkSession

JOBS = usable_cores()
"""Emulations at a time: one per core."""


@dataclass(slots=True)
class PlannedRun:
    """A run with its identity, taken once because sources may change meanwhile, and how playing it went."""

    spec: RunSpec
    identity: RunIdentity
    folder: Path
    expected_s: float = 1.0
    reused: bool = False
    seconds: float = 0.0
    """Wall time of playing it; 0 if it was reused."""

    @classmethod
    def of(cls, spec: RunSpec, home: Path | None = None, expected_s: float = 1.0) -> PlannedRun:
        """Plan a run below ``home``, by default the folder of all runs."""
        identity = identity_of(spec)
        return cls(spec, identity, (home or runs_folder()) / identity.experiment / identity.run, expected_s)


def run_folder(spec: RunSpec, home: Path | None = None) -> Path:
    """Folder of a run, whether it exists or not."""
    return PlannedRun.of(spec, home).folder


def is_complete_run(folder: Path, *, verify: bool = False) -> bool:
    """Return whether a folder holds a complete run of this schema; ``verify`` reads every byte of it."""
    return _refusal(folder, verify=verify) is None


def _refusal(folder: Path, *, verify: bool = False) -> RunRefused | None:
    try:
        open_run(folder, verify=verify)
    except RunRefused as refusal:
        return refusal
    return None


def play(run: PlannedRun, advance: Advance = lambda share: None) -> Path:
    """Play one run in this process and return its folder; `StormLabError` if its input is refused."""
    description = run.spec.describe(run.spec)
    with RunWriter(run.folder, run.identity) as writer:
        play_description(description, writer, advance)
    if not is_complete_run(run.folder):
        raise TaskFailed(f"the log of {run.spec} is incomplete")
    return run.folder


def play_all(
    specs: Sequence[RunSpec],
    *,
    home: Path | None = None,
    jobs: int = JOBS,
    spark: SparkSession | None = None,
    show_progress: bool = False,
    fresh: bool = False,
    failures: dict[str, str] | None = None,
    on_damage: Callable[[RunRefused], None] = lambda refusal: None,
    expected_s: Sequence[float] | None = None,
) -> tuple[PlannedRun, ...]:
    """Play every run that is not yet on disk, equal ones once; return them all in their order.

    ``jobs`` processes play, with 0 this one, or instead of them ``spark``, each run as one task. ``fresh``
    also plays the runs that exist. ``failures`` receives the reason of each run that is refused or fails, by
    the run's name; such runs are left out of the result. ``on_damage`` is called with a folder that exists
    but holds no complete run, before that is played again. ``expected_s`` is the expected duration of each
    run, for the bar.

    Raises `StormLabError` without ``failures``, as `play`; runs that were complete by then are kept. On
    `KeyboardInterrupt` all incomplete runs are removed.
    """
    home = home or runs_folder()
    if spark is not None:
        home = home.resolve()
    lengths = expected_s or [1.0] * len(specs)
    runs = [PlannedRun.of(spec, home, length) for spec, length in zip(specs, lengths, strict=True)]
    distinct = {run.identity.run: run for run in runs}
    for run in distinct.values():
        refusal = _refusal(run.folder, verify=True)
        if refusal is not None and refusal.folder.exists():
            on_damage(refusal)
        run.reused = refusal is None and not fresh
    missing = [run for run in distinct.values() if not run.reused]

    def fail(run: PlannedRun, error: StormLabError) -> None:
        if failures is None:
            raise error
        failures[run.identity.run] = str(error)

    if missing and spark is not None:
        from storm_lab.runs.spark_play import play_on_spark

        for run, reason in play_on_spark(missing, spark, show_progress and not fresh):
            fail(run, TaskFailed(reason))
    elif missing:
        with progress_bar([run.expected_s for run in missing], show_progress) as advance:
            if jobs:
                pool = Pool(jobs, _timed, name=lambda run: f"run {run.spec}")
                for number, seconds in pool.do(missing, advance, fail).items():
                    missing[number].seconds = seconds
            else:
                for number, run in enumerate(missing):
                    try:
                        run.seconds = _timed(run, partial(advance, number))
                    except StormLabError as error:
                        fail(run, error)
                    advance(number, 1.0)
    return tuple(distinct[run.identity.run] for run in runs if run.identity.run not in (failures or ()))


def _timed(run: PlannedRun, advance: Advance) -> float:
    """Play one run and return the seconds that it took."""
    began = time.perf_counter()
    if identity_of(run.spec).run != run.identity.run:
        raise TaskFailed(f"{run.spec}: its code or inputs were changed after it was planned; start it again")
    play(run, advance)
    return time.perf_counter() - began


def count_existing(specs: Iterable[RunSpec]) -> dict[str, int]:
    """Count the distinct runs (``runs``), and those of them that exist and can be reused (``there``)."""
    folders = {run_folder(spec) for spec in specs}
    return {"runs": len(folders), "there": sum(is_complete_run(folder, verify=True) for folder in folders)}


def reused_by_variant(played: Sequence[PlannedRun]) -> str:
    """`reused_line`, followed by the number of reused runs of each variant."""
    runs = Counter(run.spec.variant for run in played)
    reused = Counter(run.spec.variant for run in played if run.reused)
    line = reused_line(reused.total(), runs.total())
    named = [f"{name} {reused[name]} of {count}" for name, count in runs.items()]
    return f"{line}: {', '.join(named)}" if reused else line


def reused_line(reused: int, runs: int) -> str:
    """One line that says how many of some runs were reused."""
    return f"{reused} of {runs} runs existed already (same code, same inputs)"
