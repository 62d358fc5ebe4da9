"""Count root tuples by the seconds in which they were emitted and completed, and by outcome.

One pass over the root tuples gives the counts for throughput, failures and the rates of the entire run.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import bin_ns, fill_bins, sums
from storm_lab.pipeline.tables import add_run_and_topology, add_scope

OUTCOMES = ("acked", "failed", "lost", "pending")
"""Outcomes of a root tuple (see the log's schema)."""


def outcomes(roots: DataFrame, runs: DataFrame, scopes: DataFrame) -> DataFrame:
    """Root tuples by the seconds of emission and of completion.

    ``runs`` and ``scopes`` are described in `storm_lab.pipeline.tables.Logs`. Columns: run, topology, emit_ns
    and complete_ns (starts of the seconds; complete_ns is null while pending), outcome, replayed (whether its
    source record was emitted before), warm (completed after the run's warm-up), tuples.
    """
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    warm = F.coalesce(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(False))
    names = F.array(*(F.lit(outcome) for outcome in OUTCOMES))
    place = F.array_position(names, F.col("outcome")).cast("int")
    keys = {
        "emit_ns": bin_ns("emit_ns", 1.0),
        "complete_ns": bin_ns("complete_ns", 1.0),
        "place": place,
        "replayed": F.col("attempt") > 0,
        "warm": warm,
    }
    # Numbers only: a name among the grouping columns doubles the cost.
    rows = add_scope(roots.join(limits, "run"), runs)
    counted = (
        rows.select("scope", *(key.alias(name) for name, key in keys.items()))
        .groupBy("scope", *keys)
        .agg(F.count("*").alias("tuples"))
    )
    outcome = F.element_at(names, F.col("place")).alias("outcome")
    return add_run_and_topology(
        counted.select("scope", "emit_ns", "complete_ns", outcome, "replayed", "warm", "tuples"), scopes
    )


def failures(counted: DataFrame, scopes: DataFrame, bin_s: float) -> DataFrame:
    """Failed, lost and replayed root tuples, for every bin of the run.

    ``counted`` is a result of `outcomes`; ``bin_s`` is a whole number of seconds.
    Columns: run, topology, t_s, width_s, and three counts:

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
