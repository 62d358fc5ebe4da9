"""Traffic between executors, and the shares of it that leave the process or the node.

A tuple counts where it is sent, once per copy, acker messages included. Its locality is that at the moment of
sending: *process* stays in its worker, *node* goes to another worker of the node (T-Storm: inter-process),
*rack* to another node of the rack and *cluster* to another rack (together: inter-node).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, stable_sum, sums
from storm_lab.pipeline.latency import after_warm_up, covered_time

LOCALITIES = ("process", "node", "rack", "cluster")


def executor_traffic(
    traffic: DataFrame, localities: DataFrame, placements: DataFrame, runs: DataFrame
) -> DataFrame:
    """The traffic matrix: tuples from executor to executor, in monitor windows after the warm-up.

    ``localities`` is the result of `by_locality` for ``traffic``. An executor is named by its component and
    its first task. Columns: run, topology, source_component, source_task, target_component, target_task,
    tuples, bytes, tuples_per_s (over the time that these windows cover).
    """
    measured = after_warm_up(traffic, runs, "start_ns")
    covered = covered_time(after_warm_up(localities, runs, "start_ns"))
    keys = ["run", "topology", "source_component", "source_task", "target_component", "target_task"]
    amounts = sums("tuples", "bytes")
    pairs = measured.groupBy(*keys).agg(*amounts)
    named = _by_executor(_by_executor(pairs, placements, "source"), placements, "target")
    summed = named.groupBy(*keys).agg(*amounts)
    rate = F.col("tuples") / (F.col("covered_ns") / NS)
    return summed.join(covered, "run").withColumn("tuples_per_s", rate).drop("covered_ns")


def by_locality(traffic: DataFrame) -> DataFrame:
    """Tuples by monitor window and locality: run, topology, start_ns, end_ns, locality, tuples.

    This is all that the shares need of ``traffic``, in one to four rows per window instead of one per
    pair of tasks.
    """
    return traffic.groupBy("run", "topology", "start_ns", "end_ns", "locality").agg(*sums("tuples"))


def steady_traffic_share(traffic: DataFrame, runs: DataFrame) -> DataFrame:
    """Tuples by locality after the warm-up, and the shares that T-Storm calls inter-node and inter-process.

    ``traffic`` is the log's table, or a result of `by_locality`. There is one row per run and topology with
    traffic. Columns: run, topology, tuples, process, node, rack, cluster, inter_node_share,
    inter_process_share (both of all tuples, 0 to 1).
    """
    parts = {
        locality: F.when(F.col("locality") == locality, F.col("tuples")).otherwise(0)
        for locality in LOCALITIES
    }
    sent = after_warm_up(traffic, runs, "start_ns").groupBy("run", "topology")
    amounts = {"tuples": F.col("tuples"), **parts}
    summed = sent.agg(*(stable_sum(amount).alias(name) for name, amount in amounts.items()))
    shares = {
        "inter_node_share": (F.col("rack") + F.col("cluster")) / F.col("tuples"),
        "inter_process_share": F.col("node") / F.col("tuples"),
    }
    return summed.where("tuples > 0").withColumns(shares)


def _by_executor(pairs: DataFrame, placements: DataFrame, end: str) -> DataFrame:
    """Replace the task of one end of a pair by the first task of its executor."""
    executors = executor_of_task(placements).select(
        "run", "topology", F.col("component").alias(f"{end}_component"),
        F.col("task").alias(f"{end}_task"), F.col("start_task").alias("_first"),
    )  # fmt: skip
    same = [pairs[name] == executors[name] for name in ("run", "topology", f"{end}_component", f"{end}_task")]
    joined = pairs.join(F.broadcast(executors), same, "left")
    others = [pairs[name] for name in pairs.columns if name != f"{end}_task"]
    return joined.select(*others, F.coalesce("_first", pairs[f"{end}_task"]).alias(f"{end}_task"))


def executor_of_task(placements: DataFrame) -> DataFrame:
    """The executor of every task: run, topology, component, task, start_task (that executor's first).

    A task has two rows if the number of executors changed during the run. With one row per task instead of
    one per range, rows are joined by a key and not compared with all executors of the component.
    """
    ranges = placements.select("run", "topology", "component", "start_task", "end_task").distinct()
    task = F.explode(F.sequence("start_task", "end_task")).alias("task")
    return ranges.select("run", "topology", "component", task, "start_task")
