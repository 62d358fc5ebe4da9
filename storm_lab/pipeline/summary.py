"""The metrics of many runs in one Spark job, kept per run, so that who asks again needs no Spark.

The main job asks for all runs at once and pays for one session. A notebook asks for its own runs and reads
what the main job left; by itself, it computes what is missing and leaves that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

import pandas as pd
import pyarrow as pa

from storm_lab.errors import UserError
from storm_lab.pipeline.kept import Keeper, code_digest, is_kept, kept, place_of
from storm_lab.platform.memory import memory_bytes
from storm_lab.tuplelog.reader import Problem, Run, RunRefused, open_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_RUNS = 800
_BATCH_ROWS = 16_000_000
"""Runs, and rows of their logs, that go through Spark together. Planning a job and compiling its code costs
the same for one run as for many; an interrupted sweep has lost no more than this. The heap bounds the rows:
root tuples' latencies are gathered in it and merged twice. N-Storm's runs, nearly all roots, ended a heap of
2 GB at 40 million rows and filled up to nine tenths of its old part, garbage included, at this number.
"""

_HEAP_GB = (2, 4)
"""Least and most heap of a session that computes metrics; in between, a quarter of the machine's memory. Two
are enough; with more, it is cleared up less often.
"""

_BRIEF_ROWS = 5_000_000
"""Rows of all logs up to which a session for them alone is brief (see `spark_session`)."""

_THREADS = 4
"""Metrics computed at a time: small jobs leave cores idle while they are planned."""


class _Table:
    """A metric table that is made into a frame when it is asked for first: most readers need few of them."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, tables: None, owner: type) -> Self: ...

    @overload
    def __get__(self, tables: MetricTables, owner: type) -> pd.DataFrame: ...

    def __get__(self, tables: MetricTables | None, owner: type) -> pd.DataFrame | Self:
        if tables is None:
            return self
        frame = _frame(tables.parts[self._name])
        vars(tables)[self._name] = frame
        return frame


class MetricTables:
    """The house set of some runs as small pandas tables, sorted by their columns from left to right.

    Every table starts with experiment, variant, seed and run (the run's name). The other columns stand with
    the function of `storm_lab.pipeline` that computes the table: the part of the name before ``_10s`` or
    ``_60s`` (the bin) names it. ``refused`` are the folders that were left out, with the reason.
    """

    runs: pd.DataFrame
    """storm_version, duration_s, warm_up_s, sample_every, status, reason, parameters (JSON)."""
    latency_10s = _Table()
    latency_60s = _Table()
    steady_latency = _Table()
    latency_distribution = _Table()
    throughput_1s = _Table()
    throughput_10s = _Table()
    throughput_60s = _Table()
    component_throughput_10s = _Table()
    component_throughput_60s = _Table()
    failures_10s = _Table()
    failures_60s = _Table()
    degradation = _Table()
    executor_traffic = _Table()
    traffic_share_60s = _Table()
    steady_traffic_share = _Table()
    occupancy = _Table()
    stays = _Table()
    node_cpu_60s = _Table()
    executor_cpu_60s = _Table()
    component_cpu_60s = _Table()
    steady_cpu = _Table()
    capacity_60s = _Table()
    """Of executors."""
    final_capacity = _Table()
    """Of components, over the last 600 s: what Storm's UI shows at the end."""
    execution_times_60s = _Table()
    steady_elapsed = _Table()
    steady = _Table()
    stabilisation = _Table()
    """Of the processing time in bins of 10 s."""
    spikes = _Table()
    """Of the processing time in bins of 10 s."""
    events = _Table()
    control = _Table()
    nodes = _Table()

    def __init__(
        self,
        runs: pd.DataFrame,
        parts: Mapping[str, Sequence[pa.Table]],
        refused: Sequence[RunRefused] = (),
    ) -> None:
        self.runs = runs
        self.parts = parts
        self.refused = tuple(refused)


