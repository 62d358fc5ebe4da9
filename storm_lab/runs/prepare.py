"""What several experiments need before their notebooks: all runs played, the metrics that they read computed.

The runs of all experiments go through one pool of processes, and the metrics of all runs through one Spark
session in a process of its own, which is gone with its memory when the notebooks start. A notebook finds both
and starts no Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from storm_lab.machine.progress import progress_bar
from storm_lab.pipeline.summary import keep_metrics, missing_metrics
from storm_lab.runs.execute import JOBS, PlayedRun, play_all
from storm_lab.runs.expected import Cost
from storm_lab.runs.pool import Advance, Pool
from storm_lab.runs.study import Study
from storm_lab.tuplelog import RunRefused

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The runs of each study, in the order of the studies, and where the time went.

    ``emulation_s`` is what playing each study's runs took, one after the other. ``metrics_s`` is the wall
    time of the one Spark process, its start included; ``shares`` is what part of it belongs to each study, by
    the bytes of the logs that were read. A run that several studies read counts for the first of them.
    """

    runs: tuple[tuple[PlayedRun, ...], ...]
    emulation_s: tuple[float, ...]
    metrics_s: float
    shares: tuple[float, ...]

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
) -> Prepared:
    """Have all runs of the studies on disk, and the metrics of those that ``needs_metrics`` names.

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
    began = time.perf_counter()
    if missing:
        say(f"metrics of {len(missing)} runs")
        with progress_bar(1, show_progress, "metrics") as advance:
            Pool(1, _keep, name=lambda task: "the metrics").do([dict(missing)], advance)
    metrics_s = time.perf_counter() - began
    own_first = _firsts(runs)
    emulation_s = tuple(sum(run.seconds for run in own) for own in own_first)
    return Prepared(runs, emulation_s, metrics_s, _shares(own_first, missing))


def _firsts(runs: Sequence[Sequence[PlayedRun]]) -> list[list[PlayedRun]]:
    """The runs of each study without those that a study before it has."""
    met: set[Path] = set()
    firsts: list[list[PlayedRun]] = []
    for own in runs:
        firsts.append([run for run in own if run.folder not in met])
        met.update(run.folder for run in own)
    return firsts


def _keep(wanted: Mapping[Path, Sequence[str]], advance: Advance) -> int:
    return keep_metrics(wanted, advance=advance)


def _shares(runs: Sequence[Sequence[PlayedRun]], read: Collection[Path]) -> tuple[float, ...]:
    sizes = {folder: _bytes_in(folder) for folder in read}
    total = sum(sizes.values())
    return tuple(sum(sizes.get(run.folder, 0) for run in own) / total if total else 0.0 for own in runs)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
