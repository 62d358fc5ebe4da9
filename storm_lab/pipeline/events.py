"""The disturbances of a run, the undisturbed stretches between them, and how latency and throughput respond.

A disturbance is one of three kinds:

* ``re-assignment``: Nimbus writes an assignment that moves an executor of a topology that had one before;
* ``rebalance``: the command is given, which deactivates the spouts; the assignment that follows is part of it
  and is not counted again;
* ``fault``: the fault plan acts (a failure or its end).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, integer_ns


def events(control: DataFrame) -> DataFrame:
    """The disturbances of each run, numbered by time.

    Columns: run, event (from 1), kind, time_s, actor, action, subject, reason, detail. Entries of one kind at
    one time form one event, because one decision may affect many topologies; the event shows the entry that
    is first by subject.
    """
    assigned = Window.partitionBy("run", "action", "subject").orderBy("time_ns", "detail")
    numbered = control.withColumn("_nth", F.row_number().over(assigned))
    moved = F.coalesce(F.get_json_object("detail", "$.moved").cast("int"), F.lit(1)) > 0
    own = F.coalesce(F.get_json_object("detail", "$.origin"), F.lit("")) != "rebalanced"
    kind = (
        F.when(F.col("actor") == "fault", "fault")
        .when(F.col("action") == "rebalance", "rebalance")
        .when((F.col("action") == "assign") & (F.col("_nth") > 1) & moved & own, "re-assignment")
    )
    disturbing = numbered.withColumn("kind", kind).where("kind is not null")
    same = Window.partitionBy("run", "time_ns", "kind").orderBy(
        "subject", "actor", "action", "reason", "detail"
    )
    single = disturbing.withColumn("_nth", F.row_number().over(same)).where("_nth = 1")
    order = Window.partitionBy("run").orderBy("time_ns", "kind")
    return control_log(single, F.row_number().over(order).alias("event"), F.col("kind"))


def control_log(control: DataFrame, *more: Column) -> DataFrame:
    """The control table: run, ``more``, time_s (in seconds), actor, action, subject, reason, detail."""
    time_s = (F.col("time_ns") / NS).alias("time_s")
    return control.select("run", *more, time_s, "actor", "action", "subject", "reason", "detail")


def stretches(runs: DataFrame, disturbances: DataFrame) -> DataFrame:
    """The time between disturbances: [0, first), [first, second), ..., [last, end of the run).

    ``disturbances`` is a result of `events`. Columns: run, stretch (from 0), from_s, to_s.
    """
    starts = runs.select("run", F.lit(0.0).alias("from_s")).union(disturbances.select("run", "time_s"))
    number = F.row_number().over(Window.partitionBy("run").orderBy("from_s")) - 1
    return until_next(starts, runs, "run").select("run", number.alias("stretch"), "from_s", "to_s")


def until_next(starts: DataFrame, runs: DataFrame, *keys: str) -> DataFrame:
    """Add ``to_s``: the next ``from_s`` of the same keys, or the end of the run.

    The keys include the run. Duplicate times, and times at or after the end of the run, are ignored.
    """
    ends = F.broadcast(runs.select("run", (F.col("duration_ns") / NS).alias("end_s")))
    inside = starts.distinct().join(ends, "run").where("from_s < end_s")
    order = Window.partitionBy(*keys).orderBy("from_s")
    following = F.coalesce(F.lead("from_s").over(order), F.col("end_s"))
    return inside.select(*keys, "from_s", following.alias("to_s"))


TOLERANCE = 0.1
"""Largest relative deviation from the final level in a stable run."""

BEFORE_S, AFTER_S = 60.0, 120.0
"""Time before a disturbance that gives the level, and time after it in which the peak is searched."""

FACTOR = 1.5
"""Multiple of the level before a disturbance above which a peak is a spike."""


def stabilisation(series: DataFrame, stretches: DataFrame, value: str) -> DataFrame:
    """The time from which a value stays near its final level, for each undisturbed stretch of a run.

    ``series`` has run, topology, t_s and ``value`` by bin; ``stretches`` is a result of
    `stretches`. The final level of a stretch is the median of ``value`` over the
    bins that start in its last third. The run is stable from the first bin on after which no bin of the
    stretch differs from that level by more than `TOLERANCE` of it.

    Columns: run, topology, stretch, from_s, to_s, level (null without a bin in the last third), stable_s
    (null without a level, or if not even the last bin is near it).
    """
    rows = series.select("run", "topology", "t_s", F.col(value).alias("value")).where("value is not null")
    inside = rows.join(F.broadcast(stretches), "run").where("t_s >= from_s and t_s < to_s")
    keys = ["run", "topology", "stretch", "from_s", "to_s"]
    late = F.col("t_s") >= F.col("to_s") - (F.col("to_s") - F.col("from_s")) / 3
    levels = inside.groupBy(*keys).agg(F.median(F.when(late, F.col("value"))).alias("level"))
    far = F.abs(F.col("value") - F.col("level")) > F.lit(TOLERANCE) * F.abs("level")
    compared = inside.join(levels, keys)
    last_far = compared.groupBy(*keys).agg(F.max(F.when(far, F.col("t_s"))).alias("last_far_s"))
    never_far, after_far = F.col("last_far_s").isNull(), F.col("t_s") > F.col("last_far_s")
    settled = F.col("level").isNotNull() & (never_far | after_far)
    joined = compared.join(last_far, keys)
    return joined.groupBy(*keys, "level").agg(F.min(F.when(settled, F.col("t_s"))).alias("stable_s"))


def spikes(series: DataFrame, disturbances: DataFrame, value: str, bin_s: float) -> DataFrame:
    """The highest value after each disturbance, compared with the level before it.

    ``series`` has run, topology, t_s and ``value`` by bin of ``bin_s``; bins without a value may be absent.
    ``disturbances`` is a result of `events`. The level before is the mean over the
    bins within `BEFORE_S` before the event. The peak is the highest bin from the one that contains the event
    to the last one that starts within `AFTER_S` after it; of equal bins, the first. It is a spike if it
    exceeds `FACTOR` times the level.

    Columns: run, topology, event, time_s (of the event), before, peak, peak_s (start of the peak's bin),
    ratio, is_spike. Events without a bin after them are absent; ``before``, ``ratio`` and ``is_spike`` are
    null without a bin before them.
    """
    rows = series.select("run", "topology", "t_s", F.col(value).alias("value")).where("value is not null")
    ended = rows.withColumn("end_s", F.col("t_s") + F.lit(bin_s))
    paired = ended.join(F.broadcast(disturbances.select("run", "event", "time_s")), "run")
    # Rounded, so that the order of addition does not affect the result.
    before = (F.col("end_s") <= F.col("time_s")) & (F.col("t_s") >= F.col("time_s") - BEFORE_S)
    late = (F.col("end_s") > F.col("time_s")) & (F.col("t_s") <= F.col("time_s") + AFTER_S)
    peak = F.max(F.when(late, F.struct(F.col("value"), (-F.col("t_s")).alias("minus_t")))).alias("peak")
    level = F.round(F.mean(F.when(before, F.col("value"))), 9).alias("before")
    found = paired.groupBy("run", "topology", "event", "time_s").agg(level, peak)
    ratio = F.try_divide(F.col("peak.value"), F.col("before"))
    return found.where("peak is not null").select(
        "run", "topology", "event", "time_s", "before",
        F.col("peak.value").alias("peak"), (-F.col("peak.minus_t")).alias("peak_s"),
        ratio.alias("ratio"), (ratio > FACTOR).alias("is_spike"),
    )  # fmt: skip


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
    """Seconds with throughput at least ``level`` per cent below the smooth mean (N-Storm, section V).

    Counts the bins from the start of the smooth stretch to the end of the run; levels are cumulative.
    Columns: run, topology, level, smooth_per_s, degraded_s. Runs without a smooth mean above 0 are absent.
    """
    steps = F.explode(F.array(*(F.lit(level) for level in LEVELS))).alias("level")
    compared = seconds.join(F.broadcast(smooth.where("smooth_per_s > 0")), ["run", "topology"])
    rows = compared.where(F.col("t_s") >= F.col("smooth_from_s")).select("*", steps)
    # With the margin, a second exactly at a level counts, however the mean was rounded.
    limit = F.col("smooth_per_s") * (1 - F.col("level") / 100) * (1 + 1e-9)
    below = F.when(F.col("acked_per_s") <= limit, integer_ns("width_s")).otherwise(0)
    keys = ("run", "topology", "level", "smooth_per_s")
    return rows.groupBy(*keys).agg((F.sum(below) / NS).alias("degraded_s"))
