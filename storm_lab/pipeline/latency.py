"""Complete latency and processing time of root tuples.

**Complete latency**: from the spout's emit of the root tuple to the moment at which the spout's own thread
handles the ack, as the Storm version of the run measures it (the log's ``latency_ns``). It contains the time
for which the spout slept inside ``nextTuple`` while the ack was waiting. Only acked tuples have one; failed
ones are counted elsewhere.

**Processing time** (T-Storm, section V): complete latency minus that sleep (the log's ``sleep_ns``).

A tuple counts in the bin in which it completes, as in Storm's UI. Milliseconds. Percentiles are exact, with
linear interpolation between neighbours: Spark's ``percentile_approx`` would depend on how the rows are
partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns
from storm_lab.pipeline.statistics import (
    cells,
    gathered,
    merged,
    summarised,
    summarised_by_level,
    summarised_values,
)

_MEASURES = {"complete": "latency_ns", "processing": "processing_ns"}


def acked(roots: DataFrame) -> DataFrame:
    """Acked root tuples that have a latency, with ``processing_ns`` added."""
    measured = roots.where((F.col("outcome") == "acked") & F.col("latency_ns").isNotNull())
    return measured.withColumn("processing_ns", F.col("latency_ns") - F.col("sleep_ns"))


def latency(roots: DataFrame, bin_s: float, *, two_passes: bool = False) -> DataFrame:
    """Latency by bin of completion; bins without an acked tuple are absent.

    Columns: run, topology, t_s (start of the bin), tuples, and for complete and processing each
    ``<kind>_mean_ms``, ``_p50_ms``, ``_p95_ms``, ``_p99_ms``. ``two_passes`` bounds the memory (see
    `statistics`).
    """
    rows = acked(roots).withColumn("bin_ns", bin_ns("complete_ns", bin_s))
    result = summarised(rows, ["run", "topology", "bin_ns"], _MEASURES, two_passes=two_passes)
    return _with_time(result)


def steady_latency(roots: DataFrame, runs: DataFrame, *, two_passes: bool = False) -> DataFrame:
    """Latency over all tuples that complete after the run's warm-up: one row a run and topology.

    Columns as `latency`, without t_s.
    """
    rows = after_warm_up(acked(roots), runs, "complete_ns")
    return summarised(rows, ["run", "topology"], _MEASURES, two_passes=two_passes)


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latency in narrow and in wide bins and after the warm-up, in the columns of `latency` and
    `steady_latency`; ``kept`` is what Spark should keep while they are in use.
    """

    narrow: DataFrame
    wide: DataFrame
    steady: DataFrame
    kept: tuple[DataFrame, ...]


def latencies(
    roots: DataFrame, runs: DataFrame, narrow_s: float, wide_s: float, *, two_passes: bool = False
) -> Latencies:
    """`latency` for two widths of bin and `steady_latency`; the tuples are read once for all three, or twice
    with ``two_passes``.
    """
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    warm = F.when(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(0).cast("long"))
    levels = {"narrow": bin_ns("complete_ns", narrow_s), "wide": bin_ns("complete_ns", wide_s), "warm": warm}
    if not two_passes:
        return _gathered(acked(roots).join(limits, "run"), levels)
    rows = acked(roots).join(limits, "run").withColumns(levels)
    scope = ["run", "topology"]
    joint = cells(rows, [*scope, *levels], _MEASURES).cache()
    found = summarised_by_level(rows, joint, scope, list(levels), _MEASURES).cache()
    of_level = [found.where(F.col("level") == level).drop("level") for level in range(len(levels))]
    first, second = (_with_time(frame.withColumnRenamed("member", "bin_ns")) for frame in of_level[:2])
    return Latencies(first, second, of_level[2].drop("member"), (joint, found))


def _gathered(rows: DataFrame, levels: Mapping[str, Column]) -> Latencies:
    scope = ["run", "topology"]
    values = gathered(rows.withColumns(dict(levels)), [*scope, *levels], _MEASURES).cache()
    narrow, wide = (
        _with_time(
            summarised_values(
                merged(values.withColumn("bin_ns", F.col(level)), [*scope, "bin_ns"], _MEASURES),
                [*scope, "bin_ns"],
                _MEASURES,
            )
        )
        for level in ("narrow", "wide")
    )
    narrow = narrow.cache()
    warm = merged(values.where("warm is not null"), scope, _MEASURES)
    return Latencies(narrow, wide, summarised_values(warm, scope, _MEASURES), (values, narrow))


def _with_time(binned: DataFrame) -> DataFrame:
    return binned.withColumn("bin_ns", F.col("bin_ns") / NS).withColumnRenamed("bin_ns", "t_s")


def latency_distribution(roots: DataFrame, runs: DataFrame, per_decade: int = 20) -> DataFrame:
    """Histogram of processing time after the warm-up, in cells of equal width on a logarithmic axis.

    Columns: run, topology, low_ms, high_ms (the cell, low included), tuples. Times below 1 us count in the
    cell that starts there.
    """
    rows = after_warm_up(acked(roots), runs, "complete_ns")
    micros = F.greatest(F.col("processing_ns"), F.lit(1000).cast("long")) / 1000
    cell = F.floor(F.log10(micros) * per_decade + F.lit(1e-9)).cast("int")
    counted = rows.groupBy("run", "topology", cell.alias("cell")).agg(F.count("*").alias("tuples"))
    return counted.select(
        "run", "topology", _edge(F.col("cell"), per_decade).alias("low_ms"),
        _edge(F.col("cell") + 1, per_decade).alias("high_ms"), "tuples",
    )  # fmt: skip


def after_warm_up(rows: DataFrame, runs: DataFrame, time: str) -> DataFrame:
    """The rows whose ``time`` column lies at or after the end of the run's warm-up."""
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    return rows.join(limits, "run").where(F.col(time) >= F.col("warm_up_ns")).drop("warm_up_ns")


def _edge(cell: Column, per_decade: int) -> Column:
    return F.round(F.pow(F.lit(10.0), cell / F.lit(per_decade)) / 1000, 9)
