"""What several experiments need before their notebooks: all runs played, the metrics that they read computed.

The runs of all experiments go through one pool of processes, and the metrics of all runs through one Spark
session in a process of its own, which is gone with its memory when the notebooks start. A notebook finds both
and starts no Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError
from storm_lab.machine.progress import progress_bar
from storm_lab.pipeline.summary import keep_metrics, missing_metrics
from storm_lab.runs.execute import JOBS, PlayedRun, play_all
from storm_lab.runs.expected import Cost
from storm_lab.runs.pool import Advance, Pool
from storm_lab.runs.study import Study
from storm_lab.tuplelog import RunRefused

Say = Callable[[str], None]
Task = Callable[[Advance], Any]
"""What another process can do: a function of a module, or a partial of one."""


def _pass_on(number: int, error: StormLabError) -> None:
    raise error


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Tasks for another process, and who is told of them, by number: of a share done, and of a failure."""

    tasks: Sequence[Task] = ()
    advance: Callable[[int, float], None] = lambda number, share: None
    fail: Callable[[int, StormLabError], None] = _pass_on


@dataclass(frozen=True, slots=True)
class Prepared:
    """The runs of each study, in the order of the studies, and where the time went.

    ``meanwhile`` are the results of what was done beside the metrics, by number.
    ``emulation_s`` is what playing each study's runs took, one after the other. ``metrics_s`` is the wall
    time of the one Spark process, its start included; ``shares`` is what part of it belongs to each study, by
    the bytes of the logs that were read. A run that several studies read counts for the first of them.
    """

    runs: tuple[tuple[PlayedRun, ...], ...]
    emulation_s: tuple[float, ...]
    metrics_s: float
    shares: tuple[float, ...]
    meanwhile: dict[int, Any]

    def cost_of(self, place: int, notebook_s: float) -> Cost | None:
        """What a study took, with its notebook; None if some of its runs were there before."""
        if any(run.reused for run in self.runs[place]):
            return None
        sizes = {run.folder: _bytes_in(run.folder) for runs in self.runs for run in runs}
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
    show_progress: bool = False,
    fresh: bool = False,
    needs_metrics: Callable[[Study], bool] = lambda study: True,
    say: Say = lambda line: None,
    meanwhile: Meanwhile | None = None,
) -> Prepared:
    """Have all runs of the studies on disk, and the metrics of those that ``needs_metrics`` names.

    ``meanwhile`` needs neither, and is done beside the metrics, which leave a core idle while Spark plans.

    A run that is damaged is named to ``say`` and played again: the same parameters and seed give the same
    bytes.

    Raises:
        StormLabError: a run is refused or fails, or there is no Java for Spark.
    """
    specs = [study.specs() for study in studies]

    def damaged(refusal: RunRefused) -> None:
        place = f"{refusal.folder.parent.name}/{refusal.folder.name}"
        say(f"{place}: {refusal.problem} run, played again ({refusal.detail})")

    played = play_all(
        [spec for each in specs for spec in each],
        jobs=jobs,
        show_progress=show_progress,
        fresh=fresh,
        on_damage=damaged,
    )
    left = iter(played)
    runs = tuple(tuple(islice(left, len(each))) for each in specs)
    wanted: dict[Path, tuple[str, ...]] = {}
    for study, own in zip(studies, runs, strict=True):
        say(f"{study.experiment.slug}: {len(own)} runs, {sum(not run.reused for run in own)} of them new")
        for run in own if needs_metrics(study) else ():
            names = (*wanted.get(run.folder, ()), *study.experiment.metrics)
            wanted[run.folder] = tuple(dict.fromkeys(names))
    missing = missing_metrics(wanted)
    metrics_s, beside = 0.0, dict[int, Any]()
    if missing or (meanwhile and meanwhile.tasks):
        say(f"metrics of {len(missing)} runs")
        with progress_bar(1, show_progress, "metrics") as show:
            metrics_s, beside = _metrics(missing, meanwhile or Meanwhile(), partial(show, 0))
    own_first = _firsts(runs)
    emulation_s = tuple(sum(run.seconds for run in own) for own in own_first)
    return Prepared(runs, emulation_s, metrics_s, _shares(own_first, missing), beside)


def _firsts(runs: Sequence[Sequence[PlayedRun]]) -> list[list[PlayedRun]]:
    """The runs of each study without those that a study before it has."""
    met: set[Path] = set()
    firsts: list[list[PlayedRun]] = []
    for own in runs:
        firsts.append([run for run in own if run.folder not in met])
        met.update(run.folder for run in own)
    return firsts


def _metrics(
    missing: Mapping[Path, Sequence[str]], meanwhile: Meanwhile, show: Advance
) -> tuple[float, dict[int, Any]]:
    """Compute them in one process, and do in another what is to be done meanwhile; its results by number."""
    metrics: Task = partial(_keep, dict(missing))
    tasks = list(enumerate((metrics, *meanwhile.tasks), -1))

    def told(place: int, share: float) -> None:
        if place:
            meanwhile.advance(place - 1, share)
        else:
            show(share)

    def failed(task: tuple[int, Task], error: StormLabError) -> None:
        if task[0] < 0:
            raise error
        meanwhile.fail(task[0], error)

    pool: Pool[tuple[int, Task], Any] = Pool(
        JOBS, _do, name=lambda task: "the metrics" if task[0] < 0 else f"notebook {task[0]}"
    )
    results = pool.do(tasks, told, failed)
    return results.pop(0), {place - 1: result for place, result in results.items()}


def _do(task: tuple[int, Task], advance: Advance) -> Any:
    return task[1](advance)


def _keep(wanted: Mapping[Path, Sequence[str]], advance: Advance) -> float:
    began = time.perf_counter()
    keep_metrics(wanted, advance=advance)
    return time.perf_counter() - began


def _shares(runs: Sequence[Sequence[PlayedRun]], read: Collection[Path]) -> tuple[float, ...]:
    sizes = {folder: _bytes_in(folder) for folder in read}
    total = sum(sizes.values())
    return tuple(sum(sizes.get(run.folder, 0) for run in own) / total if total else 0.0 for own in runs)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
