"""The tuple logs of many runs as Spark tables.

One fact table a kind, and one row a run with what the manifests say.

Fact tables have the columns of the log (times in integer nanoseconds, so that bins are exact); `run` is a
number there. Metrics group by it and get the run's name, experiment, variant and seed at the end, by
`Logs.labelled`: a short key is what a shuffle of millions of rows should carry.
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

RUNS = T.StructType(
    [
        T.StructField("run", T.LongType(), False),
        T.StructField("name", T.StringType(), False),
        T.StructField("experiment", T.StringType(), False),
        T.StructField("variant", T.StringType(), False),
        T.StructField("seed", T.LongType(), False),
        T.StructField("duration_ns", T.LongType(), False),
        T.StructField("warm_up_ns", T.LongType(), False),
        T.StructField("sample_every", T.LongType(), False),
        T.StructField("first_scope", T.IntegerType(), False),
        T.StructField("topologies", T.ArrayType(T.StringType(), False), False),
    ]
)
"""One row a run: ``run`` as in the tables, ``name`` as in the manifest, the topologies that had an executor
in it in the order of their scopes, which follow one another; the rest from the manifest.
"""

SCOPES = T.StructType(
    [
        T.StructField("run", T.LongType(), False),
        T.StructField("topology", T.StringType(), False),
        T.StructField("scope", T.IntegerType(), False),
        T.StructField("duration_ns", T.LongType(), False),
        T.StructField("warm_up_ns", T.LongType(), False),
    ]
)
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
    Raises `ValueError` for a run with root tuples and without an executor.
    """

    def __init__(self, spark: SparkSession, sources: Sequence[Run]) -> None:
        self.spark = spark
        self.sources = tuple(sources)
        self.is_small = max(all_rows([run]) for run in self.sources) <= SMALL_ROWS
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
        """A table of all runs, one below the other; columns as in the log.

        Raises:
            KeyError: there is no such table.
        """
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


def all_rows(runs: Sequence[Run]) -> int:
    """Rows of all tables of some runs, as the manifests say."""
    return sum(table.rows for run in runs for table in run.manifest.tables.values())


def read_logs(spark: SparkSession, runs: Sequence[Run]) -> Logs:
    """The logs of runs that `storm_lab.tuplelog.open_run` has checked.

    Raises:
        ValueError: there are none.
    """
    if not runs:
        raise ValueError("no run to read")
    return Logs(spark, runs)
