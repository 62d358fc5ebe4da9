"""Root tuples by outcome, throughput and failures in bins of event time, and averages after the warm-up.

Root tuples count when the spout handles their ack (the throughput of Storm@Twitter and N-Storm). Executed
tuples count in the window in which ``execute`` returned (R-Storm uses those of the output bolts, MF-Storm
those of all bolts). A bin without any tuple is present with 0, because a stop is a result.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns, fill_bins, spread, stable_sum, sums
from storm_lab.pipeline.tables import add_run_and_topology, add_scope

OUTCOMES = ("acked", "failed", "lost", "pending")
"""Outcomes of a root tuple (see the log's schema)."""

SYSTEM_COMPONENTS = "\\_\\_%"
"""Pattern of the components that Storm adds itself, such as the ackers; they do no work of the topology."""

_COUNTED = ("emitted", "transferred", "executed", "acked", "failed")


def outcomes(roots: DataFrame, runs: DataFrame, scopes: DataFrame) -> DataFrame:
    """Root tuples by the seconds of emission and of completion, from one pass over the log.

    ``runs`` and ``scopes`` are described in `storm_lab.pipeline.tables.Logs`. Columns: run, topology, emit_ns
    and complete_ns (starts of the seconds; complete_ns is null while pending), outcome, replayed (whether its
    source record was emitted before), warm (completed after the run's warm-up), tuples.
    """
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    names = F.array(*(F.lit(outcome) for outcome in OUTCOMES))
    # Numbers only: a name among the grouping columns doubles the cost.
    keys = {
        "emit_ns": bin_ns("emit_ns", 1.0),
        "complete_ns": bin_ns("complete_ns", 1.0),
        "place": F.array_position(names, F.col("outcome")).cast("int"),
        "replayed": F.col("attempt") > 0,
        "warm": F.coalesce(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(False)),
    }
    rows = add_scope(roots.join(limits, "run"), runs)
    rows = rows.select("scope", *(key.alias(name) for name, key in keys.items()))
    counted = rows.groupBy("scope", *keys).agg(F.count("*").alias("tuples"))
    outcome = F.element_at(names, F.col("place")).alias("outcome")
    columns = ("scope", "emit_ns", "complete_ns", outcome, "replayed", "warm", "tuples")
    return add_run_and_topology(counted.select(*columns), scopes)


def failures(counted: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Failed, lost and replayed root tuples, for every bin of the run.

    ``counted`` is a result of `outcomes`; ``bin_s`` is a whole number of seconds. Columns: run, topology,
    t_s, width_s, and three counts:

    * failed: timed out or failed by a bolt, in the bin in which the spout handled the failure;
    * lost: the spout died before it learned their outcome, in the bin in which they were emitted;
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
    by_bin = each.where("lost + replayed + failed > 0").groupBy(
        "run", "topology", bin_ns("time_ns", bin_s).alias("bin_ns")
    )
    return fill_bins(by_bin.agg(*sums(*of)), scopes, bin_s, ["failed", "lost", "replayed"])


def throughput(counted: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Root tuples by bin, for every bin of the run.

    ``counted`` is a result of `outcomes`; ``bin_s`` is a whole number of seconds. Columns: run, topology,
    t_s, width_s, emitted (bin of the emit), acked (bin of the completion), acked_per_s.
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
    width_s, emitted, transferred, executed, acked, failed (of spouts, with lost root tuples), executed_per_s,
    emitted_per_s. Counting windows that cross the edge of a bin are distributed by overlap, so a bin narrower
    than the windows shows their mean.
    """
    parts = spread(counts, bin_s, _COUNTED)
    summed = parts.groupBy("run", "topology", "component", "bin_ns").agg(
        *(stable_sum(name).alias(name) for name in _COUNTED)
    )
    components = counts.select("run", "topology", "component").distinct()
    complete = fill_bins(summed, scopes.join(components, ["run", "topology"]), bin_s, _COUNTED)
    rates = {f"{name}_per_s": F.col(name) / F.col("width_s") for name in ("executed", "emitted")}
    return complete.withColumns(rates)


def steady(
    counted: DataFrame, counts: DataFrame, scopes: DataFrame, runs: DataFrame, occupied: DataFrame
) -> DataFrame:
    """Rates over the time from the end of the warm-up to the end of the run, and rates per node.

    ``counted`` is a result of `outcomes`, ``occupied`` one of `steady_occupancy`. Throughput per node
    (MF-Storm, section V) divides by the time mean of the nodes that the topology uses. ``executed_per_s``
    counts the tuples executed by all bolts except Storm's own.

    Columns: run, topology, measured_s, acked, failed, acked_per_s, executed_per_s, nodes_mean, workers_mean,
    nodes_last, workers_last, acked_per_s_per_node, executed_per_s_per_node. Runs that end before their
    warm-up does are absent.
    """
    tuples = {
        outcome: F.when(F.col("outcome") == outcome, F.col("tuples")).otherwise(0)
        for outcome in ("acked", "failed")
    }
    keys = ["run", "topology"]
    ended = counted.where("warm").withColumns(tuples).groupBy(*keys).agg(*sums(*tuples))
    bolts = (
        counts.where(~F.col("component").like(SYSTEM_COMPONENTS))
        .join(F.broadcast(runs.select("run", "warm_up_ns")), "run")
        .where("end_ns > warm_up_ns and end_ns > start_ns")
    )
    share = (F.col("end_ns") - F.greatest("start_ns", "warm_up_ns")) / (F.col("end_ns") - F.col("start_ns"))
    executed = bolts.groupBy(*keys).agg(stable_sum(F.col("executed") * share).alias("executed"))
    length = ((F.col("duration_ns") - F.col("warm_up_ns")) / NS).alias("measured_s")
    frame = scopes.where("duration_ns > warm_up_ns").select(*keys, length)
    joined = frame.join(ended, keys, "left").join(executed, keys, "left").join(occupied, keys, "left")
    rates = {f"{name}_per_s": F.col(name) / F.col("measured_s") for name in ("acked", "executed")}
    rated = joined.fillna(0, subset=["acked", "failed", "executed"]).withColumns(rates)
    return rated.select(
        *keys, "measured_s", "acked", "failed", "acked_per_s", "executed_per_s",
        "nodes_mean", "workers_mean", "nodes_last", "workers_last",
        F.try_divide("acked_per_s", "nodes_mean").alias("acked_per_s_per_node"),
        F.try_divide("executed_per_s", "nodes_mean").alias("executed_per_s_per_node"),
    )  # fmt: skip
