"""Bins of event time. Bin k of width w covers [k*w, (k+1)*w); the last one ends with the run.

Bins are computed in integer nanoseconds, so a tuple that completes at exactly 60 s always belongs to the
second minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NS = 1_000_000_000


def width_ns(bin_s: float) -> int:
    """Return the width of a bin in nanoseconds. Raises `ValueError` if it is not above zero."""
    width = round(bin_s * NS)
    if width <= 0:
        raise ValueError(f"bin_s = {bin_s}: must be above 0")
    return width


def bin_ns(time: str | Column, bin_s: float) -> Column:
    """Start of the bin that a time in nanoseconds falls into."""
    column = F.col(time) if isinstance(time, str) else time
    return column - column % F.lit(width_ns(bin_s))


def bin_number(time: str, bin_s: float) -> Column:
    """Number, from 0, of the bin that a time in nanoseconds falls into."""
    return F.expr(f"{time} div {width_ns(bin_s)}L")


def fill_bins(counted: DataFrame, scopes: DataFrame, bin_s: float, counts: Sequence[str]) -> DataFrame:
    """Extend counts to every bin from 0 to the end of the run, with 0 where there is none.

    ``scopes`` is described in `storm_lab.pipeline.tables.Logs` and may have further columns. ``counted`` has
    those, run, topology, ``bin_ns`` and the counts. Columns: run, topology, the further columns of
    ``scopes``, ``t_s`` (start of the bin), ``width_s``, then the counts.
    """
    width = F.lit(width_ns(bin_s)).cast("long")
    starts = F.sequence(F.lit(0).cast("long"), F.col("duration_ns") - 1, width)
    bins = scopes.where("duration_ns > 0").withColumn("bin_ns", F.explode(starts))
    keys = [name for name in scopes.columns if name not in ("scope", "duration_ns", "warm_up_ns")]
    complete = bins.join(counted, [*keys, "bin_ns"], "left").fillna(0, subset=list(counts))
    length = F.least(width, F.col("duration_ns") - F.col("bin_ns"))
    start_s, length_s = (F.col("bin_ns") / NS).alias("t_s"), (length / NS).alias("width_s")
    return complete.select(*keys, start_s, length_s, *counts)


def in_seconds(binned: DataFrame) -> DataFrame:
    """Replace ``bin_ns`` by ``t_s``, the same in seconds."""
    return binned.withColumn("bin_ns", F.col("bin_ns") / NS).withColumnRenamed("bin_ns", "t_s")


def integer_ns(seconds: str) -> Column:
    """Convert seconds to integer nanoseconds, whose sum does not depend on the order of addition."""
    return F.round(F.col(seconds) * NS).cast("long")


def overlapped_bins(windows: DataFrame, bin_s: float) -> DataFrame:
    """Return each bin that a non-empty window [start_ns, end_ns) overlaps: ``bin_ns``, ``overlap_ns``."""
    width = F.lit(width_ns(bin_s)).cast("long")
    bins = F.sequence(bin_ns("start_ns", bin_s), bin_ns(F.col("end_ns") - 1, bin_s), width)
    overlap = F.least("end_ns", F.col("bin_ns") + width) - F.greatest("start_ns", "bin_ns")
    return (
        windows.where("end_ns > start_ns")
        .withColumn("bin_ns", F.explode(bins))
        .withColumn("overlap_ns", overlap)
    )


def spread(windows: DataFrame, bin_s: float, amounts: Sequence[str]) -> DataFrame:
    """Distribute amounts of windows [start_ns, end_ns) over the bins that they overlap, by length of overlap.

    A window inside one bin contributes to it alone, so the result is exact where bins are multiples of the
    windows. The result has ``bin_ns`` instead of the two ends; the amounts become doubles. Empty windows are
    dropped.
    """
    share = F.col("overlap_ns") / (F.col("end_ns") - F.col("start_ns"))
    dealt = overlapped_bins(windows, bin_s).withColumns({name: F.col(name) * share for name in amounts})
    return dealt.drop("start_ns", "end_ns", "overlap_ns")


def sums(*amounts: str) -> list[Column]:
    """Return sums of integer columns, each under the name of its column."""
    return [F.sum(name).alias(name) for name in amounts]


def stable_sum(amount: str | Column) -> Column:
    """Sum doubles and round the result, so that the order of addition does not affect it."""
    return F.round(F.sum(amount), 6)
