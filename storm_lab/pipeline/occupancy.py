"""Nodes and workers in use, from the placements.

A node or worker is in use while at least one executor is ready in it. A migration that starts the new worker
before it stops the old one uses both during that time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, integer_ns
from storm_lab.pipeline.events import until_next

EVERY_TOPOLOGY = ""
"""Name under which `occupancy` counts all topologies of a run together."""


def stays(placements: DataFrame, runs: DataFrame) -> DataFrame:
    """Every executor's stays, in seconds; open ones end with the run.

    Columns: run, topology, component, start_task, end_task, worker, node, port, from_s, to_s.
    """
    return with_end_times(placements, runs).select(
        "run", "topology", "component", "start_task", "end_task", "worker", "node", "port",
        (F.col("start_ns") / NS).alias("from_s"), (F.col("end_ns") / NS).alias("to_s"),
    ).where("to_s > from_s")  # fmt: skip


def with_end_times(placements: DataFrame, runs: DataFrame) -> DataFrame:
    """The placements; open ones end with the run."""
    ends = F.broadcast(runs.select("run", "duration_ns"))
    end = F.least(F.coalesce("end_ns", "duration_ns"), "duration_ns")
    return placements.join(ends, "run").withColumn("end_ns", end)


def occupancy(placements: DataFrame, runs: DataFrame) -> DataFrame:
    """Numbers of nodes, workers and executors in use, as steps that cover the entire run.

    Columns: run, topology, from_s, to_s, nodes, workers, executors. Rows of the topology `EVERY_TOPOLOGY`
    count all topologies of the run together.
    """
    each = stays(placements, runs)
    both = each.union(each.withColumn("topology", F.lit(EVERY_TOPOLOGY)))
    # The intervals between two changes, from 0 to the end of the run.
    times = F.explode(F.array(F.lit(0.0), "from_s", "to_s")).alias("from_s")
    edges = until_next(both.select("run", "topology", times), runs, "run", "topology")
    joined = edges.alias("edge").join(
        both.alias("stay"),
        (F.col("edge.run") == F.col("stay.run"))
        & (F.col("edge.topology") == F.col("stay.topology"))
        & (F.col("stay.from_s") <= F.col("edge.from_s"))
        & (F.col("stay.to_s") > F.col("edge.from_s")),
        "left",
    )
    return joined.groupBy("edge.run", "edge.topology", "edge.from_s", "edge.to_s").agg(
        F.count_distinct("stay.node").alias("nodes"),
        F.count_distinct("stay.worker").alias("workers"),
        F.count_distinct("stay.topology", "stay.component", "stay.start_task", "stay.worker").alias(
            "executors"
        ),
    )


def steady_occupancy(steps: DataFrame, runs: DataFrame) -> DataFrame:
    """Time means over the run after its warm-up, and the last step.

    ``steps`` is a result of `occupancy`. Columns: run, topology, nodes_mean, workers_mean, nodes_last,
    workers_last.
    """
    limits = F.broadcast(runs.select("run", (F.col("warm_up_ns") / NS).alias("warm_s")))
    inside = steps.join(limits, "run").where("to_s > warm_s")
    weighed = inside.withColumn("length", F.col("to_s") - F.greatest("from_s", "warm_s"))
    weighed = weighed.withColumn("length", integer_ns("length"))
    return weighed.groupBy("run", "topology").agg(
        (F.sum(F.col("nodes") * F.col("length")) / F.sum("length")).alias("nodes_mean"),
        (F.sum(F.col("workers") * F.col("length")) / F.sum("length")).alias("workers_mean"),
        F.max_by("nodes", "from_s").alias("nodes_last"),
        F.max_by("workers", "from_s").alias("workers_last"),
    )
