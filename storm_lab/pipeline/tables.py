"""The tuple logs of many runs as Spark tables: one fact table a kind, one row a run of what manifests say.

Fact tables have the columns of the log (times in integer nanoseconds, so that bins are exact); `run` is a
number there. Metrics group by it and get the run's name, experiment, variant and seed at the end, by
`Logs.labelled`: a short key is what a shuffle of millions of rows should carry. A *scope*, a topology of a
run, has a number for the same reason: a group of a run and a name costs twice what one of that number does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from storm_lab.tuplelog.reader import Run
from storm_lab.tuplelog.schema import TABLES

_KINDS: dict[pa.DataType, T.DataType] = {
    pa.int64(): T.LongType(),
    pa.int32(): T.IntegerType(),
    pa.int16(): T.ShortType(),
    pa.float64(): T.DoubleType(),
    pa.string(): T.StringType(),
}

_LONG, _INTEGER, _TEXT = T.LongType(), T.IntegerType(), T.StringType()


def _columns(**kinds: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind, nullable=False) for name, kind in kinds.items()])


RUNS = _columns(
    run=_LONG, name=_TEXT, experiment=_TEXT, variant=_TEXT, seed=_LONG, duration_ns=_LONG, warm_up_ns=_LONG,
    sample_every=_LONG, first_scope=_INTEGER, topologies=T.ArrayType(_TEXT, containsNull=False),
)  # fmt: skip
"""One row a run: ``run`` as in the tables, ``name`` as in the manifest, the topologies that had an executor
in it in the order of their scopes, which follow one another; the rest from the manifest.
"""

SCOPES = _columns(run=_LONG, topology=_TEXT, scope=_INTEGER, duration_ns=_LONG, warm_up_ns=_LONG)
"""One row for each run and topology that had an executor in it: its number among all, and the run's length
and warm-up.
"""

_ARROW_SCOPES = pa.schema(
    [(field.name, pa.string() if field.dataType == T.StringType() else pa.int64()) for field in SCOPES]
)

SMALL_ROWS = 5_000_000
"""Rows of all tables of one run together up to which runs are small, however many they are: a table of theirs
is read as one partition. No shuffle is needed then, and the queries run beside each other anyway.
"""


def schema_of(table: str) -> T.StructType:
    """Spark's schema of a table of the log, from the log's own. Raises `KeyError` for an unknown table."""
    fields = []
    for field in TABLES[table]:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        fields.append(T.StructField(field.name, _KINDS[kind], field.nullable))
    return T.StructType(fields)


class Logs:
    """The logs of some runs, lazily read but for the names of their topologies.

    ``runs`` has the columns of `RUNS`; ``scopes``, what time series are filled up over, those of `SCOPES`.
    Raises `ValueError` for a run with root tuples and without an executor, or without any run.
    """

    def __init__(self, spark: SparkSession, sources: Sequence[Run]) -> None:
        self.spark = spark
        self.sources = tuple(sources)
        self.is_small = max(run.rows for run in self.sources) <= SMALL_ROWS
        # From Arrow they are part of the plan; from Python rows every use of them would be a job.
        scopes = self._scopes()
        self.runs = spark.createDataFrame(pa.Table.from_pylist(self._facts(scopes)), RUNS)
        self.scopes = spark.createDataFrame(pa.Table.from_pylist(scopes, schema=_ARROW_SCOPES), SCOPES)

    def _scopes(self) -> list[dict[str, Any]]:
        # Here rather than in Spark: each run's few rows are there sooner than a job is planned.
        pairs = [
            (run.manifest, topology)
            for run in sorted(self.sources, key=lambda run: run.manifest.identity.run_key)
            for topology in sorted(run.names("placements", "topology"))
        ]
        return [
            {
                "run": manifest.identity.run_key,
                "topology": topology,
                "scope": number,
                "duration_ns": manifest.duration_ns,
                "warm_up_ns": manifest.warm_up_ns,
            }
            for number, (manifest, topology) in enumerate(pairs)
        ]

    def _facts(self, scopes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        own: dict[int, list[Mapping[str, Any]]] = {}
        for scope in scopes:
            own.setdefault(scope["run"], []).append(scope)
        facts = []
        for run in self.sources:
            manifest, identity = run.manifest, run.manifest.identity
            topologies = own.get(identity.run_key, [])
            if manifest.tables["roots"].rows and not topologies:
                raise ValueError(f"run {run.run}: root tuples, but no executor was ever placed")
            facts.append(
                {
                    "run": identity.run_key,
                    "name": run.run,
                    "experiment": identity.experiment,
                    "variant": identity.variant,
                    "seed": identity.seed,
                    "duration_ns": manifest.duration_ns,
                    "warm_up_ns": manifest.warm_up_ns,
                    "sample_every": identity.sample_every,
                    "first_scope": topologies[0]["scope"] if topologies else 0,
                    "topologies": [scope["topology"] for scope in topologies],
                }
            )
        return facts

    def table(self, name: str) -> DataFrame:
        """A table of all runs, one below the other, columns as in the log; `KeyError` for no such table."""
        paths = [str(run.path(name).resolve()) for run in self.sources]
        frame = self.spark.read.schema(schema_of(name)).parquet(*paths)
        return frame.coalesce(1) if self.is_small else frame

    def most_rows(self, name: str) -> int:
        """Rows of a table in the run that has most of them, as the manifests say."""
        return max(run.manifest.tables[name].rows for run in self.sources)

    def labelled(self, metric: DataFrame) -> DataFrame:
        """A metric with experiment, variant, seed and the run's name instead of the number ``run``."""
        facts = self.runs.select("run", "name", "experiment", "variant", "seed")
        others: list[Column] = [F.col(name) for name in metric.columns if name != "run"]
        return metric.join(F.broadcast(facts), "run").select(
            "experiment", "variant", "seed", F.col("name").alias("run"), *others
        )


def numbered(rows: DataFrame, runs: DataFrame) -> DataFrame:
    """The rows with a whole number ``scope``, the same for all rows of a run and topology.

    ``runs`` as in `Logs`. A row of a topology that had no executor in its run ends
    the query with an error: such a log contradicts itself.
    """
    facts = runs.select("run", "first_scope", "topologies")
    place = F.array_position("topologies", F.col("topology")).cast("int")
    message = F.concat(F.lit("tuples of a topology without a placement: "), F.col("topology"))
    scope = F.when(place > 0, F.col("first_scope") + place - 1).otherwise(F.raise_error(message))
    return rows.join(F.broadcast(facts), "run").select(*rows.columns, scope.cast("int").alias("scope"))


def named(rows: DataFrame, scopes: DataFrame) -> DataFrame:
    """The rows with run and topology in front instead of the number ``scope``, by ``scopes`` as in `Logs`."""
    others = [name for name in rows.columns if name != "scope"]
    names = F.broadcast(scopes.select("scope", "run", "topology"))
    return rows.join(names, "scope").select("run", "topology", *others)
