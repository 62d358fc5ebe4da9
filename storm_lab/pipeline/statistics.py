"""Mean and exact percentiles of integer measurements, the same to the last bit however the rows are
partitioned.

Sums are sums of integers, and percentiles are exact: Spark's ``percentile_approx`` would depend on the
partitions. Its exact ``percentile`` reads the rows once, but holds every distinct value of a group on the
heap. So there is a second way for logs that do not fit: the first pass counts the rows in narrow logarithmic
cells and so finds, for each percentile, the cell in which it lies; the second pass counts the distinct values
of those cells alone. It takes about twice the time, in memory that does not grow with the rows, and gives the
same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERCENTILES: Mapping[str, float] = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

_CELLS_PER_E = 64
"""Cells for each factor of e: a cell is 1.6 % wide, so the second pass touches a few per cent of the rows."""

_MS = 1e6


def summarised(
    rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str], *, two_passes: bool = False
) -> DataFrame:
    """Statistics of nanosecond columns by group.

    ``measures`` maps a name to a column of integer nanoseconds, none of them null. Columns of the result: the
    keys, ``tuples`` (rows of the group), and for each measure ``<name>_mean_ms``, ``<name>_p50_ms``,
    ``_p95_ms`` and ``_p99_ms``. A percentile lies at rank p * (n - 1), with linear interpolation between the
    two values next to it. ``two_passes`` chooses the way whose memory is bounded.
    """
    grouped = _two_passes(rows, keys, measures) if two_passes else _one_pass(rows, keys, measures)
    chosen = [F.col(key) for key in keys] + [F.col("size").alias("tuples")]
    for name in measures:
        chosen.append((F.col(f"{name}_total") / F.col("size") / _MS).alias(f"{name}_mean_ms"))
        chosen.extend((F.col(f"{name}_{label}") / _MS).alias(f"{name}_{label}_ms") for label in PERCENTILES)
    return grouped.select(*chosen)


def _one_pass(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    shares = F.array(*(F.lit(share) for share in PERCENTILES.values()))
    columns = [F.count("*").alias("size")]
    for name, column in measures.items():
        columns.append(F.sum(column).alias(f"{name}_total"))
        columns.append(F.percentile(column, shares).alias(f"{name}_at"))
    grouped = rows.groupBy(*keys).agg(*columns)
    places = {
        f"{name}_{label}": F.col(f"{name}_at")[place]
        for name in measures
        for place, label in enumerate(PERCENTILES)
    }
    return grouped.withColumns(places)


def _two_passes(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    pairs = ", ".join(f"{number}, {column}" for number, column in enumerate(measures.values()))
    stacked = rows.selectExpr(*keys, f"stack({len(measures)}, {pairs}) as (measure, value)")
    celled = stacked.withColumn("cell", F.floor(F.log(F.greatest("value", F.lit(0)) + 1) * _CELLS_PER_E))
    group = [*keys, "measure"]
    found = _values_at_ranks(celled, _cells_with_ranks(celled, group), group)
    columns = [F.max("size").alias("size")]
    for number, name in enumerate(measures):
        own = F.col("measure") == number
        columns.append(F.max(F.when(own, F.col("total"))).alias(f"{name}_total"))
        columns.extend(F.max(F.when(own, F.col(label))).alias(f"{name}_{label}") for label in PERCENTILES)
    return found.groupBy(*keys).agg(*columns)


def _cells_with_ranks(celled: DataFrame, group: list[str]) -> DataFrame:
    """The cells that a wanted rank lies in, with the rows before them, and size and total of their group."""
    counted = celled.groupBy(*group, "cell").agg(F.count("*").alias("inside"), F.sum("value").alias("sum"))
    whole = Window.partitionBy(*group)
    ordered = whole.orderBy("cell").rowsBetween(Window.unboundedPreceding, -1)
    placed = counted.select(
        *group, "cell", "inside",
        F.coalesce(F.sum("inside").over(ordered), F.lit(0)).alias("before"),
        F.sum("inside").over(whole).alias("size"), F.sum("sum").over(whole).alias("total"),
    )  # fmt: skip
    wanted = F.lit(False)
    for share in PERCENTILES.values():
        for rank in _ranks(share):
            wanted = wanted | _holds(rank, "before", "inside")
    return placed.where(wanted).drop("inside")


def _values_at_ranks(celled: DataFrame, cells: DataFrame, group: list[str]) -> DataFrame:
    """The percentiles of each group, still in nanoseconds, with its ``size`` and ``total``."""
    chosen = celled.join(F.broadcast(cells), [*group, "cell"])
    counted = chosen.groupBy(*group, "cell", "before", "size", "total", "value").agg(
        F.count("*").alias("equal")
    )
    cell = Window.partitionBy(*group, "cell")
    smaller = F.sum("equal").over(cell.orderBy("value").rowsBetween(Window.unboundedPreceding, -1))
    ranked = counted.withColumn("rank", F.col("before") + F.coalesce(smaller, F.lit(0)))
    columns = []
    for label, share in PERCENTILES.items():
        low, high = (F.max(F.when(_holds(rank, "rank", "equal"), F.col("value"))) for rank in _ranks(share))
        part = F.max(_position(share) - F.floor(_position(share)))
        # Rounded as Spark's own percentile is, so that both ways give the same bits.
        columns.append((low + part * (high - low)).alias(label))
    return ranked.groupBy(*group, "size", "total").agg(*columns)


def _position(share: float) -> Column:
    return (F.col("size") - 1) * F.lit(share)


def _ranks(share: float) -> tuple[Column, Column]:
    """The two ranks, from 0, that a percentile lies between."""
    return F.floor(_position(share)), F.ceil(_position(share))


def _holds(rank: Column, first: str, count: str) -> Column:
    return (F.col(first) <= rank) & (rank < F.col(first) + F.col(count))
