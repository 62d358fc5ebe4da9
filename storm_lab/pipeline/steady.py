"""Averages of each run and topology after the warm-up, in total and per node."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, stable_sum, sums

SYSTEM_COMPONENTS = "\\_\\_%"
"""Pattern of the components that Storm adds itself, such as the ackers; they do no work of the topology."""


def steady(
    counted: DataFrame, counts: DataFrame, scopes: DataFrame, runs: DataFrame, occupied: DataFrame
) -> DataFrame:
    """Rates over the time from the end of the warm-up to the end of the run, and rates per node.

    ``counted`` is a result of `storm_lab.pipeline.outcomes.outcomes`, ``occupied`` one of `steady_occupancy`.
    Throughput per node (MF-Storm, section V) divides by the time mean of the nodes that the topology uses.
    ``executed_per_s`` counts the tuples executed by all bolts except Storm's own.

    Columns: run, topology, measured_s, acked, failed, acked_per_s, executed_per_s, nodes_mean, workers_mean,
    nodes_last, workers_last, acked_per_s_per_node, executed_per_s_per_node. Runs that end before their
    warm-up does are absent.
    """
    tuples = {
        outcome: F.when(F.col("outcome") == outcome, F.col("tuples")).otherwise(0)
        for outcome in ("acked", "failed")
    }
    outcomes = counted.where("warm").withColumns(tuples).groupBy("run", "topology").agg(*sums(*tuples))
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    bolts = (
        counts.where(~F.col("component").like(SYSTEM_COMPONENTS))
        .join(limits, "run")
        .where("end_ns > warm_up_ns and end_ns > start_ns")
    )
    share = (F.col("end_ns") - F.greatest("start_ns", "warm_up_ns")) / (F.col("end_ns") - F.col("start_ns"))
    executed = bolts.groupBy("run", "topology").agg(stable_sum(F.col("executed") * share).alias("executed"))
    length = ((F.col("duration_ns") - F.col("warm_up_ns")) / NS).alias("measured_s")
    frame = scopes.where("duration_ns > warm_up_ns").select("run", "topology", length)
    keys = ["run", "topology"]
    joined = frame.join(outcomes, keys, "left").join(executed, keys, "left").join(occupied, keys, "left")
    rated = joined.fillna(0, subset=["acked", "failed", "executed"]).withColumns(
        {
            "acked_per_s": F.col("acked") / F.col("measured_s"),
            "executed_per_s": F.col("executed") / F.col("measured_s"),
        }
    )
    return rated.select(
        *keys, "measured_s", "acked", "failed", "acked_per_s", "executed_per_s",
        "nodes_mean", "workers_mean", "nodes_last", "workers_last",
        F.try_divide("acked_per_s", "nodes_mean").alias("acked_per_s_per_node"),
        F.try_divide("executed_per_s", "nodes_mean").alias("executed_per_s_per_node"),
    )  # fmt: skip
