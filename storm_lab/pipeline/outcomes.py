"""Root tuples counted by the seconds in which they were emitted and completed, and by what became of them.

One pass over the root tuples, from which throughput, failures and the rates of the whole run follow.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import bin_ns


def outcomes(roots: DataFrame, runs: DataFrame, bin_s: float = 1.0) -> DataFrame:
    """Root tuples by bin of emission and bin of completion.

    Columns: run, topology, emit_ns and complete_ns (starts of the bins; null while pending), outcome,
    replayed (whether its source record was emitted before), warm (completed after the run's warm-up), tuples.
    """
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    warm = F.coalesce(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(False))
    return (
        roots.join(limits, "run")
        .select(
            "run", "topology", bin_ns("emit_ns", bin_s).alias("emit_ns"),
            bin_ns("complete_ns", bin_s).alias("complete_ns"), "outcome",
            (F.col("attempt") > 0).alias("replayed"), warm.alias("warm"),
        )
        .groupBy("run", "topology", "emit_ns", "complete_ns", "outcome", "replayed", "warm")
        .agg(F.count("*").alias("tuples"))
    )  # fmt: skip
