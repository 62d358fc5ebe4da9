"""``storm-lab bench pipeline``: PySpark against DuckDB and pandas, on the same files and the same metrics.

The rows are those of a real run's ``roots`` and ``executions``, replicated with slightly shifted times. By
default the run is played for this purpose with every execution logged. Three metrics are computed: latency by
minute with exact percentiles, throughput by second, and waiting and execution times by component and minute.
Each engine runs in a process of its own and computes everything three times; the first time is called cold
and the last one warm. Figures are medians over rounds.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from storm_lab.bench._program import output_of
from storm_lab.errors import UserError
from storm_lab.machine.facts import memory_bytes
from storm_lab.machine.options import FiniteRange, answer, json_option
from storm_lab.tuplelog import Coded, Run, RunWriter, open_run
from storm_lab.tuplelog.buffer import Column

ENGINES = ("spark", "duckdb", "pandas")

MILLION = 1_000_000

_TOLERANCE = 1e-9
"""Largest relative difference that counts as rounding."""
_ARCHIVE_WAIT_S = 120.0
_SHIFT_PER_COPY_NS = {
    **dict.fromkeys(("emit_ns", "enqueue_ns", "start_ns"), 997),
    **dict.fromkeys(("complete_ns", "end_ns"), 998),
    "latency_ns": 1,
}


_defaulting = partial(click.option, show_default=True)


@click.command("pipeline")
@_defaulting(
    "--rows", default=20.0, type=FiniteRange(0.001, 1000.0), help="Rows of roots and executions, in millions."
)
@_defaulting(
    "--large",
    default=0.0,
    type=FiniteRange(0.0, 1000.0),
    help="Also time Spark alone on this many million rows, to measure its memory.",
)
@_defaulting(
    "--rounds", default=3, type=click.IntRange(1, 50), help="Runs of each engine; the result is the median."
)
@click.option(
    "--run",
    "folder",
    type=click.Path(path_type=Path),
    help="Run to take the rows from (default: T-Storm's Word Count, played with every execution logged).",
)
@json_option
def command(rows: float, large: float, rounds: int, folder: Path | None, as_json: bool) -> None:
    """Time the metrics pipeline against DuckDB and pandas."""
    with tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as home:
        source = open_run(folder) if folder is not None else complete_log(Path(home))
        ensure_archive(source)
        log = replicate(source, Path(home) / "runs" / "bench" / "log", round(rows * MILLION))
        figures = compare(rounds_of(log.folder, rounds))
        figures["run"] = f"{source.manifest.identity.experiment}/{source.manifest.identity.variant}"
        figures["one_run_session_and_first_query_s"] = measure("spark", source.folder)["start_and_first_s"]
        figures["rows"] = _rows(log)
        if large:
            big = replicate(source, Path(home) / "runs" / "bench" / "large", round(large * MILLION))
            spark = measure("spark", big.folder)
            figures |= {"large_rows": _rows(big), "large_driver_peak_mb": spark["peak_mb"]}
            figures |= {f"large_spark_{name}": spark[name] for name in ("warm_s", "warm_cpu_s")}
            figures |= too_large(figures)
    ordered = dict(sorted(figures.items()))
    answer(as_json, ordered, "\n".join(f"{name:28} {value}" for name, value in ordered.items()))


def _rows(log: Run) -> int:
    return log.manifest.tables["roots"].rows + log.manifest.tables["executions"].rows


def too_large(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Estimate the memory that pandas would need for the large log, if its peak grew with the rows.

    This is not tried: a process that takes all memory brings down the machine.
    """
    needed = figures["pandas_peak_mb"] * figures["large_rows"] / figures["rows"]
    memory = memory_bytes() / 1024**2
    return {
        "large_pandas_estimate_mb": round(needed, 1),
        "memory_mb": round(memory, 1),
        "large_fits_pandas": needed < memory,
    }


def ensure_archive(source: Run) -> None:
    """Create the class-data archive that users have after their first reproduction; after a while give up.

    Java writes it when it exits, some seconds after the process that started it.
    """
    # PySpark takes a second to import, which other commands need not wait for.
    from storm_lab.pipeline.session import has_archive

    if has_archive():
        return
    _engine("archive", source.folder)
    until = time.monotonic() + _ARCHIVE_WAIT_S
    while not has_archive() and time.monotonic() < until:
        time.sleep(1.0)


