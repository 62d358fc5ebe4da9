"""One engine of ``storm-lab bench pipeline``, in a process of its own, which prints JSON.

All engines give the three metrics in the same form: rows sorted by their keys, numbers unrounded.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from storm_lab.bench._kernel_parts import resident_mb

Rows = list[list[Any]]
Query = Callable[[], Rows]

_MINUTE = 60_000_000_000
_SECOND = 1_000_000_000


def main(engine: str, folder: Path) -> None:
    """Start the engine, run every query three times and print the figures."""
    peak = _PeakMemory()
    began = time.perf_counter()
    queries = {"spark": _spark, "duckdb": _duckdb, "pandas": _pandas}[engine](folder)
    started = time.perf_counter()
    first, first_s, first_cpu_s = _timed(queries[:1])
    rest, rest_s, rest_cpu_s = _timed(queries[1:])
    # Java is still compiling the code that the first pass has shown to be hot.
    second, _, _ = _timed(queries)
    warm, warm_s, warm_cpu_s = _timed(queries)
    if not first + rest == second == warm:
        raise SystemExit("later results differ from the first")
    times = {
        "start_s": started - began,
        "start_and_first_s": started - began + first_s,
        "cold_s": first_s + rest_s,
        "warm_s": warm_s,
        "cold_cpu_s": first_cpu_s + rest_cpu_s,
        "warm_cpu_s": warm_cpu_s,
    }
    rounded = {name: round(seconds, 3) for name, seconds in times.items()}
    print(json.dumps({**rounded, "peak_mb": peak.stop(), "results": warm}))


def _timed(queries: Sequence[Query]) -> tuple[list[Rows], float, float]:
    """Run queries and return their results, wall time and processor time."""
    began, used = time.perf_counter(), _cpu_s()
    results = [query() for query in queries]
    return results, time.perf_counter() - began, _cpu_s() - used


def _spark(folder: Path) -> list[Query]:
    from pyspark.sql import DataFrame

    from storm_lab.pipeline.batches import heap
    from storm_lab.pipeline.execution import execution_times
    from storm_lab.pipeline.latency import latency
    from storm_lab.pipeline.session import spark_session
    from storm_lab.pipeline.tables import Logs
    from storm_lab.pipeline.throughput import outcomes, throughput
    from storm_lab.tuplelog import open_run

    run = open_run(folder)
    # The latencies of a larger log do not fit into the default heap.
    memory = "1g" if run.manifest.tables["roots"].rows < 2_000_000 else heap()
    logs = Logs(spark_session(driver_memory=memory), [run])
    roots, executions = logs.table("roots"), logs.table("executions")
    placements = logs.table("placements")

    # A repeated query uses the metric's frame, which exists already. A new selection from it is planned and
    # computed from scratch; the frame itself would reuse the shuffle files of the previous time.
    @cache
    def frame(metric: str) -> DataFrame:
        if metric == "latency":
            return latency(roots, 60)
        if metric == "throughput":
            counted = outcomes(roots, logs.runs, logs.scopes)
            return throughput(counted, logs.scopes, 1).where("acked > 0")
        return execution_times(executions, placements, 60)

    def rows(metric: str, *columns: str) -> Rows:
        chosen = frame(metric).select(*columns)
        return sorted([list(row) for row in chosen.toArrow().to_pandas().to_numpy().tolist()])

    parts = ("mean", "p50", "p95", "p99")
    shares = [f"{kind}_{part}_ms" for kind in ("complete", "processing") for part in parts]
    times = ["executions", "wait_mean_ms", "execute_mean_ms", "wait_max_ms"]
    return [
        lambda: rows("latency", "topology", "t_s", "tuples", *shares),
        lambda: rows("throughput", "topology", "t_s", "acked"),
        lambda: rows("execution times", "topology", "component", "t_s", *times),
    ]


def _duckdb(folder: Path) -> list[Query]:
    import duckdb

    connection = duckdb.connect()
    # Within quotes, SQL doubles an apostrophe.
    quoted = str(folder).replace("'", "''")
    roots = f"read_parquet('{quoted}/roots.parquet')"
    executions = f"read_parquet('{quoted}/executions.parquet')"
    acked = f"(select *, latency_ns - sleep_ns as processing_ns from {roots} where outcome = 'acked')"

    def statistics(column: str) -> str:
        exact = ", ".join(f"quantile_cont({column}, {share}) / 1e6" for share in (0.5, 0.95, 0.99))
        return f"sum({column}) / count(*) / 1e6, {exact}"

    texts = [
        f"select topology, (complete_ns // {_MINUTE}) * 60.0, count(*), {statistics('latency_ns')}, "
        f"{statistics('processing_ns')} from {acked} group by all",
        f"select topology, (complete_ns // {_SECOND}) * 1.0, count(*) from {acked} group by all",
        f"select topology, component, (end_ns // {_MINUTE}) * 60.0, count(*), "
        "sum(start_ns - enqueue_ns) / count(*) / 1e6, sum(end_ns - start_ns) / count(*) / 1e6, "
        f"max(start_ns - enqueue_ns) / 1e6 from {executions} group by all",
    ]

    def query(text: str) -> Query:
        return lambda: sorted([_plain(row) for row in connection.execute(text).fetchall()])

    return [query(text) for text in texts]


def _pandas(folder: Path) -> list[Query]:
    import numpy as np
    import pandas as pd

    held: list[pd.DataFrame] = []

    def latency() -> Rows:
        columns = ["topology", "outcome", "complete_ns", "latency_ns", "sleep_ns"]
        roots = pd.read_parquet(folder / "roots.parquet", columns=columns)
        roots = roots[roots["outcome"] == "acked"].astype({"complete_ns": "int64", "latency_ns": "int64"})
        # A user with all rows in memory would not read them again for the next metric.
        held.append(roots[["topology", "complete_ns"]])
        roots["t_s"] = roots["complete_ns"] // _MINUTE * 60.0
        roots["processing_ns"] = roots["latency_ns"] - roots["sleep_ns"]
        groups = roots.groupby(["topology", "t_s"], observed=True)
        result = groups.size().to_frame("tuples")
        for column in ("latency_ns", "processing_ns"):
            result[f"{column}_mean"] = groups[column].sum() / result["tuples"] / 1e6
            exact = groups[column].quantile(np.array([0.5, 0.95, 0.99])).unstack() / 1e6
            result[[f"{column}_{share}" for share in exact.columns]] = exact
        return _table(result.reset_index())

    def throughput() -> Rows:
        roots = held.pop()
        second = (roots["complete_ns"] // _SECOND).astype("float64").rename("t_s")
        return _table(roots.groupby(["topology", second], observed=True).size().reset_index())

    def execution_times() -> Rows:
        columns = ["topology", "component", "enqueue_ns", "start_ns", "end_ns"]
        rows = pd.read_parquet(folder / "executions.parquet", columns=columns)
        rows["t_s"] = rows["end_ns"] // _MINUTE * 60.0
        rows["wait"] = rows["start_ns"] - rows["enqueue_ns"]
        rows["execute"] = rows["end_ns"] - rows["start_ns"]
        groups = rows.groupby(["topology", "component", "t_s"], observed=True)
        result = groups.size().to_frame("executions")
        result["wait_mean"] = groups["wait"].sum() / result["executions"] / 1e6
        result["execute_mean"] = groups["execute"].sum() / result["executions"] / 1e6
        result["wait_max"] = groups["wait"].max() / 1e6
        return _table(result.reset_index())

    return [latency, throughput, execution_times]


def _table(frame: Any) -> Rows:
    return sorted([_plain(row) for row in frame.itertuples(index=False)])


def _plain(row: Any) -> list[Any]:
    return [value if isinstance(value, str) else float(value) for value in row]


class _PeakMemory:
    """Largest resident memory of this process and its children together, sampled ten times a second."""

    def __init__(self) -> None:
        self._peak_mb = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """Stop sampling and return the peak in MB."""
        self._done.set()
        self._thread.join()
        return round(self._peak_mb, 1)

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            self._peak_mb = max(self._peak_mb, sum(resident_mb(process) or 0.0 for process in _family()))


def _family() -> list[str]:
    """Return the process ids of this process and of all its descendants."""
    parents: dict[str, str] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[status.parent.name] = status.read_text().rpartition(")")[2].split()[1]
    family = [Path("/proc/self").resolve().name]
    for process in family:
        family.extend(child for child, parent in parents.items() if parent == process)
    return family


def _cpu_s() -> float:
    """Return the processor time, in seconds, of this process and of all its descendants."""
    ticks = 0
    for process in _family():
        with suppress(OSError):
            # After the name, which may contain blanks: user and system time of the process, then of its dead
            # children.
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def leave_archive(folder: Path) -> None:
    """Compute all metrics of a run, as a reproduction does, so that the session leaves an archive."""
    from storm_lab.pipeline.metric_tables import TABLE_NAMES
    from storm_lab.pipeline.summary import store_metrics

    with tempfile.TemporaryDirectory() as cache:
        store_metrics({folder: TABLE_NAMES}, cache=Path(cache))


if __name__ == "__main__":
    if sys.argv[1] == "archive":
        leave_archive(Path(sys.argv[2]))
    else:
        main(sys.argv[1], Path(sys.argv[2]))
