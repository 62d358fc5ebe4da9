"""The tuple logs of many runs as Spark tables: a fact table per kind, and a row per run from the manifests.

Fact tables have the columns of the log, with times in integer nanoseconds so that bins are exact. ``run`` is
a number in them: metrics group by it, and `Logs.labelled` adds the run's name, experiment, variant and seed
at the end, because a shuffle of millions of rows should carry a short key. A *scope*, a topology of a run,
has a number for the same reason: grouping by run and name costs twice as much as grouping by that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from storm_lab.tuplelog.reader import Run
from storm_lab.tuplelog.schema import TABLES

_LONG, _INTEGER, _TEXT = pa.int64(), pa.int32(), pa.string()


def _columns(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


RUNS = _columns(
    run=_LONG, name=_TEXT, experiment=_TEXT, variant=_TEXT, seed=_LONG, duration_ns=_LONG, warm_up_ns=_LONG,
    sample_every=_LONG, first_scope=_INTEGER, topologies=pa.list_(pa.field("item", _TEXT, nullable=False)),
)  # fmt: skip
"""A row per run from its manifest, with the topologies that had an executor, in the order of their scopes."""

SCOPES = _columns(run=_LONG, topology=_TEXT, scope=_INTEGER, duration_ns=_LONG, warm_up_ns=_LONG)
"""A row per run and topology that had an executor in it: its number, and the run's length and warm-up."""

SMALL_ROWS = 5_000_000
"""Rows of one run up to which it is small. If all runs are, each table is read as one partition, without a
shuffle; the queries run in parallel anyway.
"""


class Logs:
    """The logs of a set of runs, read lazily except for the names of their topologies.

    ``runs`` has the columns of `RUNS`; ``scopes``, over which time series are filled up, those of `SCOPES`.
    Raises `ValueError` if there is no run, or if a run has root tuples but no executor.
    """

    def __init__(self, spark: SparkSession, sources: Sequence[Run]) -> None:
        self.spark = spark
        self.sources = tuple(sources)
        self.is_small = max(run.rows for run in self.sources) <= SMALL_ROWS
        facts, scopes = list[dict[str, Any]](), list[dict[str, Any]]()
        for run in sorted(self.sources, key=lambda run: run.manifest.identity.run_key):
            manifest, identity = run.manifest, run.manifest.identity
            # Python reads each run's few rows before Spark could plan a job.
            topologies = sorted(run.names("placements", "topology"))
            if manifest.tables["roots"].rows and not topologies:
                raise ValueError(f"run {run.run}: root tuples, but no executor was ever placed")
            common = {"run": identity.run_key}
            common |= {name: getattr(manifest, name) for name in ("duration_ns", "warm_up_ns")}
            named = {
                name: getattr(identity, name) for name in ("experiment", "variant", "seed", "sample_every")
            }
            places = {"first_scope": len(scopes), "topologies": topologies}
            facts.append({"name": run.run, **common, **named, **places})
            scopes += [
                {"topology": topology, "scope": number, **common}
                for number, topology in enumerate(topologies, len(scopes))
            ]
        # Frames from Arrow tables are part of the plan; with Python rows every use of them would be a job.
        self.runs = spark.createDataFrame(pa.Table.from_pylist(facts, schema=RUNS))
        self.scopes = spark.createDataFrame(pa.Table.from_pylist(scopes, schema=SCOPES))

    def table(self, name: str) -> DataFrame:
        """Return a table of all runs, with the log's columns. Raises `KeyError` for an unknown table."""
        paths = [str(run.path(name).resolve()) for run in self.sources]
        frame = self.spark.read.schema(from_arrow_schema(TABLES[name])).parquet(*paths)
        return frame.coalesce(1) if self.is_small else frame

    def labelled(self, metric: DataFrame) -> DataFrame:
        """Replace the number ``run`` of a metric by experiment, variant, seed and the run's name."""
        facts = self.runs.select("run", "name", "experiment", "variant", "seed")
        others: list[Column] = [F.col(name) for name in metric.columns if name != "run"]
        return metric.join(F.broadcast(facts), "run").select(
            "experiment", "variant", "seed", F.col("name").alias("run"), *others
        )


def add_scope(rows: DataFrame, runs: DataFrame) -> DataFrame:
    """Add an integer ``scope`` to the rows, the same for all rows of a run and topology.

    ``runs`` is described in `Logs`. A row of a topology that had no executor in its run makes the query fail,
    because such a log contradicts itself.
    """
    facts = runs.select("run", "first_scope", "topologies")
    place = F.array_position("topologies", F.col("topology")).cast("int")
    message = F.concat(F.lit("tuples of a topology without a placement: "), F.col("topology"))
    scope = F.when(place > 0, F.col("first_scope") + place - 1).otherwise(F.raise_error(message))
    return rows.join(F.broadcast(facts), "run").select(*rows.columns, scope.cast("int").alias("scope"))


def add_run_and_topology(rows: DataFrame, scopes: DataFrame) -> DataFrame:
    """Replace the number ``scope`` by run and topology, as first columns; for ``scopes`` see `Logs`."""
    others = [name for name in rows.columns if name != "scope"]
    names = F.broadcast(scopes.select("scope", "run", "topology"))
    return rows.join(names, "scope").select("run", "topology", *others)