def replicate(source: Run, folder: Path, rows: int) -> Run:
    """Replicate the roots and executions of ``source`` to about ``rows`` rows.

    Copy k starts k * 997 ns later and its latencies are k ns longer, so that values do not simply repeat.
    Raises `UserError` if there is nothing to replicate.
    """
    if not _rows(source):
        remedy = "give a run in which tuples flow"
        raise UserError("has no tuples", field="run", value=str(source.folder), remedy=remedy)
    roots, executions = source.table("roots"), source.table("executions")
    copies = max(1, round(rows / _rows(source)))
    identity = dataclasses.replace(source.manifest.identity, experiment="bench", variant=f"{copies} copies")
    with RunWriter(folder, identity) as log:
        for name in ("nodes", "placements"):
            log.append(name, _columns(source.table(name), 0))
        for copy in range(copies):
            log.append("roots", _columns(roots, copy))
            log.append("executions", _columns(executions, copy))
        log.finish(duration_ns=source.manifest.duration_ns)
    return open_run(folder)


def rounds_of(folder: Path, rounds: int) -> dict[str, dict[str, Any]]:
    """Run the engines alternately, so that a slow spell hits all of them; return medians over ``rounds``."""
    measured = [{engine: measure(engine, folder) for engine in ENGINES} for _ in range(rounds)]
    figures: dict[str, dict[str, Any]] = {}
    for engine in ENGINES:
        own = [each[engine] for each in measured]
        names = own[0].keys() - {"results"}
        medians = {name: round(float(np.median([each[name] for each in own])), 3) for name in names}
        figures[engine] = {"results": own[0]["results"], **medians}
    return figures


def measure(engine: str, folder: Path) -> dict[str, Any]:
    """Run one engine in a process of its own; its times, peak memory and results. Raises `StormLabError`."""
    result: dict[str, Any] = json.loads(_engine(engine, folder).splitlines()[-1])
    return result


def _engine(name: str, folder: Path) -> str:
    command = [sys.executable, "-m", "storm_lab.bench._pipeline_engine", name, str(folder)]
    return output_of(command, name)


def compare(engines: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of the report.

    ``ratio_duckdb_warm`` and ``ratio_pandas_wall``: Spark's warm wall time, from reading to results, divided
    by that of the other engine. ``ratio_pandas_wall_cold``: the same for the first time, with the session
    started. ``driver_peak_mb``: resident memory of all Spark processes together.
    """
    spark, duckdb, pandas = (engines[name] for name in ENGINES)
    figures: dict[str, Any] = {
        "ratio_duckdb_warm": round(spark["warm_s"] / duckdb["warm_s"], 3),
        "ratio_pandas_wall": round(spark["warm_s"] / pandas["warm_s"], 3),
        "ratio_pandas_wall_cold": round(spark["cold_s"] / pandas["cold_s"], 3),
        "ratio_duckdb_warm_cpu": round(spark["warm_cpu_s"] / duckdb["warm_cpu_s"], 3),
        "ratio_pandas_cpu": round(spark["warm_cpu_s"] / pandas["warm_cpu_s"], 3),
        "driver_peak_mb": spark["peak_mb"],
        "session_and_first_query_s": spark["start_and_first_s"],
        "results_equal": all(_equal(spark["results"], other["results"]) for other in (duckdb, pandas)),
    }
    for name, engine in engines.items():
        for key in ("start_s", "cold_s", "warm_s", "cold_cpu_s", "warm_cpu_s", "peak_mb"):
            figures[f"{name}_{key}"] = engine[key]
    return figures


def complete_log(home: Path) -> Run:
    """Play T-Storm's Word Count under Storm's own scheduler with every execution logged, into ``home``.

    This is the model experiment of the project and its baseline, with some fifteen executions per root tuple.
    """
    from storm_lab.papers.registry import experiment
    from storm_lab.runs.execute import PlannedRun, play

    model = experiment("tstorm-word-count")
    spec = next(spec for spec in model.runs(model.checked()) if spec.variant == "storm-default")
    spec = dataclasses.replace(spec, sample_every=1)
    return open_run(play(PlannedRun.of(spec, home)))


def _columns(table: pa.Table, copy: int) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for name in table.column_names:
        if name == "run":
            continue
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            columns[name] = Coded(column.indices.to_numpy(), column.dictionary.to_pylist())
            continue
        values = column.fill_null(-1).to_numpy() if column.null_count else column.to_numpy()
        shift = copy * _SHIFT_PER_COPY_NS.get(name, 0)
        columns[name] = np.where(values >= 0, values + shift, values) if shift else values
    return columns


def _equal(one: object, other: object) -> bool:
    """Return whether two nested results agree, numbers to within rounding."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _TOLERANCE * max(1.0, abs(one), abs(other))
    return one == other
