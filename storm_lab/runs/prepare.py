"""Preparing several experiments for their notebooks: play all runs and compute the metrics that they read.

The runs of all experiments go through one pool of processes, and the metrics of all runs through one Spark
session in a process of its own. A notebook reads both and starts no Spark. It begins as soon as the metrics
of its own runs exist, because Spark leaves a core idle while it plans.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.machine.progress import progress_bar
from storm_lab.pipeline.metric_tables import TABLE_NAMES
from storm_lab.pipeline.summary import await_metrics, computation_order, missing_metrics, store_metrics
from storm_lab.runs.execute import JOBS, PlayedRun, play_all
from storm_lab.runs.expected import Cost, expected_costs, notebooks_at_a_time
from storm_lab.runs.pool import Advance, Pool, pass_on
from storm_lab.runs.study import Study
from storm_lab.tuplelog import RunRefused

Say = Callable[[str], None]
Task = Callable[[Advance], Any]
"""Task for another process: a function of a module, or a partial of one."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The runs of each study, in the order of the studies, and the time that each step took.

    ``metrics_s`` is the wall time of the one Spark process, its start included. ``side_results`` holds the
    results of the tasks done beside and after the metrics, by study.
    """

    runs: tuple[tuple[PlayedRun, ...], ...]
    metrics_s: float
    side_results: dict[int, Any]

    def cost_of(self, place: int, notebook_s: float) -> Cost | None:
        """Cost of a study with its notebook; None if some of its runs were reused.

        The time of the metrics is split in proportion to the bytes of the logs. A run that several studies
        read counts for each of them.
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
    index and the share done, ``on_side_failure`` with the index and the error.

    A damaged run is reported to ``say`` and played again: the same parameters and seed give the same bytes.
    Raises `StormLabError` if a run is refused or fails, or there is no Java for Spark.
    """
    specs = [study.specs() for study in studies]

    def damaged(refusal: RunRefused) -> None:
        place = f"{refusal.folder.parent.name}/{refusal.folder.name}"
        say(f"{place}: {refusal.problem} run, played again ({refusal.detail})")

    played = play_all(
        [spec for each in specs for spec in each],
        jobs=jobs,
        show_progress=True,
        fresh=fresh,
        on_damage=damaged,
        expected_s=[
            second for study, own in zip(studies, specs, strict=True) for second in _expected_s(study, own)
        ],
    )
    left = iter(played)
    runs = tuple(tuple(islice(left, len(each))) for each in specs)
    wanted: dict[Path, tuple[str, ...]] = {}
    for place, (study, own) in enumerate(zip(studies, runs, strict=True)):
        say(f"{study.experiment.slug}: {len(own)} runs, {sum(not run.reused for run in own)} of them new")
        needed = study.tables_of(own) if side_tasks is None or place in side_tasks else {}
        for folder, names in needed.items():
            together = {*wanted.get(folder, ()), *names}
            # Always in the same order: runs that lack the same tables are computed together.
            wanted[folder] = tuple(name for name in TABLE_NAMES if name in together)
    missing = missing_metrics(wanted)
    metrics_s, side_results = 0.0, dict[int, Any]()
    side_tasks = side_tasks or {}
    if missing or side_tasks:
        say(f"metrics of {len(missing)} runs")
        awaited = {
            place: {run.folder: missing[run.folder] for run in runs[place] if run.folder in missing}
            for place in side_tasks
        }
        what = "metrics and notebooks" if side_tasks else "metrics"
        with progress_bar(_expected_after_s(studies, side_tasks, bool(missing)), True, what) as show:

            def advance(place: int, share: float) -> None:
                show(place + 1, share)
                if place >= 0:
                    on_side_progress(place, share)

            at_a_time = notebooks_at_a_time(jobs)
            metrics_s, side_results = _metrics(
                missing, side_tasks, awaited, at_a_time, advance, on_side_failure
            )
    return Prepared(runs, metrics_s, side_results)


def _expected_s(study: Study, specs: Sequence[RunSpec]) -> list[float]:
    """Expected seconds for playing each run of a study; 1 if it was never measured."""
    known = expected_costs().get(study.experiment.slug)
    each = known.emulation_s / len(specs) if known and specs else 0.0
    return [each or 1.0] * len(specs)


def _expected_after_s(studies: Sequence[Study], tasks: Collection[int], missing: bool) -> list[float]:
    """Expected seconds of the metrics, followed by those of each study's task.

    0 where there is nothing to do, 1 where the time is unknown.
    """
    known = expected_costs()
    costs = {place: known.get(studies[place].experiment.slug) for place in tasks}
    metrics_s = (sum(cost.metrics_s for cost in costs.values() if cost) or 1.0) if missing else 0.0
    tasks_s = {place: cost.notebook_s if cost else 1.0 for place, cost in costs.items()}
    return [metrics_s, *(tasks_s.get(place, 0.0) for place in range(len(studies)))]


def _metrics(
    missing: Mapping[Path, Sequence[str]],
    side_tasks: Mapping[int, Task],
    awaited: Mapping[int, Mapping[Path, Sequence[str]]],
    at_a_time: int,
    advance: Callable[[int, float], None],
    fail: Callable[[int, StormLabError], None],
) -> tuple[float, dict[int, Any]]:
    """Compute the missing metrics in one process, and do ``side_tasks`` in others.

    Returns the seconds that the metrics took, and the results by study. There are ``at_a_time`` processes.
    ``awaited`` holds the metrics that a task waits for. A task that waits for fewer metrics begins earlier.
    ``advance`` is called with the index of a study, or -1 for the metrics.
    """
    order = computation_order(missing)
    last = {place: max((order[folder] for folder in own), default=-1) for place, own in awaited.items()}
    with tempfile.TemporaryDirectory(prefix="storm_lab-") as scratch:
        done_marker = Path(scratch) / "done_marker"
        tasks: list[tuple[int, Task]] = [(-1, partial(_keep, dict(missing), done_marker))]
        tasks += [
            (place, partial(_after, awaited[place], done_marker, side_tasks[place]))
            for place in sorted(side_tasks, key=last.__getitem__)
        ]

        def on_failure(task: tuple[int, Task], error: StormLabError) -> None:
            (fail if task[0] >= 0 else pass_on)(task[0], error)

        pool: Pool[tuple[int, Task], Any] = Pool(
            at_a_time, _do, name=lambda task: "the metrics" if task[0] < 0 else f"notebook {task[0]}"
        )
        results = pool.do(tasks, lambda number, share: advance(tasks[number][0], share), on_failure)
    found = {tasks[number][0]: result for number, result in results.items()}
    return found.pop(-1), found


def _do(task: tuple[int, Task], advance: Advance) -> Any:
    return task[1](advance)


def _after(wanted: Mapping[Path, Sequence[str]], done_marker: Path, task: Task, advance: Advance) -> Any:
    """Do a task once these metrics exist or the process that computes them has ended."""
    await_metrics(wanted, done_marker.exists)
    return task(advance)


def _keep(wanted: Mapping[Path, Sequence[str]], done_marker: Path, advance: Advance) -> float:
    began = time.perf_counter()
    store_metrics(wanted, advance=advance)
    # Metrics that could not be written are computed again by the task that needs them, so it must not wait.
    done_marker.touch()
    return time.perf_counter() - began
