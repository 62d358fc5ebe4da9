"""Throughput: root tuples acked, and tuples executed by component, in bins of event time.

Root tuples count when the spout handles their ack (the throughput of Storm@Twitter and N-Storm). Executed
tuples count in the window in which ``execute`` returned (R-Storm uses those of the output bolts, MF-Storm
those of all bolts). A bin without any tuple is present with 0, because a stop is a result.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import (
    bin_ns,
    fill_bins,
    spread,
    stable_sum,
    sums,
)

_COUNTED = ("emitted", "transferred", "executed", "acked", "failed")


def throughput(counted: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Root tuples by bin, for every bin of the run.

    ``counted`` is a result of `storm_lab.pipeline.outcomes.outcomes`; ``bin_s`` is a whole number of seconds.
    Columns: run, topology, t_s, width_s, emitted (bin of the emit), acked (bin of the completion),
    acked_per_s.
    """
    done = F.when((F.col("outcome") == "acked") & F.col("complete_ns").isNotNull(), F.col("tuples"))
    ends = "stack(2, emit_ns, tuples, 0L, complete_ns, 0L, coalesce(done, 0L)) as (time_ns, emitted, acked)"
    # A tuple counts in two bins, and a row of `counted` may be in both of them.
    each = counted.withColumn("done", done).selectExpr("run", "topology", ends).where("emitted + acked > 0")
    by_bin = each.groupBy("run", "topology", bin_ns("time_ns", bin_s).alias("bin_ns"))
    result = fill_bins(by_bin.agg(*sums("emitted", "acked")), scopes, bin_s, ["emitted", "acked"])
    return result.withColumn("acked_per_s", F.col("acked") / F.col("width_s"))


def by_component(counts: DataFrame) -> DataFrame:
    """Add up the counters of a component's tasks, by counting window.

    Columns: run, topology, component, start_ns, end_ns, emitted, transferred, executed, acked, failed.
    """
    return counts.groupBy("run", "topology", "component", "start_ns", "end_ns").agg(*sums(*_COUNTED))


def component_throughput(counts: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Tuples by component and bin, for every bin of the run.

    ``counts`` is the log's table, or a result of `by_component`. Columns: run, topology, component, t_s,
    width_s, emitted, transferred, executed, acked, failed, executed_per_s, emitted_per_s. Counting windows
    that cross the edge of a bin are distributed by overlap, so a bin narrower than the windows shows their
    mean.
    """
    parts = spread(counts, bin_s, _COUNTED)
    summed = parts.groupBy("run", "topology", "component", "bin_ns").agg(
        *(stable_sum(name).alias(name) for name in _COUNTED)
    )
    components = counts.select("run", "topology", "component").distinct()
    complete = fill_bins(summed, scopes.join(components, ["run", "topology"]), bin_s, _COUNTED)
    return complete.withColumns(
        {
            "executed_per_s": F.col("executed") / F.col("width_s"),
            "emitted_per_s": F.col("emitted") / F.col("width_s"),
        }
    )
