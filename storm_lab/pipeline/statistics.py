"""Mean and exact percentiles of integer measurements, the same to the last bit however the rows are
partitioned.

Sums are sums of integers, and percentiles are exact: Spark's ``percentile_approx`` would depend on the
partitions, and its exact ``percentile`` holds every distinct value of a group in a map and serialises it.
Here there are two ways. Where the groups fit into memory, the values of a group are gathered in an array and
sorted, and a percentile is the entry at its rank; wider groups merge the sorted arrays of narrower ones.
Where they may not fit, the first pass counts the rows in narrow cells, in generated code and in memory that
does not grow with the rows, and so finds for each percentile the cell in which it lies; the second pass ranks
the values of those cells alone, a few per cent of the rows. Both give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERCENTILES: Mapping[str, float] = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

_CELLS = 16
"""Value v lies in cell 16 * v ** (1/4): 0.8 % wide at 1 ms, 0.25 % at 100 ms, eight thousand up to a minute.
Roots are cheap, exactly rounded and so the same everywhere; a logarithm is neither.
"""

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
    if two_passes:
        return _two_passes(rows, keys, measures)
    return summarised_values(gathered(rows, keys, measures), keys, measures)


def gathered(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """The values of every group, in ascending order. Columns: the keys, ``size`` (rows), and for measure k
    (in their order) ``total_k`` and ``values_k``.
    """
    columns = [F.count("*").alias("size")]
    for number, column in enumerate(measures.values()):
        columns.append(F.sum(column).alias(f"total_{number}"))
        columns.append(F.sort_array(F.collect_list(column)).alias(f"values_{number}"))
    return rows.groupBy(*keys).agg(*columns)


def merged(values: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """The result of `gathered` for wider groups, from that for narrower ones."""
    columns = [F.sum("size").alias("size")]
    for number in range(len(measures)):
        columns.append(F.sum(f"total_{number}").alias(f"total_{number}"))
        parts = F.flatten(F.collect_list(f"values_{number}"))
        columns.append(F.sort_array(parts).alias(f"values_{number}"))
    return values.groupBy(*keys).agg(*columns)


def summarised_values(values: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """What `summarised` gives, from the result of `gathered` or `merged`."""
    places = {}
    for number, name in enumerate(measures):
        places[f"{name}_total"] = F.col(f"total_{number}")
        for label, share in PERCENTILES.items():
            low, high = (F.get(f"values_{number}", rank.cast("int")) for rank in _ranks(share))
            places[f"{name}_{label}"] = _between(low, high, share)
    return _in_ms(values.withColumns(places), keys, measures)


def _in_ms(grouped: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    chosen = [F.col(key) for key in keys] + [F.col("size").alias("tuples")]
    for name in measures:
        chosen.append((F.col(f"{name}_total") / F.col("size") / _MS).alias(f"{name}_mean_ms"))
        chosen.extend((F.col(f"{name}_{label}") / _MS).alias(f"{name}_{label}_ms") for label in PERCENTILES)
    return grouped.select(*chosen)


def cells(rows: DataFrame, groups: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """The first pass: how many rows of a group lie in which cells of the measures.

    By all measures' cells together, for these hang together and the rows need not be multiplied. Columns: the
    groups, and for measure k (in their order) ``cell_k`` and ``sum_k``, and ``inside`` (rows).
    """
    numbered = [_cell(column).alias(f"cell_{number}") for number, column in enumerate(measures.values())]
    sums = [F.sum(column).alias(f"sum_{number}") for number, column in enumerate(measures.values())]
    return rows.groupBy(*groups, *numbered).agg(F.count("*").alias("inside"), *sums)


def summarised_by_level(
    rows: DataFrame,
    joint: DataFrame,
    scope: Sequence[str],
    levels: Sequence[str],
    measures: Mapping[str, str],
) -> DataFrame:
    """The second pass, for several groupings of the same rows at once: bins of two widths, say.

    ``levels`` are columns of ``rows``, all of one type; a row belongs to the group of that name, and to none
    of that level where it is null. ``joint`` is the result of `cells` for ``scope`` and all levels; who asks
    for more than one level should keep it. Columns of the result: the scope, ``level`` (place in ``levels``),
    ``member`` (value of that column), and what `summarised` gives.
    """
    numbers = range(len(measures))
    found = rows
    chosen = [F.col(name) for name in (*scope, *levels, *measures.values())]
    parts = []
    for level, column in enumerate(levels):
        wanted = _wanted_cells(joint, scope, column, measures, level)
        found = found.join(F.broadcast(wanted), [*scope, column], "left")
        chosen.append(F.col(f"size_{level}"))
        for number, measured in enumerate(measures.values()):
            # The rows before its cell, for a value in a wanted cell; null for all others.
            before = F.try_element_at(f"cells_{level}_{number}", _cell(measured))
            chosen += [F.col(f"total_{level}_{number}"), before.alias(f"before_{level}_{number}")]
            value = f"{measured}, before_{level}_{number}, size_{level}, total_{level}_{number}"
            parts.append(f"{level}, {column}, {number}, {value}")
    near = " or ".join(
        f"before_{level}_{number} is not null" for level in range(len(levels)) for number in numbers
    )
    names = "level, member, measure, value, before, size, total"
    group = [*scope, "level", "member"]
    values = (
        found.select(*chosen)
        .where(near)
        .selectExpr(
            *scope,
            f"stack({len(parts)}, {', '.join(parts)}) as ({names})",
        )
        .where("before is not null")
        # Equal values are common: many tuples take the same way at the same price.
        .groupBy(*group, "measure", "before", "value")
        .agg(F.count("*").alias("equal"), F.max("size").alias("size"), F.max("total").alias("total"))
    )
    cell = Window.partitionBy(*group, "measure", "before").orderBy("value")
    smaller = F.sum("equal").over(cell.rowsBetween(Window.unboundedPreceding, -1))
    ranked = values.withColumn("rank", F.col("before") + F.coalesce(smaller, F.lit(0)))
    columns = []
    for number, name in enumerate(measures):
        own = F.col("measure") == number
        columns.append(F.max(F.when(own, F.col("total"))).alias(f"{name}_total"))
        for label, share in PERCENTILES.items():
            low, high = (
                F.max(F.when(own & _holds(rank, "rank", "equal"), F.col("value"))) for rank in _ranks(share)
            )
            columns.append(_between(low, high, share, F.max).alias(f"{name}_{label}"))
    return _in_ms(ranked.groupBy(*group).agg(F.max("size").alias("size"), *columns), group, measures)


def _two_passes(rows: DataFrame, keys: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    *scope, last = keys
    found = summarised_by_level(rows, cells(rows, keys, measures), scope, [last], measures)
    return found.drop("level").withColumnRenamed("member", last)


def _wanted_cells(
    joint: DataFrame, scope: Sequence[str], column: str, measures: Mapping[str, str], level: int
) -> DataFrame:
    """The cells of one level that a wanted rank lies in, one row a group.

    Columns: the scope, the level's column, ``size_<level>`` (rows of the group), and for measure k
    ``total_<level>_k`` and ``cells_<level>_k``, a map from a cell to the number of values in cells before it.
    """
    numbers = range(len(measures))
    keys = [*scope, column]
    parts = ", ".join(f"{number}, cell_{number}, sum_{number}" for number in numbers)
    each = joint.where(F.col(column).isNotNull()).selectExpr(
        *keys, "inside", f"stack({len(numbers)}, {parts}) as (measure, cell, sum)"
    )
    counted = each.groupBy(*keys, "measure", "cell").agg(
        F.sum("inside").alias("inside"), F.sum("sum").alias("sum")
    )
    whole = Window.partitionBy(*keys, "measure")
    ordered = whole.orderBy("cell").rowsBetween(Window.unboundedPreceding, -1)
    placed = counted.select(
        *keys, "measure", "cell", "inside",
        F.coalesce(F.sum("inside").over(ordered), F.lit(0)).alias("before"),
        F.sum("inside").over(whole).alias("size"), F.sum("sum").over(whole).alias("total"),
    )  # fmt: skip
    wanted = F.lit(False)
    for share in PERCENTILES.values():
        for rank in _ranks(share):
            wanted = wanted | _holds(rank, "before", "inside")
    columns = []
    for number in numbers:
        own = F.col("measure") == number
        pairs = F.collect_list(F.when(own, F.struct("cell", "before")))
        columns.append(F.max(F.when(own, F.col("total"))).alias(f"total_{level}_{number}"))
        columns.append(F.map_from_entries(pairs).alias(f"cells_{level}_{number}"))
    return placed.where(wanted).groupBy(*keys).agg(F.max("size").alias(f"size_{level}"), *columns)


def _cell(column: str) -> Column:
    value = F.greatest(F.col(column), F.lit(0)).cast("double")
    return F.floor(F.sqrt(F.sqrt(value)) * _CELLS).cast("int")


def _position(share: float) -> Column:
    return (F.col("size") - 1) * F.lit(share)


def _ranks(share: float) -> tuple[Column, Column]:
    """The two ranks, from 0, that a percentile lies between."""
    return F.floor(_position(share)), F.ceil(_position(share))


def _between(
    low: Column, high: Column, share: float, of_group: Callable[[Column], Column] = lambda column: column
) -> Column:
    """The percentile between the values at its two ranks. Rounded alike in both ways, to the same bits."""
    part = of_group(_position(share) - F.floor(_position(share)))
    return low + part * (high - low)


def _holds(rank: Column, first: str, count: str) -> Column:
    return (F.col(first) <= rank) & (rank < F.col(first) + F.col(count))
