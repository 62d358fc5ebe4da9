"""Mean and exact percentiles of integer measurements, the same to the last bit however the rows are
partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

PERCENTILES: Mapping[str, float] = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

_MS = 1e6


def summarised(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """Statistics of nanosecond columns by group.

    ``measures`` maps a name to a column of integer nanoseconds, none of them null. Columns of the result: the
    keys, ``tuples`` (rows of the group), and for each measure ``<name>_mean_ms``, ``<name>_p50_ms``,
    ``_p95_ms`` and ``_p99_ms``. Sums are integers, so that their order does not matter.
    """
    aggregates = [F.count("*").alias("tuples")]
    for name, column in measures.items():
        aggregates.append((F.sum(column) / F.count("*") / _MS).alias(f"{name}_mean_ms"))
        shares = F.array(*(F.lit(share) for share in PERCENTILES.values()))
        aggregates.append(F.percentile(column, shares).alias(f"{name}_percentiles"))
    grouped = rows.groupBy(*keys).agg(*aggregates)
    chosen = [F.col(key) for key in keys] + [F.col("tuples")]
    for name in measures:
        chosen.append(F.col(f"{name}_mean_ms"))
        for place, label in enumerate(PERCENTILES):
            chosen.append((F.col(f"{name}_percentiles")[place] / _MS).alias(f"{name}_{label}_ms"))
    return grouped.select(*chosen)
