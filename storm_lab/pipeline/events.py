"""What disturbed a run, from the control table, and the stretches of undisturbed time in between."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS

REASSIGNMENTS = ("re-assign", "rebalance")
"""Actions of the control table that put executors elsewhere while the topology runs."""


def events(control: DataFrame, actions: Sequence[str] = REASSIGNMENTS) -> DataFrame:
    """The control events of some actions, numbered through each run by time.

    Columns: run, event (from 1), time_s, actor, action, subject, reason, detail. Entries of one action at one
    time are one event (one decision may name many topologies or executors); the first by subject speaks for
    them.
    """
    chosen = control.where(F.col("action").isin(*actions))
    same = Window.partitionBy("run", "time_ns", "action").orderBy("subject", "actor", "reason", "detail")
    single = chosen.withColumn("_nth", F.row_number().over(same)).where("_nth = 1")
    order = Window.partitionBy("run").orderBy("time_ns", "action")
    return single.select(
        "run", F.row_number().over(order).alias("event"), (F.col("time_ns") / NS).alias("time_s"),
        "actor", "action", "subject", "reason", "detail",
    )  # fmt: skip


def control_log(control: DataFrame) -> DataFrame:
    """The whole control table, time in seconds: run, time_s, actor, action, subject, reason, detail."""
    return control.select(
        "run", (F.col("time_ns") / NS).alias("time_s"), "actor", "action", "subject", "reason", "detail"
    )


def stretches(runs: DataFrame, disturbances: DataFrame) -> DataFrame:
    """The time between disturbances: [0, first), [first, second), ..., [last, end of the run).

    ``disturbances`` is a result of `events`. Columns: run, stretch (from 0), from_s, to_s.
    """
    starts = runs.select("run", F.lit(0.0).alias("from_s")).union(disturbances.select("run", "time_s"))
    ends = runs.select("run", (F.col("duration_ns") / NS).alias("end_s"))
    inside = starts.distinct().join(F.broadcast(ends), "run").where("from_s < end_s")
    order = Window.partitionBy("run").orderBy("from_s")
    return inside.select(
        "run", (F.row_number().over(order) - 1).alias("stretch"), "from_s",
        F.coalesce(F.lead("from_s").over(order), F.col("end_s")).alias("to_s"),
    )  # fmt: skip
