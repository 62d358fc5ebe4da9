"""Preparing several experiments for their notebooks: play all runs and compute the metrics that they read.

The runs of all experiments go through one pool of processes, and the metrics of all runs through one Spark
session in a process of its own. A notebook reads both and starts no Spark. It begins as soon as the metrics
of its own runs exist, because Spark leaves a core idle while it plans.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError
from storm_lab.machine.progress import progress_bar
from storm_lab.pipeline.metric_tables import TABLE_NAMES
from storm_lab.pipeline.summary import await_metrics, computation_order, missing_metrics, store_metrics
from storm_lab.runs.execute import JOBS, PlannedRun, play_all
from storm_lab.runs.expected import Cost, expected_costs, notebooks_at_a_time
from storm_lab.runs.pool import Advance, Pool, pass_on
from storm_lab.runs.study import Study
from storm_lab.tuplelog import RunRefused

Say = Callable[[str], None]
Task = Callable[[Advance], Any]
"""Task for another process: a function of a module, or a partial of one."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The runs of each study, the wall time of the Spark process, and the results of side tasks by study."""

    runs: tuple[tuple[PlannedRun, ...], ...]
    metrics_s: float
    side_results: dict[int, Any]

    def cost_of(self, place: int, notebook_s: float) -> Cost | None:
        """Cost of a study with its notebook; None if some of its runs were reused.

        The time of the metrics is split by the bytes of the logs. A run counts for each study that reads it.
        """
        if any(run.reused for run in self.runs[place]):
            return None
        folders = {run.folder for runs in self.runs for run in runs}
        sizes = {folder: sum(path.stat().st_size for path in folder.iterdir()) for folder in folders}
        own = {run.folder: run for run in self.runs[place]}
        size = sum(sizes[folder] for folder in own)
        return Cost(
            emulation_s=sum(run.seconds for run in own.values()),
            metrics_s=self.metrics_s * size / sum(sizes.values()) if own else 0.0,
            notebook_s=notebook_s,
            disk_mb=size / 1e6,
        )


def prepare(
    studies: Sequence[Study],
    *,
    jobs: int = JOBS,
    fresh: bool = False,
    say: Say = lambda line: None,
    side_tasks: Mapping[int, Task] | None = None,
    on_side_progress: Callable[[int, float], None] = lambda place, share: None,
    on_side_failure: Callable[[int, StormLabError], None] = pass_on,
) -> Prepared:
    """Play the missing runs of the studies, and compute the metrics that they read; bars show the progress.

    ``side_tasks`` holds tasks for other processes, by the index of the study whose metrics they read. Each is
    done as soon as these exist, and no other metrics are computed. ``on_side_progress`` is called with that
    index and the share done, ``on_side_failure`` with the index and the error. A damaged run is played again.
    Raises `StormLabError` if a run is refused or fails, or there is no Java for Spark.
    """
    specs = [study.specs() for study in studies]

    def damaged(refusal: RunRefused) -> None:
        place = f"{refusal.folder.parent.name}/{refusal.folder.name}"
        say(f"{place}: {refusal.problem} run, played again ({refusal.detail})")

    played = iter(
        play_all(
            [spec for own in specs for spec in own],
            jobs=jobs,
            show_progress=True,
            fresh=fresh,
            on_damage=damaged,
            expected_s=[
                _expected(study).emulation_s / len(own) or 1.0
                for study, own in zip(studies, specs, strict=True)
                for _ in own
            ],
        )
    )
    runs = tuple(tuple(islice(played, len(own))) for own in specs)
    for study, own in zip(studies, runs, strict=True):
        say(f"{study.experiment.slug}: {len(own)} runs, {sum(not run.reused for run in own)} of them new")
    readers = range(len(studies)) if side_tasks is None else side_tasks
    side_tasks = side_tasks or {}
    missing = missing_metrics(_tables_read((studies[place], runs[place]) for place in readers))
    if not missing and not side_tasks:
        return Prepared(runs, 0.0, {})
    say(f"metrics of {len(missing)} runs")
    awaited = {
        place: {run.folder: missing[run.folder] for run in runs[place] if run.folder in missing}
        for place in side_tasks
    }
    order = computation_order(missing)
    # A task that waits for fewer metrics begins earlier.
    places = sorted(awaited, key=lambda place: max((order[folder] for folder in awaited[place]), default=-1))
    with tempfile.TemporaryDirectory(prefix="storm_lab-") as scratch:
        done_marker = Path(scratch) / "done_marker"
        tasks: list[_PlacedTask] = [(None, partial(_compute, missing, done_marker))]
        for place in places:
            side_task = partial(_after_metrics, side_tasks[place], awaited[place], done_marker)
            tasks.append((place, side_task))
        costs = [_expected(studies[place]) for place in places]
        metrics_s = (sum(cost.metrics_s for cost in costs) or 1.0) if missing else 0.0
        expected_s = [metrics_s, *(cost.notebook_s for cost in costs)]
        with progress_bar(expected_s, True, "metrics and notebooks" if places else "metrics") as show:

            def on_progress(number: int, share: float) -> None:
                show(number, share)
                if number:
                    on_side_progress(places[number - 1], share)

            def on_failure(task: _PlacedTask, error: StormLabError) -> None:
                if task[0] is None:
                    raise error
                on_side_failure(task[0], error)

            pool: Pool[_PlacedTask, Any] = Pool(notebooks_at_a_time(jobs), _do, name=_name)
            results = pool.do(tasks, on_progress, on_failure)
    side_results = {
        place: results[number] for number, place in enumerate(places, start=1) if number in results
    }
    return Prepared(runs, results[0], side_results)


_PlacedTask = tuple[int | None, Task]
"""A task with the index of its study; None for the metrics."""


def _name(task: _PlacedTask) -> str:
    return "the metrics" if task[0] is None else f"notebook {task[0]}"


def _do(task: _PlacedTask, advance: Advance) -> Any:
    return task[1](advance)


def _compute(wanted: Mapping[Path, Sequence[str]], done_marker: Path, advance: Advance) -> float:
    """Compute the metrics of runs and return the seconds that it took."""
    began = time.perf_counter()
    store_metrics(wanted, advance=advance)
    # A task that needs metrics that could not be written computes them itself, so it must not wait.
    done_marker.touch()
    return time.perf_counter() - began


def _after_metrics(
    task: Task, awaited: Mapping[Path, Sequence[str]], done_marker: Path, advance: Advance
) -> Any:
    """Do a task once the awaited metrics exist or the process that computes them has ended."""
    await_metrics(awaited, done_marker.exists)
    return task(advance)


def _tables_read(played: Iterable[tuple[Study, Sequence[PlannedRun]]]) -> dict[Path, tuple[str, ...]]:
    """The metric tables that some studies read of each of their runs, by the run's folder."""
    wanted: dict[Path, set[str]] = {}
    for study, runs in played:
        for folder, names in study.tables_of(runs).items():
            wanted.setdefault(folder, set()).update(names)
    # Always in the same order: runs that lack the same tables are computed together.
    return {folder: tuple(name for name in TABLE_NAMES if name in names) for folder, names in wanted.items()}


def _expected(study: Study) -> Cost:
    """Expected cost of a study; a second for the notebook if it was never measured."""
    return expected_costs().get(study.experiment.slug, Cost(0.0, 0.0, 1.0, 0.0))
