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
Task = tuple[RunSpec, RunIdentity]
"""A run with its identity, which is taken once: the sources may change while an experiment runs."""


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """A run that is complete on disk."""

    spec: RunSpec
    folder: Path
    reused: bool
    seconds: float = 0.0
    """Wall time of playing it; 0 if it was reused."""


def run_folder(spec: RunSpec, home: Path | None = None) -> Path:
    """Folder of a run, whether it exists or not."""
    return _folder(identity_of(spec), home)


def is_complete_run(folder: Path, *, verify: bool = False) -> bool:
    """Return whether a folder holds a complete run of this schema; ``verify`` reads every byte of it."""
    return _refusal(folder, verify=verify) is None


def _refusal(folder: Path, *, verify: bool = False) -> RunRefused | None:
    try:
        open_run(folder, verify=verify)
    except RunRefused as refusal:
        return refusal
    return None


def play(task: Task, home: Path | None = None, advance: Advance = lambda share: None) -> Path:
    """Play one run in this process and return its folder.

    Raises `StormLabError` if the input is refused or a limit of the machine is reached.
    """
    spec, identity = task
    folder = _folder(identity, home)
    description = spec.describe(spec)
    with RunWriter(folder, identity) as writer:
        play_description(description, writer, advance)
    if not is_complete_run(folder):
        raise TaskFailed(f"the log of {spec} is incomplete")
    return folder


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
) -> tuple[PlayedRun, ...]:
    """Play every run of ``specs`` that is not yet on disk; return them all in their order.

    Equal runs are played once. A damaged run is reported to ``on_damage`` and played again.

    Args:
        specs: the runs.
        home: folder of all runs.
        jobs: number of processes that play; 0 plays in this process.
        spark: session that plays each run as one task, instead of processes.
        show_progress: whether to draw a progress bar in a terminal.
        fresh: whether to play again the runs that exist.
        failures: receives the reason of each run that is refused or fails, by the run's name; such runs are
            left out of the result.
        on_damage: called with a folder that exists but holds no complete run.
        expected_s: expected duration of each run, for the bar; by default all are equal.

    Raises:
        StormLabError: without ``failures``, as `play`. Runs that were complete by then are kept.
        KeyboardInterrupt: raised after all incomplete runs are removed.
    """
    home = home or runs_folder()
    if spark is not None:
        home = home.resolve()
    tasks = [(spec, identity_of(spec)) for spec in specs]
    distinct = {identity.run: (spec, identity) for spec, identity in tasks}
    missing = {}
    for run, task in distinct.items():
        refusal = _refusal(_folder(task[1], home), verify=True)
        if refusal is not None and refusal.folder.exists():
            on_damage(refusal)
        if fresh or refusal is not None:
            missing[run] = task
    lost = {} if failures is None else failures
    seconds: dict[str, float] = {}

    def fail(task: Task, error: StormLabError) -> None:
        if failures is None:
            raise error
        lost[task[1].run] = str(error)

    if missing and spark is not None:
        from storm_lab.runs.spark_play import play_on_spark

        for task, reason in play_on_spark(list(missing.values()), spark, home, show_progress and not fresh):
            fail(task, TaskFailed(reason))
    elif missing:
        names = (identity.run for _, identity in tasks)
        expected = dict(zip(names, expected_s or [1.0] * len(tasks), strict=True))
        with progress_bar([expected[run] for run in missing], show_progress) as advance:
            if jobs:
                pool = Pool(jobs, partial(_timed, home), name=lambda task: f"run {task[0]}")
                times = pool.do(list(missing.values()), advance, fail)
                seconds = {run: times[number] for number, run in enumerate(missing) if number in times}
            else:
                for number, (run, task) in enumerate(missing.items()):
                    try:
                        seconds[run] = _timed(home, task, partial(advance, number))
                    except StormLabError as error:
                        fail(task, error)
                    advance(number, 1.0)
    return tuple(
        PlayedRun(spec, _folder(identity, home), identity.run not in missing, seconds.get(identity.run, 0.0))
        for spec, identity in tasks
        if identity.run not in lost
    )


def _timed(home: Path | None, task: Task, advance: Advance) -> float:
    """Play one run and return the seconds that it took."""
    began = time.perf_counter()
    if identity_of(task[0]).run != task[1].run:
        raise TaskFailed(f"{task[0]}: its code or inputs were changed after it was planned; start it again")
    play(task, home, advance)
    return time.perf_counter() - began


def _folder(identity: RunIdentity, home: Path | None) -> Path:
    return (home or runs_folder()) / identity.experiment / identity.run


def count_existing(specs: Iterable[RunSpec]) -> dict[str, int]:
    """Count the distinct runs (``runs``), and those of them that exist and can be reused (``there``)."""
    folders = {run_folder(spec) for spec in specs}
    return {"runs": len(folders), "there": sum(is_complete_run(folder, verify=True) for folder in folders)}


def reused_by_variant(played: Sequence[PlayedRun]) -> str:
    """`reused_line`, followed by the number of reused runs of each variant."""
    runs = Counter(run.spec.variant for run in played)
    reused = Counter(run.spec.variant for run in played if run.reused)
    line = reused_line(reused.total(), runs.total())
    named = [f"{name} {reused[name]} of {count}" for name, count in runs.items()]
    return f"{line}: {', '.join(named)}" if reused else line


def reused_line(reused: int, runs: int) -> str:
    """One line that says how many of some runs were reused."""
    return f"{reused} of {runs} runs existed already (same code, same inputs)"
