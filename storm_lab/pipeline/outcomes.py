"""Root tuples counted by the seconds in which they were emitted and completed, and by what became of them.

One pass over the root tuples, from which throughput, failures and the rates of the whole run follow.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import bin_ns
from storm_lab.pipeline.scope import named, numbered

OUTCOMES = ("acked", "failed", "lost", "pending")
"""What becomes of a root tuple (see the log's schema)."""


def outcomes(roots: DataFrame, runs: DataFrame, scopes: DataFrame, bin_s: float = 1.0) -> DataFrame:
    """Root tuples by bin of emission and bin of completion.

    ``runs`` and ``scopes`` are as in `storm_lab.pipeline.tables.Logs`.

    Columns: run, topology, emit_ns and complete_ns (starts of the bins; null while pending), outcome,
    replayed (whether its source record was emitted before), warm (completed after the run's warm-up), tuples.
    """
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    warm = F.coalesce(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(False))
    names = F.array(*(F.lit(outcome) for outcome in OUTCOMES))
    place = F.array_position(names, F.col("outcome")).cast("int")
    keys = {
        "emit_ns": bin_ns("emit_ns", bin_s),
        "complete_ns": bin_ns("complete_ns", bin_s),
        "place": place,
        "replayed": F.col("attempt") > 0,
        "warm": warm,
    }
    # Numbers only: a name among the columns of a group doubles its cost.
    rows = numbered(roots.join(limits, "run"), runs)
    counted = (
        rows.select("scope", *(key.alias(name) for name, key in keys.items()))
        .groupBy("scope", *keys)
        .agg(F.count("*").alias("tuples"))
    )
    outcome = F.element_at(names, F.col("place")).alias("outcome")
    return named(
        counted.select("scope", "emit_ns", "complete_ns", outcome, "replayed", "warm", "tuples"), scopes
    )
