"""Root tuples that failed, were lost or were replayed, in bins of event time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import bin_ns, filled


def failures(counted: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Failed, lost and replayed root tuples, for every bin of the run.

    ``counted`` is a result of `storm_lab.pipeline.outcomes.outcomes` in bins of ``bin_s`` or of a part of it.
    Columns: run, topology, t_s, width_s, and three counts:

    * failed: timed out or failed by a bolt, in the bin in which the spout handled the failure;
    * lost: their spout died before it heard of them, in the bin in which they were emitted;
    * replayed: emissions of a source record that was emitted before, in the bin of the new emission.
    """
    of = {
        "lost": F.col("outcome") == "lost",
        "replayed": F.col("replayed"),
        "failed": (F.col("outcome") == "failed") & F.col("complete_ns").isNotNull(),
    }
    marked = counted.select(
        "run", "topology", "emit_ns", "complete_ns",
        *(F.when(holds, F.col("tuples")).otherwise(0).alias(name) for name, holds in of.items()),
    ).where("lost + replayed + failed > 0")  # fmt: skip
    ends = "stack(2, emit_ns, lost, replayed, 0L, complete_ns, 0L, 0L, failed)"
    each = marked.selectExpr("run", "topology", f"{ends} as (time_ns, lost, replayed, failed)")
    sums = (
        each.where("lost + replayed + failed > 0")
        .groupBy("run", "topology", bin_ns("time_ns", bin_s).alias("bin_ns"))
        .agg(*(F.sum(name).alias(name) for name in of))
    )
    return filled(sums, scopes, bin_s, ["failed", "lost", "replayed"])
