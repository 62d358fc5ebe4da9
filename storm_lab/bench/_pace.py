"""Virtual seconds per wall-clock second: of every experiment's first run, and of each paper's largest."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute
import pyarrow.parquet

from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.experiments.experiment import RunSpec
from storm_lab.papers.registry import experiments
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import is_complete_run, play, run_folder
from storm_lab.tuplelog import open_run

_LENGTHS = ("duration_s", "stage_s", "window_s")
_RATES = ("lines_per_s", "messages_per_s")


@dataclass(frozen=True, slots=True)
class LargestRun:
    """A paper's largest run and its pace.

    ``known_from`` is ``recorded`` where runs of the paper lie on disk and the one with most executions was
    picked; otherwise ``declared``: the longest one with the highest rate, by the runs' parameters.
    """

    run: str
    known_from: str
    virtual_seconds_per_second: float


def pace_of(spec: RunSpec) -> float:
    """Play a run, its log included; virtual seconds per wall-clock second."""
    with tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as home:
        began = time.perf_counter()
        folder = play((spec, identity_of(spec)), Path(home))
        wall = time.perf_counter() - began
        return open_run(folder).manifest.duration_ns / NS_PER_S / wall


def measure_pace(seconds: float) -> dict[str, float]:
    """The pace of every experiment's first run.

    Experiments that let their ``duration_s`` be set play ``seconds`` of it, or their least; those without
    runs are left out.
    """
    pace: dict[str, float] = {}
    for experiment in experiments():
        declared = {parameter.name: parameter for parameter in experiment.parameters}
        given: dict[str, object] = {}
        if "duration_s" in declared:
            given["duration_s"] = max(seconds, declared["duration_s"].low or 0.0)
        specs = experiment.runs(experiment.checked(given))
        if specs:
            pace[experiment.slug] = pace_of(specs[0])
    return pace


def measure_largest() -> dict[str, LargestRun]:
    """The pace of the largest run of each paper, at its full length."""
    of_paper: dict[str, list[RunSpec]] = {}
    for experiment in experiments():
        of_paper.setdefault(experiment.paper, []).extend(experiment.runs(experiment.checked()))
    found: dict[str, LargestRun] = {}
    for paper, specs in of_paper.items():
        if specs:
            spec, known_from = largest(specs)
            found[paper] = LargestRun(str(spec), known_from, pace_of(spec))
    return found


def largest(specs: Sequence[RunSpec], home: Path | None = None) -> tuple[RunSpec, str]:
    """The run with most executions on disk; with none on disk, the largest by its parameters."""
    executions = [executions_of(run_folder(spec, home)) for spec in specs]
    if max(executions) > 0:
        return specs[executions.index(max(executions))], "recorded"
    return max(specs, key=declared_size), "declared"


def executions_of(folder: Path) -> int:
    """Tuples that the executors of a run on disk have executed, a bundle as one; 0: no such run."""
    if not is_complete_run(folder):
        return 0
    table = pyarrow.parquet.read_table(folder / "counts.parquet", columns=["executed"])
    return int(pyarrow.compute.sum(table["executed"]).as_py() or 0)


def declared_size(spec: RunSpec) -> float:
    """Virtual seconds times lines per second, as far as a run's parameters say either; else 1."""
    return _first(spec, _LENGTHS) * _first(spec, _RATES)


def _first(spec: RunSpec, names: Iterable[str]) -> float:
    """The first of these parameters that a run has and that says something."""
    given = (spec.parameters.get(name) for name in names)
    return next((float(value) for value in given if isinstance(value, (int, float)) and value > 0), 1.0)