TABLE_NAMES = tuple(name for name, value in vars(MetricTables).items() if isinstance(value, _Table))


def metrics_of(
    run_folders: Sequence[Path],
    spark: SparkSession | None = None,
    *,
    cache: Path | None = None,
    refused: Literal["raise", "skip"] = "raise",
) -> MetricTables:
    """The metric tables of some runs, from the cache where it is current, else from one Spark job.

    Args: run_folders: folders as written by `RunWriter`, in any order. spark: session to use; else the
    process's own, started only if something has to be computed. cache: folder that results are kept in, one
    per run; by default ``metrics`` beside the folder of all runs (``data/metrics`` for
    ``data/runs/<experiment>/<run>``). refused: whether a folder that is no whole run of this schema, or holds
    a run twice, raises or is left out and listed in the result.

    Raises:
        RunRefused: such a folder, with ``refused="raise"``.
        UserError: no run is left to summarise, or Spark cannot be started.
    """
    runs, rejected = _opened(run_folders)
    if rejected and refused == "raise":
        raise rejected[0]
    if not runs:
        raise _nothing_left()
    digest = code_digest()
    places = {run.run: place_of(run, cache, digest) for run in runs}
    tables = {run.run: kept(places[run.run], TABLE_NAMES) for run in runs}
    missing, changed = _unchanged([run for run in runs if not tables[run.run]])
    if changed and refused == "raise":
        raise changed[0]
    rejected += changed
    runs = [run for run in runs if run.folder not in {refusal.folder for refusal in changed}]
    if not runs:
        raise _nothing_left()
    with Keeper() as keeper:
        for batch in _batches(missing):
            for name, computed in _computed(batch, spark):
                keeper.keep(places[name], computed)
                tables[name] = computed
    parts = {name: [tables[run.run][name] for run in runs] for name in TABLE_NAMES}
    return MetricTables(_run_frame(runs), parts, rejected)


def keep_metrics(
    run_folders: Sequence[Path], spark: SparkSession | None = None, *, cache: Path | None = None
) -> int:
    """Compute and keep the metrics of all runs that have none yet, in one Spark session; how many those were.

    Who calls `metrics_of` afterwards needs no Spark. Arguments and errors as there; a session that is started
    here is made for these runs, so this is for a process of its own.
    """
    runs, rejected = _opened(run_folders)
    if rejected:
        raise rejected[0]
    digest = code_digest()
    places = {run.run: place_of(run, cache, digest) for run in runs}
    missing, changed = _unchanged([run for run in runs if not is_kept(places[run.run])])
    if changed:
        raise changed[0]
    if missing and spark is None:
        spark = _session_for(missing)
    with Keeper() as keeper:
        for batch in _batches(missing):
            for name, computed in _computed(batch, spark):
                keeper.keep(places[name], computed)
    return len(missing)


def _session_for(runs: Sequence[Run]) -> SparkSession:
    """A session for these runs and nothing else."""
    from storm_lab.pipeline.session import spark_session
    from storm_lab.pipeline.tables import all_rows

    brief = all_rows(runs) <= _BRIEF_ROWS
    return spark_session(driver_memory=_heap(), brief=brief, thorough=True)


def _heap() -> str:
    """Heap of a session that computes metrics, in Java's notation."""
    least, most = _HEAP_GB
    return f"{min(most, max(least, memory_bytes() // 4 // 1024**3))}g"


def missing_metrics(run_folders: Sequence[Path], *, cache: Path | None = None) -> list[Path]:
    """The folders of whole runs whose metrics `keep_metrics` would compute. Needs no Spark."""
    digest = code_digest()
    runs, _ = _opened(run_folders)
    return [run.folder for run in runs if not is_kept(place_of(run, cache, digest))]


