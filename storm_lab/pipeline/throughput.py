"""Throughput: root tuples acked, and tuples executed by component, in bins of event time.

Root tuples count when the spout handles their ack (Storm@Twitter's and N-Storm's throughput). Tuples executed
count in the window in which ``execute`` returned (R-Storm takes those of the output bolts, MF-Storm those of
all bolts). A bin without any tuple is present with 0: a stop is a result.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, all_bins, bin_ns, filled, spread, stable_sum, time_columns

_COUNTED = ("emitted", "transferred", "executed", "acked", "failed")


def throughput(roots: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Root tuples by bin, for every bin of the run.

    Columns: run, topology, t_s, width_s, emitted (bin of the emit), acked (bin of the completion),
    acked_per_s.
    """
    keys = ["run", "topology", "bin_ns"]
    emitted = (
        roots.withColumn("bin_ns", bin_ns("emit_ns", bin_s)).groupBy(*keys).agg(F.count("*").alias("emitted"))
    )
    done = roots.where((F.col("outcome") == "acked") & F.col("complete_ns").isNotNull())
    acked = (
        done.withColumn("bin_ns", bin_ns("complete_ns", bin_s))
        .groupBy(*keys)
        .agg(F.count("*").alias("acked"))
    )
    counted = emitted.join(acked, keys, "full")
    result = filled(counted, scopes, bin_s, ["emitted", "acked"])
    return result.withColumn("acked_per_s", F.col("acked") / F.col("width_s"))


def coarser(throughput: DataFrame, bin_s: float) -> DataFrame:
    """The result of `throughput` in wider bins; ``bin_s`` must be a multiple of the finer width.

    Gives what `throughput` would give, without reading the tuples again.
    """
    start = bin_ns(F.round(F.col("t_s") * NS).cast("long"), bin_s)
    merged = throughput.groupBy("run", "topology", (start / NS).alias("t_s")).agg(
        (F.sum(F.round(F.col("width_s") * NS).cast("long")) / NS).alias("width_s"),
        F.sum("emitted").alias("emitted"),
        F.sum("acked").alias("acked"),
    )
    return merged.withColumn("acked_per_s", F.col("acked") / F.col("width_s"))


def component_throughput(counts: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Tuples by component and bin, for every bin of the run.

    Columns: run, topology, component, t_s, width_s, emitted, transferred, executed, acked, failed,
    executed_per_s, emitted_per_s. Counting windows that reach over the edge of a bin are dealt out by
    overlap, so a bin narrower than the windows shows their mean.
    """
    parts = spread(counts, bin_s, _COUNTED)
    summed = parts.groupBy("run", "topology", "component", "bin_ns").agg(
        *(stable_sum(name).alias(name) for name in _COUNTED)
    )
    components = counts.select("run", "topology", "component").distinct()
    frame = all_bins(scopes, bin_s).join(components, ["run", "topology"])
    complete = frame.join(summed, ["run", "topology", "component", "bin_ns"], "left").fillna(
        0, subset=list(_COUNTED)
    )
    return complete.select("run", "topology", "component", *time_columns(), *_COUNTED).withColumns(
        {
            "executed_per_s": F.col("executed") / F.col("width_s"),
            "emitted_per_s": F.col("emitted") / F.col("width_s"),
        }
    )
