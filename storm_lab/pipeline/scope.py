"""Numbers for scopes, a scope being a topology of a run: what millions of rows are grouped by.

A group of a run and a name costs twice what a group of one small number does.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def numbered(rows: DataFrame, runs: DataFrame) -> DataFrame:
    """The rows with a whole number ``scope``, the same for all rows of a run and topology.

    ``runs`` as in `storm_lab.pipeline.tables.Logs`. A row of a topology that had no executor in its run ends
    the query with an error: such a log contradicts itself.
    """
    facts = runs.select("run", "first_scope", "topologies")
    place = F.array_position("topologies", F.col("topology")).cast("int")
    message = F.concat(F.lit("tuples of a topology without a placement: "), F.col("topology"))
    scope = F.when(place > 0, F.col("first_scope") + place - 1).otherwise(F.raise_error(message))
    return rows.join(F.broadcast(facts), "run").select(*rows.columns, scope.cast("int").alias("scope"))


def named(rows: DataFrame, scopes: DataFrame) -> DataFrame:
    """The rows with run and topology in front instead of the number ``scope``.

    ``scopes`` as in `storm_lab.pipeline.tables.Logs`.
    """
    others = [name for name in rows.columns if name != "scope"]
    names = F.broadcast(scopes.select("scope", "run", "topology"))
    return rows.join(names, "scope").select("run", "topology", *others)