def _opened(folders: Sequence[Path]) -> tuple[list[Run], list[RunRefused]]:
    runs: dict[str, Run] = {}
    rejected = []
    for folder in sorted(set(folders)):
        try:
            run = open_run(folder)
        except RunRefused as refusal:
            rejected.append(refusal)
            continue
        first = runs.setdefault(run.run, run)
        if first is not run:
            detail = f"the same run is in {first.folder.name}"
            rejected.append(RunRefused(folder, Problem.DUPLICATED, detail))
    return list(runs.values()), rejected


def _unchanged(runs: Sequence[Run]) -> tuple[list[Run], list[RunRefused]]:
    """Runs whose files hold the bytes that were written, and the others. Reads them all, as Spark will."""
    whole, changed = [], []
    for run in runs:
        try:
            whole.append(open_run(run.folder, verify=True))
        except RunRefused as refusal:
            changed.append(refusal)
    return whole, changed


def _nothing_left() -> UserError:
    return UserError(
        "there is no run to compute metrics of", field="run_folders", remedy="run the experiment first"
    )


def _computed(runs: Sequence[Run], spark: SparkSession | None) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    # Importing PySpark takes longer than reading kept metrics.
    from storm_lab.pipeline.house import house_set
    from storm_lab.pipeline.java_process import told_of_its_end
    from storm_lab.pipeline.session import spark_session
    from storm_lab.pipeline.tables import read_logs

    session = spark or spark_session(driver_memory=_heap(), thorough=True)
    logs = read_logs(session, runs)
    with told_of_its_end(session), house_set(logs) as metrics, ThreadPoolExecutor(_THREADS) as pool:
        results = pool.map(lambda name: _sorted(logs.labelled(metrics[name]).toArrow()), TABLE_NAMES)
        tables = dict(zip(TABLE_NAMES, results, strict=True))
    parts = {name: _by_run(table) for name, table in tables.items()}
    for run in runs:
        yield run.run, {name: parts[name].get(run.run, tables[name].slice(0, 0)) for name in TABLE_NAMES}


def _batches(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """The runs in their order, as many together as `_BATCH_RUNS` and `_BATCH_ROWS` allow, one at least."""
    batch: list[Run] = []
    rows = 0
    for run in runs:
        own = sum(table.rows for table in run.manifest.tables.values())
        if batch and (len(batch) == _BATCH_RUNS or rows + own > _BATCH_ROWS):
            yield batch
            batch, rows = [], 0
        batch.append(run)
        rows += own
    if batch:
        yield batch


def _by_run(table: pa.Table) -> dict[str, pa.Table]:
    """A sorted table cut up by run: there, the rows of each run follow one another."""
    parts = {}
    low = 0
    for entry in table["run"].combine_chunks().value_counts().to_pylist() if table.num_rows else ():
        parts[entry["values"]] = table.slice(low, entry["counts"])
        low += entry["counts"]
    return parts


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _frame(parts: Sequence[pa.Table]) -> pd.DataFrame:
    # Whether Spark calls a column nullable depends on its plan, so tables of two jobs may differ in that.
    tables = [part.cast(pa.schema([field.with_nullable(True) for field in part.schema])) for part in parts]
    frame: pd.DataFrame = _sorted(pa.concat_tables(tables)).to_pandas()
    return frame


def _run_frame(runs: Sequence[Run]) -> pd.DataFrame:
    rows = []
    for run in runs:
        manifest, identity = run.manifest, run.manifest.identity
        rows.append(
            {
                "experiment": identity.experiment,
                "variant": identity.variant,
                "seed": identity.seed,
                "run": run.run,
                "storm_version": identity.storm_version,
                "duration_s": manifest.duration_ns / 1e9,
                "warm_up_s": manifest.warm_up_ns / 1e9,
                "sample_every": identity.sample_every,
                "status": str(manifest.status),
                "reason": manifest.reason,
                "parameters": json.dumps(dict(identity.parameters), sort_keys=True),
            }
        )
    frame = pd.DataFrame(rows)
    return frame.sort_values(["experiment", "variant", "seed", "run"], ignore_index=True)
