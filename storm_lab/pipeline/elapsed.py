"""Time since a root tuple left its spout: at the entry of a bolt's receive queue, and at the end of execute.

For topologies that ack nothing, this stands for complete latency; at the bolts next to the spout it is the
latency of one hop, by how far the tuple travelled. Only root tuples whose executions were logged count.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_MS = 1e6


def steady_elapsed(roots: DataFrame, executions: DataFrame, runs: DataFrame) -> DataFrame:
    """Elapsed time by component and by the locality of the tuple's last hop.

    ``runs`` has run, warm_up_ns and sample_every. Counted are executions that end after the warm-up. Columns:
    run, topology, component, locality, tuples, enqueue_mean_ms (root's emit to the bolt's receive queue),
    end_mean_ms (root's emit to the end of execute).
    """
    facts = F.broadcast(runs.select("run", "warm_up_ns", "sample_every"))
    # Roots are logged whole and executions sampled: the others find no partner, and would only be shuffled.
    sampled = (
        roots.join(facts, "run")
        .where(F.col("root_id") % F.col("sample_every") == 0)
        .select("run", "root_id", "emit_ns")
    )
    steady = executions.join(facts, "run").where(F.col("end_ns") >= F.col("warm_up_ns"))
    joined = steady.join(sampled, ["run", "root_id"])
    return joined.groupBy("run", "topology", "component", "locality").agg(
        F.count("*").alias("tuples"),
        # Whole nanoseconds: their sum does not depend on the order of addition.
        (F.sum(F.col("enqueue_ns") - F.col("emit_ns")) / F.count("*") / _MS).alias("enqueue_mean_ms"),
        (F.sum(F.col("end_ns") - F.col("emit_ns")) / F.count("*") / _MS).alias("end_mean_ms"),
    )
