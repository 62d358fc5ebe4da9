"""Virtual seconds per wall-clock second, for every experiment's first run and each paper's largest run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute
import pyarrow.parquet

from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.experiments.experiment import RunSpec
from storm_lab.model.grouped import grouped
from storm_lab.papers.registry import experiments
from storm_lab.runs.execute import PlannedRun, is_complete_run, play, run_folder
from storm_lab.tuplelog import open_run


def pace_of(spec: RunSpec) -> float:
    """Play a run, including its log, and return virtual seconds per wall-clock second."""
    with tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as home:
        began = time.perf_counter()
        folder = play(PlannedRun.of(spec, Path(home)))
        wall = time.perf_counter() - began
        return open_run(folder).manifest.duration_ns / NS_PER_S / wall


def measure_pace(seconds: float) -> dict[str, float]:
    """Measure the pace of every experiment's first run.

    Experiments with a parameter ``duration_s`` play ``seconds`` of it, or its least value if that is larger.
    Experiments without runs are omitted.
    """
    pace: dict[str, float] = {}
    for experiment in experiments():
        lengths = [parameter for parameter in experiment.parameters if parameter.name == "duration_s"]
        given = {parameter.name: max(seconds, parameter.low or 0.0) for parameter in lengths}
        if specs := experiment.runs(experiment.checked(given)):
            pace[experiment.slug] = pace_of(specs[0])
    return pace


def measure_largest() -> dict[str, dict[str, Any]]:
    """Measure the pace of the largest run of each paper, at its full length.

    ``known_from`` is ``recorded`` if runs of the paper are on disk; the one with the most executions was then
    chosen. Otherwise it is ``declared``, and the longest run with the highest rate, by the runs' parameters,
    was chosen.
    """
    found: dict[str, dict[str, Any]] = {}
    for paper, members in grouped(experiments(), lambda experiment: experiment.paper).items():
        if specs := [spec for each in members for spec in each.runs(each.checked())]:
            spec, known_from = largest(specs)
            pace = {"virtual_seconds_per_second": pace_of(spec)}
            found[paper] = {"run": str(spec), "known_from": known_from, **pace}
    return found


def largest(specs: Sequence[RunSpec], home: Path | None = None) -> tuple[RunSpec, str]:
    """Return the run with the most executions on disk; if none is on disk, the largest by its parameters."""
    executions = [executions_of(run_folder(spec, home)) for spec in specs]
    if max(executions) > 0:
        return specs[executions.index(max(executions))], "recorded"
    return max(specs, key=declared_size), "declared"


def executions_of(folder: Path) -> int:
    """Tuples that a run's executors have executed, a bundle counted as one; 0 if it is not on disk."""
    if not is_complete_run(folder):
        return 0
    table = pyarrow.parquet.read_table(folder / "counts.parquet", columns=["executed"])
    return int(pyarrow.compute.sum(table["executed"]).as_py() or 0)


def declared_size(spec: RunSpec) -> float:
    """Virtual seconds times lines per second; a factor that the run's parameters do not give is 1."""
    size = 1.0
    for names in (("duration_s", "stage_s", "window_s"), ("lines_per_s", "messages_per_s")):
        given = (spec.parameters.get(name) for name in names)
        size *= next((float(v) for v in given if isinstance(v, (int, float)) and v > 0), 1.0)
    return size
