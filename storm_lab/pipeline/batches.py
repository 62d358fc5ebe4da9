"""Compute metric tables with Spark, many runs at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

import pyarrow as pa

from storm_lab.machine.facts import memory_bytes
from storm_lab.pipeline.metric_tables import sorted_table
from storm_lab.tuplelog.reader import Run

if TYPE_CHECKING:
    # PySpark takes long to import, and is not needed when all tables are stored.
    from pyspark.sql import SparkSession

_BATCH_RUNS = 800
_BATCH_ROWS = 16_000_000
"""Runs, and rows of their logs, that go through Spark together; an interrupted sweep loses at most one batch.

The heap limits the rows: latencies of root tuples are gathered in it and merged twice. N-Storm's runs, nearly
all root tuples, filled nine tenths of the old generation of 2 GB, and ran out of it at 40 million rows.
"""

_HEAP_GB = (2, 4)
"""Least and most heap of a session that computes metrics; in between, a quarter of the machine's memory."""

_THREADS = 4
"""Metrics computed at a time: small jobs leave cores idle while they are planned."""


def computed_in_batches(
    lacking: Sequence[tuple[Run, tuple[str, ...]]],
    spark: SparkSession | None,
    advance: Callable[[float], None],
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Yield for each run the tables that it lacks; ``advance`` receives the share of tables done so far."""
    wanted = sum(len(names) for _, names in lacking)
    done = 0
    for names, batch in _batches(lacking):
        tables = {}
        for name, table in _computed_tables(names, batch, spark):
            tables[name] = table
            done += len(batch)
            advance(done / wanted)
        parts = {name: _by_run(table) for name, table in tables.items()}
        for run in batch:
            yield run.run, {name: parts[name].get(run.run, tables[name].slice(0, 0)) for name in names}


def _computed_tables(
    names: Sequence[str], batch: Sequence[Run], spark: SparkSession | None
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each table, with the rows of all runs of a batch, as soon as it is computed."""
    from storm_lab.pipeline.java_process import report_java_death
    from storm_lab.pipeline.session import spark_session
    from storm_lab.pipeline.standard_metrics import standard_metrics
    from storm_lab.pipeline.tables import Logs

    session = spark or spark_session(driver_memory=heap(), thorough=True)
    logs = Logs(session, batch)
    with (
        report_java_death(session),
        standard_metrics(logs, names) as metrics,
        ThreadPoolExecutor(_THREADS) as pool,
    ):

        def collected(name: str) -> pa.Table:
            return sorted_table(logs.labelled(metrics[name]).toArrow())

        jobs = {pool.submit(collected, name): name for name in names}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


def _batches(lacking: Sequence[tuple[Run, tuple[str, ...]]]) -> Iterator[tuple[tuple[str, ...], list[Run]]]:
    """Split the runs into batches and yield each with the tables that all its runs lack.

    A batch holds as many runs, in their order, as `_BATCH_RUNS` and `_BATCH_ROWS` allow, but at least one.
    """
    alike: dict[tuple[str, ...], list[Run]] = {}
    for run, names in lacking:
        alike.setdefault(names, []).append(run)
    for names, runs in alike.items():
        batch: list[Run] = []
        rows = 0
        for run in runs:
            if batch and (len(batch) == _BATCH_RUNS or rows + run.rows > _BATCH_ROWS):
                yield names, batch
                batch, rows = [], 0
            batch.append(run)
            rows += run.rows
        yield names, batch


def _by_run(table: pa.Table) -> dict[str, pa.Table]:
    """Split a sorted table, in which the rows of each run are consecutive, by run."""
    parts = {}
    low = 0
    for entry in table["run"].combine_chunks().value_counts().to_pylist() if table.num_rows else ():
        parts[entry["values"]] = table.slice(low, entry["counts"])
        low += entry["counts"]
    return parts


def heap() -> str:
    """Return the heap of a session that computes metrics, in Java's notation (see `_HEAP_GB`)."""
    least, most = _HEAP_GB
    return f"{min(most, max(least, memory_bytes() // 4 // 1024**3))}g"
