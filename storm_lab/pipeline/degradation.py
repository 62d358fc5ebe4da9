"""How long and how far throughput fell below its smooth mean (N-Storm, section V: degradation duration)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, integer_ns

LEVELS = (20, 40, 60, 80, 100)
"""Per cent below the smooth mean; 100 means no throughput at all."""


def smooth_mean(seconds: DataFrame, runs: DataFrame, disturbances: DataFrame) -> DataFrame:
    """Mean throughput in undisturbed operation: from the end of the warm-up to the first disturbance.

    ``seconds`` is a result of `throughput` in bins of one second, ``disturbances`` one of `events`. Without a
    disturbance, the stretch reaches to the end of the run. Only bins entirely inside the stretch count; if
    there are none, there is no row. Columns: run, topology, smooth_per_s, smooth_from_s, smooth_to_s.
    """
    first = disturbances.groupBy("run").agg(F.min("time_s").alias("first_s"))
    limits = runs.join(first, "run", "left").select(
        "run",
        (F.col("warm_up_ns") / NS).alias("smooth_from_s"),
        F.coalesce("first_s", F.col("duration_ns") / NS).alias("smooth_to_s"),
    )
    inside = seconds.join(F.broadcast(limits), "run").where(
        (F.col("t_s") >= F.col("smooth_from_s")) & (F.col("t_s") + F.col("width_s") <= F.col("smooth_to_s"))
    )
    width = F.sum(integer_ns("width_s")) / NS
    return inside.groupBy("run", "topology", "smooth_from_s", "smooth_to_s").agg(
        (F.sum("acked") / width).alias("smooth_per_s")
    )


def degradation(seconds: DataFrame, smooth: DataFrame) -> DataFrame:
    """Seconds of the run with throughput at least ``level`` per cent below the smooth mean.

    Counts the bins from the start of the smooth stretch to the end of the run; levels are cumulative.
    Columns: run, topology, level, smooth_per_s, degraded_s. Runs without a smooth mean above 0 are absent.
    """
    steps = F.explode(F.array(*(F.lit(level) for level in LEVELS))).alias("level")
    compared = seconds.join(F.broadcast(smooth.where("smooth_per_s > 0")), ["run", "topology"])
    rows = compared.where(F.col("t_s") >= F.col("smooth_from_s")).select("*", steps)
    # With the margin, a second exactly at a level counts, however the mean was rounded.
    limit = F.col("smooth_per_s") * (1 - F.col("level") / 100) * (1 + 1e-9)
    below = F.when(F.col("acked_per_s") <= limit, integer_ns("width_s")).otherwise(0)
    return rows.groupBy("run", "topology", "level", "smooth_per_s").agg(
        (F.sum(below) / NS).alias("degraded_s")
    )
