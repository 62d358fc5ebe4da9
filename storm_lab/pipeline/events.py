"""The disturbances of a run, from the control table, and the undisturbed stretches between them.

A disturbance is one of three kinds:

* ``re-assignment``: Nimbus writes an assignment that moves an executor of a topology that had one before;
* ``rebalance``: the command is given, which deactivates the spouts; the assignment that follows is part of it
  and is not counted again;
* ``fault``: the fault plan acts (a failure or its end).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS


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
