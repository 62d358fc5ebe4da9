"""Capacity, as Storm's UI defines it: the share of its time that an executor spends inside ``execute``.

The UI computes executed tuples times their average execute latency, divided by the length of the window (the
last ten minutes, or the uptime if that is shorter); the first two are together the time spent in ``execute``.
A component's capacity is the largest of its executors'. Storm samples one tuple in twenty for it; here every
tuple counts.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns, spread, width_ns
from storm_lab.pipeline.traffic import executor_of_task

UI_WINDOW_S = 600.0
"""The window that the UI takes capacity over."""


def capacity(counts: DataFrame, placements: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """Capacity of every executor by bin.

    The bin's length is cut to the time for which the executor was ready in it. Columns: run, topology,
    component, task (the executor's first), t_s, executed, capacity.
    """
    parts = spread(_executed(counts), bin_s, ["execute_ns", "executed"])
    up = spread_uptime(placements, runs, bin_s)
    result = _per_executor(parts, placements, up, "bin_ns")
    return result.withColumn("bin_ns", F.col("bin_ns") / NS).withColumnRenamed("bin_ns", "t_s")


def final_capacity(
    counts: DataFrame, placements: DataFrame, runs: DataFrame, window_s: float = UI_WINDOW_S
) -> DataFrame:
    """Capacity of every executor over the last ``window_s`` of the run: what the UI shows at its end.

    Columns: run, topology, component, task, executed, capacity.
    """
    start = (F.col("duration_ns") - F.lit(width_ns(window_s))).alias("window_ns")
    limits = F.broadcast(runs.select("run", "duration_ns", F.greatest(start, F.lit(0)).alias("window_ns")))
    rows = _executed(counts).join(limits, "run").where("end_ns > window_ns and end_ns > start_ns")
    # The part of a counting window that lies inside.
    share = (F.col("end_ns") - F.greatest("start_ns", "window_ns")) / (F.col("end_ns") - F.col("start_ns"))
    parts = rows.withColumns(
        {"execute_ns": F.col("execute_ns") * share, "executed": F.col("executed") * share, "bin_ns": F.lit(0)}
    )
    stays = placements.join(limits, "run").withColumn("end_ns", F.coalesce("end_ns", "duration_ns"))
    inside = F.greatest(F.col("end_ns") - F.greatest("start_ns", "window_ns"), F.lit(0))
    keys = ["run", "topology", "component", "start_task"]
    up = stays.groupBy(*keys).agg(F.sum(inside).alias("up_ns")).withColumn("bin_ns", F.lit(0))
    return _per_executor(parts, placements, up, "bin_ns").drop("bin_ns")


def component_capacity(executors: DataFrame) -> DataFrame:
    """The largest capacity of a component's executors; ``executors`` is a result of either function above."""
    keys = [name for name in executors.columns if name not in ("task", "executed", "capacity")]
    return executors.groupBy(*keys).agg(
        F.round(F.sum("executed"), 6).alias("executed"), F.max("capacity").alias("capacity")
    )


def spread_uptime(placements: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """For how long each executor was ready in each bin: run, topology, component, start_task, bin_ns, up_ns.

    Two copies of an executor that run at once, as in a smooth migration, both count.
    """
    ends = F.broadcast(runs.select("run", "duration_ns"))
    closed = placements.join(ends, "run").select(
        "run", "topology", "component", "start_task", "start_ns",
        F.least(F.coalesce("end_ns", "duration_ns"), "duration_ns").alias("end_ns"),
    )  # fmt: skip
    width = F.lit(width_ns(bin_s)).cast("long")
    bins = F.sequence(bin_ns("start_ns", bin_s), bin_ns(F.col("end_ns") - 1, bin_s), width)
    touched = closed.where("end_ns > start_ns").withColumn("bin_ns", F.explode(bins))
    overlap = F.least("end_ns", F.col("bin_ns") + width) - F.greatest("start_ns", "bin_ns")
    return touched.groupBy("run", "topology", "component", "start_task", "bin_ns").agg(
        F.sum(overlap).alias("up_ns")
    )


def _executed(counts: DataFrame) -> DataFrame:
    columns = ["run", "topology", "component", "task", "start_ns", "end_ns", "executed", "execute_ns"]
    return counts.select(*columns).where("executed > 0")


def _per_executor(parts: DataFrame, placements: DataFrame, up: DataFrame, by: str) -> DataFrame:
    same = ["run", "topology", "component"]
    joined = parts.join(F.broadcast(executor_of_task(placements)), [*same, "task"])
    summed = joined.groupBy(*same, "start_task", by).agg(
        F.sum(_whole("execute_ns")).alias("execute_ns"), F.round(F.sum("executed"), 6).alias("executed")
    )
    timed = summed.join(up, [*same, "start_task", by]).where("up_ns > 0")
    return timed.select(
        *same, F.col("start_task").alias("task"), by, "executed",
        (F.col("execute_ns") / F.col("up_ns")).alias("capacity"),
    )  # fmt: skip


def _whole(nanoseconds: str) -> Column:
    return F.round(F.col(nanoseconds)).cast("long")
