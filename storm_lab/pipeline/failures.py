"""Root tuples that failed, were lost or were replayed, in bins of event time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import bin_ns, filled


def failures(roots: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Failed, lost and replayed root tuples, for every bin of the run.

    Columns: run, topology, t_s, width_s, and three counts:

    * failed: timed out or failed by a bolt, in the bin in which the spout handled the failure;
    * lost: their spout died before it heard of them, in the bin in which they were emitted;
    * replayed: emissions of a source record that was emitted before, in the bin of the new emission.
    """
    lost = (F.col("outcome") == "lost").cast("long")
    replayed = (F.col("attempt") > 0).cast("long")
    failed = ((F.col("outcome") == "failed") & F.col("complete_ns").isNotNull()).cast("long")
    events = roots.select(
        "run",
        "topology",
        "emit_ns",
        "complete_ns",
        lost.alias("lost"),
        replayed.alias("replayed"),
        failed.alias("failed"),
    ).where("lost + replayed + failed > 0")
    keys = ["run", "topology", "bin_ns"]
    at_emit = events.withColumn("bin_ns", bin_ns("emit_ns", bin_s)).where("lost + replayed > 0")
    at_end = events.withColumn("bin_ns", bin_ns("complete_ns", bin_s)).where("failed > 0")
    started = at_emit.groupBy(*keys).agg(F.sum("lost").alias("lost"), F.sum("replayed").alias("replayed"))
    ended = at_end.groupBy(*keys).agg(F.sum("failed").alias("failed"))
    return filled(started.join(ended, keys, "full"), scopes, bin_s, ["failed", "lost", "replayed"])
