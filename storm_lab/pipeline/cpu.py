"""CPU use of nodes and threads, and the capacity of executors.

Use is CPU time divided by the length of the bin: 1.0 is one core busy all the time. The utilisation of a node
also divides by its cores, so that 1.0 is a full node. Hyper-threads and frequency changes do not alter this
definition of cores times time. Windows that cross the edge of a bin are distributed by overlap.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import in_seconds, overlapped_bins, spread, stable_sum, width_ns
from storm_lab.pipeline.latency import after_warm_up, covered_time
from storm_lab.pipeline.occupancy import with_end_times
from storm_lab.pipeline.traffic import executor_of_task

_MS = 1e6


def node_cpu(cpu: DataFrame, nodes: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """CPU use by bin of every node for which the log has windows.

    Columns: run, node, rack, cores, t_s, cores_used, utilisation (0 to 1).
    """
    parts = spread(cpu.select("run", "node", "start_ns", "end_ns", "cpu_ms"), bin_s, ["cpu_ms"])
    summed = parts.groupBy("run", "node", "bin_ns").agg(_cpu_ns())
    ends = F.broadcast(runs.select("run", "duration_ns"))
    facts = F.broadcast(nodes.select("run", "node", "rack", "cores"))
    width = F.least(F.lit(width_ns(bin_s)).cast("long"), F.col("duration_ns") - F.col("bin_ns"))
    used = summed.join(ends, "run").join(facts, ["run", "node"])
    return in_seconds(used.withColumn("cores_used", F.col("cpu_ns") / width)).select(
        "run", "node", "rack", "cores", "t_s", "cores_used",
        (F.col("cores_used") / F.col("cores")).alias("utilisation"),
    )  # fmt: skip


def steady_cpu(cpu: DataFrame, nodes: DataFrame, runs: DataFrame, used_nodes: DataFrame) -> DataFrame:
    """Mean utilisation after the warm-up, over the nodes in use and over all nodes: one row per run.

    ``used_nodes`` has the run and node of every node that had an executor. Columns: run, cores_used,
    utilisation_used_nodes, utilisation_all_nodes.
    """
    measured = after_warm_up(cpu, runs, "start_ns")
    spent = measured.groupBy("run", "node").agg(_cpu_ns())
    marked = used_nodes.select("run", "node").distinct().withColumn("used", F.lit(1))
    every = (
        nodes.select("run", "node", "cores")
        .join(spent, ["run", "node"], "left")
        .join(marked, ["run", "node"], "left")
        .join(covered_time(measured), "run")
        .fillna(0, subset=["cpu_ns", "used"])
    )
    total = every.groupBy("run", "covered_ns").agg(
        F.sum("cpu_ns").alias("all_ns"),
        F.sum("cores").alias("all_cores"),
        F.sum(F.col("cpu_ns") * F.col("used")).alias("used_ns"),
        F.sum(F.col("cores") * F.col("used")).alias("used_cores"),
    )
    return total.select(
        "run",
        (F.col("all_ns") / F.col("covered_ns")).alias("cores_used"),
        (F.try_divide("used_ns", F.col("used_cores") * F.col("covered_ns"))).alias("utilisation_used_nodes"),
        (F.col("all_ns") / (F.col("all_cores") * F.col("covered_ns"))).alias("utilisation_all_nodes"),
    )


def steady_thread_cpu(cpu: DataFrame, runs: DataFrame) -> DataFrame:
    """Mean CPU use of every thread of a worker after the warm-up; 1.0 is a thread that never waits.

    Columns: run, topology, component and task (empty and -1 for threads that the worker shares), thread,
    worker, node, cores_used.
    """
    measured = after_warm_up(cpu, runs, "start_ns")
    keys = ["run", "topology", "component", "task", "thread", "worker", "node"]
    spent = measured.where("worker >= 0").groupBy(*keys).agg(_cpu_ns())
    return spent.join(covered_time(measured), "run").select(
        *keys, (F.col("cpu_ns") / F.col("covered_ns")).alias("cores_used")
    )


def _cpu_ns() -> Column:
    """CPU time in integer nanoseconds, whose sum does not depend on the order of addition."""
    return F.sum(F.round(F.col("cpu_ms") * _MS).cast("long")).alias("cpu_ns")


def capacity(counts: DataFrame, placements: DataFrame, runs: DataFrame, bin_s: float) -> DataFrame:
    """Capacity of every executor by bin, as Storm's UI defines it: the share of its time inside ``execute``.

    The UI divides by its window: the last ten minutes, or the uptime if that is shorter. It samples one tuple
    in twenty; here every tuple counts. The capacity of a component is the largest of its executors'. Each bin
    is shortened to the time for which the executor was ready in it. If two copies of an executor run at once,
    as in a smooth migration, both count. Columns: run, topology, component, task (the executor's first), t_s,
    executed, capacity.
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
