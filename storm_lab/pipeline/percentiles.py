"""Mean and exact percentiles of integers, the same to the last bit however the rows are partitioned.

Sums are sums of integers, and percentiles are exact. Spark's ``percentile_approx`` would depend on the
partitions, and its exact ``percentile`` holds every distinct value of a group in a map and serialises it.
Here the values of a group are gathered in an array and sorted, and a percentile is the entry at its rank;
wider groups merge the sorted arrays of narrower ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

PERCENTILES: Mapping[str, float] = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

_MS = 1e6


def summarised(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """Compute statistics of nanosecond columns by group.

    ``measures`` maps a name to a column of integer nanoseconds without nulls. Columns of the result: the
    keys, ``tuples`` (rows of the group), and for each measure ``<name>_mean_ms``, ``<name>_p50_ms``,
    ``_p95_ms`` and ``_p99_ms``. A percentile has rank p * (n - 1), with linear interpolation between the two
    values next to it.
    """
    return summarised_values(gathered(rows, keys, measures), keys, measures)


def gathered(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """Gather the values of every group, in ascending order.

    Columns: the keys, ``size`` (rows), and for measure k (in their order) ``total_k`` and ``values_k``.
    """
    columns = [F.count("*").alias("size")]
    for number, column in enumerate(measures.values()):
        columns.append(F.sum(column).alias(f"total_{number}"))
        columns.append(F.sort_array(F.collect_list(column)).alias(f"values_{number}"))
    return rows.groupBy(*keys).agg(*columns)


def merged(values: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """Merge the result of `gathered` for narrow groups into that for wider ones."""
    columns = [F.sum("size").alias("size")]
    for number in range(len(measures)):
        columns.append(F.sum(f"total_{number}").alias(f"total_{number}"))
        parts = F.flatten(F.collect_list(f"values_{number}"))
        columns.append(F.sort_array(parts).alias(f"values_{number}"))
    return values.groupBy(*keys).agg(*columns)


def summarised_values(values: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """Compute the result of `summarised` from that of `gathered` or `merged`."""
    places = {}
    for number, name in enumerate(measures):
        places[f"{name}_total"] = F.col(f"total_{number}")
        for label, share in PERCENTILES.items():
            low, high = (F.get(f"values_{number}", rank.cast("int")) for rank in ranks(share))
            places[f"{name}_{label}"] = between(low, high, share)
    return in_ms(values.withColumns(places), keys, measures)


def in_ms(grouped: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """Return keys, number of tuples, means and percentiles of grouped nanoseconds, in milliseconds."""
    chosen = [F.col(key) for key in keys] + [F.col("size").alias("tuples")]
    for name in measures:
        chosen.append((F.col(f"{name}_total") / F.col("size") / _MS).alias(f"{name}_mean_ms"))
        chosen.extend((F.col(f"{name}_{label}") / _MS).alias(f"{name}_{label}_ms") for label in PERCENTILES)
    return grouped.select(*chosen)


def _position(share: float) -> Column:
    return (F.col("size") - 1) * F.lit(share)


def ranks(share: float) -> tuple[Column, Column]:
    """Return the two ranks, from 0, between which a percentile is interpolated."""
    return F.floor(_position(share)), F.ceil(_position(share))


def between(
    low: Column, high: Column, share: float, of_group: Callable[[Column], Column] = lambda column: column
) -> Column:
    """Interpolate a percentile between the values at its two ranks.

    This module and `cells` both use it, so that they round to the same bits.
    """
    part = of_group(_position(share) - F.floor(_position(share)))
    return low + part * (high - low)


def contains_rank(rank: Column, first: str, count: str) -> Column:
    """Return whether a rank is among the ``count`` entries from position ``first`` on."""
    return (F.col(first) <= rank) & (rank < F.col(first) + F.col(count))
