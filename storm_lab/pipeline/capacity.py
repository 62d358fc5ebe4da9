"""Capacity, as Storm's UI defines it: the share of its time that an executor spends inside ``execute``.

The UI multiplies the executed tuples by their average execute latency, which gives the time spent in
``execute``, and divides by the length of the window: the last ten minutes, or the uptime if that is shorter.
The capacity of a component is the largest of its executors'. Storm samples one tuple in twenty for this; here
every tuple counts.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import in_seconds, overlapped_bins, share_after, spread, stable_sum, width_ns
from storm_lab.pipeline.occupancy import with_end_times
from storm_lab.pipeline.traffic import executor_of_task

UI_WINDOW_S = 600.0
"""The window over which the UI computes capacity."""


def capacity(counts: DataFrame, placements: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """Capacity of every executor by bin.

    Each bin is shortened to the time for which the executor was ready in it. Columns: run, topology,
    component, task (the executor's first), t_s, executed, capacity.
    """
    parts = spread(_executed(counts), bin_s, ["execute_ns", "executed"])
    up = spread_uptime(placements, runs, bin_s)
    return in_seconds(_per_executor(parts, placements, up))


def final_capacity(counts: DataFrame, placements: DataFrame, runs: DataFrame) -> DataFrame:
    """Capacity of every executor over the last `UI_WINDOW_S` of the run, as the UI shows it at the end.

    Columns: run, topology, component, task, executed, capacity.
    """
    start = (F.col("duration_ns") - F.lit(width_ns(UI_WINDOW_S))).alias("window_ns")
    limits = F.broadcast(runs.select("run", "duration_ns", F.greatest(start, F.lit(0)).alias("window_ns")))
    rows = _executed(counts).join(limits, "run").where("end_ns > window_ns and end_ns > start_ns")
    share = share_after("window_ns")
    parts = rows.withColumns(
        {"execute_ns": F.col("execute_ns") * share, "executed": F.col("executed") * share, "bin_ns": F.lit(0)}
    )
    stays = placements.join(limits, "run").withColumn("end_ns", F.coalesce("end_ns", "duration_ns"))
    inside = F.greatest(F.col("end_ns") - F.greatest("start_ns", "window_ns"), F.lit(0))
    keys = ["run", "topology", "component", "start_task"]
    up = stays.groupBy(*keys).agg(F.sum(inside).alias("up_ns")).withColumn("bin_ns", F.lit(0))
    return _per_executor(parts, placements, up).drop("bin_ns")


def component_capacity(executors: DataFrame) -> DataFrame:
    """Capacity of each component: the largest of its executors'.

    ``executors`` is a result of `capacity` or `final_capacity`.
    """
    keys = [name for name in executors.columns if name not in ("task", "executed", "capacity")]
    return executors.groupBy(*keys).agg(
        stable_sum("executed").alias("executed"), F.max("capacity").alias("capacity")
    )


def spread_uptime(placements: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """Time for which each executor was ready in each bin.

    Columns: run, topology, component, start_task, bin_ns, up_ns.

    If two copies of an executor run at once, as in a smooth migration, both count.
    """
    return (
        overlapped_bins(with_end_times(placements, runs), bin_s)
        .groupBy("run", "topology", "component", "start_task", "bin_ns")
        .agg(F.sum("overlap_ns").alias("up_ns"))
    )


def _executed(counts: DataFrame) -> DataFrame:
    columns = ["run", "topology", "component", "task", "start_ns", "end_ns", "executed", "execute_ns"]
    return counts.select(*columns).where("executed > 0")


def _per_executor(parts: DataFrame, placements: DataFrame, up: DataFrame) -> DataFrame:
    same = ["run", "topology", "component"]
    joined = parts.join(F.broadcast(executor_of_task(placements)), [*same, "task"])
    summed = joined.groupBy(*same, "start_task", "bin_ns").agg(
        F.sum(F.round("execute_ns").cast("long")).alias("execute_ns"),
        stable_sum("executed").alias("executed"),
    )
    timed = summed.join(up, [*same, "start_task", "bin_ns"]).where("up_ns > 0")
    return timed.select(
        *same, F.col("start_task").alias("task"), "bin_ns", "executed",
        (F.col("execute_ns") / F.col("up_ns")).alias("capacity"),
    )  # fmt: skip
