"""Capacity, as Storm's UI defines it: the share of its time that an executor spends inside ``execute``.

The UI multiplies the executed tuples by their average execute latency, which gives the time spent in
``execute``, and divides by the length of the window: the last ten minutes, or the uptime if that is shorter.
The capacity of a component is the largest of its executors'. Storm samples one tuple in twenty for this; here
every tuple counts.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import in_seconds, overlapped_bins, spread, stable_sum
from storm_lab.pipeline.occupancy import with_end_times
from storm_lab.pipeline.traffic import executor_of_task


def capacity(counts: DataFrame, placements: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """Capacity of every executor by bin.

    Each bin is shortened to the time for which the executor was ready in it. If two copies of an executor run
    at once, as in a smooth migration, both count. Columns: run, topology, component, task (the executor's
    first), t_s, executed, capacity.
    """
    same = ["run", "topology", "component"]
    keys = [*same, "start_task", "bin_ns"]
    columns = [*same, "task", "start_ns", "end_ns", "executed", "execute_ns"]
    executed = counts.select(*columns).where("executed > 0")
    parts = spread(executed, bin_s, ["execute_ns", "executed"])
    joined = parts.join(F.broadcast(executor_of_task(placements)), [*same, "task"])
    summed = joined.groupBy(*keys).agg(
        F.sum(F.round("execute_ns").cast("long")).alias("execute_ns"),
        stable_sum("executed").alias("executed"),
    )
    ready = overlapped_bins(with_end_times(placements, runs), bin_s)
    up = ready.groupBy(*keys).agg(F.sum("overlap_ns").alias("up_ns"))
    timed = summed.join(up, keys).where("up_ns > 0")
    return in_seconds(timed).select(
        *same, F.col("start_task").alias("task"), "t_s", "executed",
        (F.col("execute_ns") / F.col("up_ns")).alias("capacity"),
    )  # fmt: skip
