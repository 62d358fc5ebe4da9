"""Compute exact percentiles in two passes over the rows, in memory that does not grow with them.

The first pass counts the rows in narrow cells of the value and so finds, for each percentile, the cells that
contain its two ranks. The second pass ranks only the values of those cells, a few per cent of the rows. Both
run in generated code on numbers only: names of runs and topologies are added at the end. The cell, group and
measure of a row form one 64-bit key, so that the cell is found by a single hash lookup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import sums
from storm_lab.pipeline.percentiles import PERCENTILES, between, contains_rank, in_ms, ranks
from storm_lab.pipeline.tables import add_run_and_topology, add_scope

_CELLS = 16
"""Value v belongs to cell 16 * v ** (1/4): 0.8 % wide at 1 ms, 0.25 % at 100 ms, eight thousand up to a
minute. Square roots are cheap and exactly rounded, so the same everywhere; logarithms are neither.
"""

_CELL_BITS, _MEMBER_BITS, _MEASURE_BITS, _LEVEL_BITS = 20, 24, 2, 2
"""Widths of the parts of a key, from the right; the scope takes the remaining fifteen bits. They are wide
enough for the cell of any 64-bit value and for a bin of one second in half a year.
"""


def summarised_by_level(
    rows: DataFrame,
    runs: DataFrame,
    scopes: DataFrame,
    levels: Mapping[str, Column],
    measures: Mapping[str, str],
) -> DataFrame:
    """Compute statistics of nanosecond columns for several groupings of the same rows at once.

    Groupings are bins of two widths, for example.

    ``runs`` and ``scopes`` are described in `storm_lab.pipeline.tables.Logs`. ``levels`` gives for each
    grouping the number, from 0, of the group that a row belongs to, or null for none; there are at most four
    groupings. ``measures`` is as in `percentiles.summarised`, with at most four entries. Columns of the
    result: run, topology, ``level`` (position in ``levels``), ``member`` (the group's number), and the
    statistics that `percentiles.summarised` gives.
    """
    values = list(measures.values())
    numbers = range(len(values))
    cells = [_cell(column).alias(f"cell_{number}") for number, column in enumerate(values)]
    placed = add_scope(rows.withColumns(dict(levels)), runs).select("scope", *levels, *values, *cells)
    joint = placed.groupBy("scope", *levels, *(f"cell_{number}" for number in numbers)).agg(
        F.count("*").alias("inside"),
        *(F.sum(column).alias(f"sum_{number}") for number, column in enumerate(values)),
    )
    pairs = [(level, number) for level in range(len(levels)) for number in numbers]
    found = placed
    wanted = _wanted(joint, list(levels), len(measures))
    for level, number in pairs:
        member, cell = F.col(list(levels)[level]), F.col(f"cell_{number}")
        key = _packed(F.lit(level), F.lit(number), member, cell)
        renamed = [F.col(name).alias(f"{name}_{level}_{number}") for name in _CELL_COLUMNS]
        found = found.join(
            F.broadcast(wanted.select(*renamed)), key == F.col(f"key_{level}_{number}"), "left"
        )
    near = " or ".join(f"key_{level}_{number} is not null" for level, number in pairs)
    each = ", ".join(
        f"{values[number]}, " + ", ".join(f"{name}_{level}_{number}" for name in _CELL_COLUMNS)
        for level, number in pairs
    )
    equal = (
        found.where(near)
        .selectExpr(f"stack({len(pairs)}, {each}) as (value, {', '.join(_CELL_COLUMNS)})")
        .where("key is not null")
        # Equal values are common: many tuples take the same path at the same cost.
        .groupBy("key", "before", "value")
        .agg(F.count("*").alias("equal"), F.max("size").alias("size"), F.max("total").alias("total"))
    )
    order = Window.partitionBy("key").orderBy("value").rowsBetween(Window.unboundedPreceding, -1)
    rank = F.col("before") + F.coalesce(F.sum("equal").over(order), F.lit(0))
    return add_run_and_topology(
        in_ms(_percentiles(equal.withColumn("rank", rank), measures), _GROUP, measures), scopes
    )


_CELL_COLUMNS = ("key", "before", "size", "total")
"""Columns of a wanted cell: its key, the number of values in cells before it, and the number and sum of all
values of its group.
"""

_GROUP = ("scope", "level", "member")


def _wanted(joint: DataFrame, levels: Sequence[str], measures: int) -> DataFrame:
    """Return the cells that contain a wanted rank (`_CELL_COLUMNS`), for all levels and measures."""
    parts = [
        f"{level}, {column}, {number}, cell_{number}, sum_{number}"
        for level, column in enumerate(levels)
        for number in range(measures)
    ]
    each = joint.selectExpr(
        "scope", "inside", f"stack({len(parts)}, {', '.join(parts)}) as (level, member, measure, cell, sum)"
    ).where("member is not null")
    counted = each.groupBy("scope", "level", "member", "measure", "cell").agg(*sums("inside", "sum"))
    whole = Window.partitionBy("scope", "level", "member", "measure")
    ordered = whole.orderBy("cell").rowsBetween(Window.unboundedPreceding, -1)
    placed = counted.select(
        _packed(F.col("level"), F.col("measure"), F.col("member"), F.col("cell")).alias("key"),
        "inside",
        F.coalesce(F.sum("inside").over(ordered), F.lit(0)).alias("before"),
        F.sum("inside").over(whole).alias("size"), F.sum("sum").over(whole).alias("total"),
    )  # fmt: skip
    is_wanted = F.lit(False)
    for share in PERCENTILES.values():
        for rank in ranks(share):
            is_wanted = is_wanted | contains_rank(rank, "before", "inside")
    return placed.where(is_wanted).select(*_CELL_COLUMNS)


def _percentiles(ranked: DataFrame, measures: Mapping[str, str]) -> DataFrame:
    """Return percentiles and sums by scope, level and member from the ranked values of the wanted cells."""
    columns = []
    for number, name in enumerate(measures):
        own = F.col("measure") == number
        columns.append(F.max(F.when(own, F.col("total"))).alias(f"{name}_total"))
        for label, share in PERCENTILES.items():
            low, high = (
                F.max(F.when(own & contains_rank(rank, "rank", "equal"), F.col("value")))
                for rank in ranks(share)
            )
            columns.append(between(low, high, share, F.max).alias(f"{name}_{label}"))
    parts = {}
    rest = F.shiftright("key", _CELL_BITS)
    for name, bits in (("member", _MEMBER_BITS), ("measure", _MEASURE_BITS), ("level", _LEVEL_BITS)):
        parts[name] = rest.bitwiseAND(F.lit((1 << bits) - 1))
        rest = F.shiftright(rest, bits)
    split = ranked.withColumns({**parts, "scope": rest})
    return split.groupBy(*_GROUP).agg(F.max("size").alias("size"), *columns)


def _packed(level: Column, measure: Column, member: Column, cell: Column) -> Column:
    """Pack level, measure, group and cell into one number; null if the row belongs to no group."""
    key = F.col("scope").cast("long")
    for part, bits in (
        (level, _LEVEL_BITS), (measure, _MEASURE_BITS), (member, _MEMBER_BITS), (cell, _CELL_BITS)
    ):  # fmt: skip
        key = F.shiftleft(key, bits).bitwiseOR(part.cast("long"))
    return key


def _cell(column: str) -> Column:
    value = F.greatest(F.col(column), F.lit(0)).cast("double")
    return F.floor(F.sqrt(F.sqrt(value)) * _CELLS).cast("int")
