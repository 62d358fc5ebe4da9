"""Complete latency and processing time of root tuples.

**Complete latency**: from the spout's emit of the root tuple until the spout's own thread handles the ack, as
the run's Storm version measures it (the log's ``latency_ns``). It includes the time for which the spout slept
inside ``nextTuple`` while the ack was waiting. Only acked tuples have a latency; failed ones are counted in
`outcomes`.

**Processing time** (T-Storm, section V): complete latency minus that sleep (the log's ``sleep_ns``).

A tuple counts in the bin in which it completes, as in Storm's UI. Values are in milliseconds. A percentile
has rank p * (n - 1), with linear interpolation between the two values next to it.

All results are the same to the last bit however the rows are partitioned, as those of Spark's
``percentile_approx`` are not; its exact ``percentile`` is slow. Here the values of a group are gathered in an
array and sorted, and a percentile is the entry at its rank; wider groups merge the arrays of narrower ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns, bin_number, in_seconds, sums, width_ns
from storm_lab.pipeline.tables import add_run_and_topology, add_scope

_KINDS = ("complete", "processing")
_PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

_MS = 1e6


def acked(roots: DataFrame) -> DataFrame:
    """Return the acked root tuples that have a latency, with ``complete`` and ``processing`` added, in ns."""
    measured = roots.where((F.col("outcome") == "acked") & F.col("latency_ns").isNotNull())
    processing = F.col("latency_ns") - F.col("sleep_ns")
    return measured.withColumns({"complete": F.col("latency_ns"), "processing": processing})


def latency(roots: DataFrame, bin_s: float) -> DataFrame:
    """Latency by bin of completion; bins without an acked tuple are absent.

    Columns: run, topology, t_s (start of the bin), tuples, and for both complete and processing
    ``<kind>_mean_ms``, ``_p50_ms``, ``_p95_ms``, ``_p99_ms``.
    """
    rows = acked(roots).withColumn("bin_ns", bin_ns("complete_ns", bin_s))
    keys = ["run", "topology", "bin_ns"]
    return in_seconds(_summarised(_gathered(rows, keys), keys))


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latency in narrow bins, in wide bins and after the warm-up, with the columns of `latency`.

    ``steady`` has no t_s, and one row per run and topology. ``cached`` lists the frames that Spark should
    cache while these are in use.
    """

    narrow: DataFrame
    wide: DataFrame
    steady: DataFrame
    cached: tuple[DataFrame, ...]


def latencies(
    roots: DataFrame, runs: DataFrame, scopes: DataFrame, narrow_s: float, wide_s: float
) -> Latencies:
    """Compute `latency` for two bin widths, and over all tuples that complete after the run's warm-up.

    The tuples are read once for all three. ``runs`` and ``scopes`` are described in
    `storm_lab.pipeline.tables.Logs`. Raises `ValueError` if the wide width is not a multiple of the narrow
    one.
    """
    narrow_bins, rest = divmod(width_ns(wide_s), width_ns(narrow_s))
    if rest:
        raise ValueError(f"bins of {wide_s} s are not made of whole bins of {narrow_s} s")
    rows = acked(roots).join(F.broadcast(runs.select("run", "warm_up_ns")), "run")
    warm = F.when(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(0).cast("long"))
    marked = rows.withColumns({"narrow": bin_number("complete_ns", narrow_s), "warm": warm})
    placed = add_scope(marked, runs).withColumn("place", _packed())
    values = _unpacked(_gathered(placed, ["place"]))
    values = values.withColumn("wide", F.expr(f"narrow div {narrow_bins}")).cache()

    def of(level: str) -> DataFrame:
        keys = ["scope", level]
        own = _merged(values.where(F.col(level).isNotNull()), keys)
        return add_run_and_topology(_summarised(own, keys), scopes)

    narrow = _at_times(of("narrow"), "narrow", narrow_s).cache()
    wide = _at_times(of("wide"), "wide", wide_s)
    return Latencies(narrow, wide, of("warm").drop("warm"), (values, narrow))


def _gathered(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Gather the values of every group, in ascending order.

    Columns: the keys, ``size`` (rows), and for both kinds ``<kind>_total`` and ``<kind>_values``.
    """
    totals = [F.sum(kind).alias(f"{kind}_total") for kind in _KINDS]
    values = [F.sort_array(F.collect_list(kind)).alias(f"{kind}_values") for kind in _KINDS]
    return rows.groupBy(*keys).agg(F.count("*").alias("size"), *totals, *values)


def _merged(values: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Merge the result of `_gathered` for narrow groups into that for wider ones."""
    merged = [
        F.sort_array(F.flatten(F.collect_list(f"{kind}_values"))).alias(f"{kind}_values") for kind in _KINDS
    ]
    return values.groupBy(*keys).agg(*sums("size", *(f"{kind}_total" for kind in _KINDS)), *merged)


def _summarised(values: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Compute statistics from the result of `_gathered` or `_merged`, with the columns of `latency`."""
    columns = [*map(F.col, keys), F.col("size").alias("tuples")]
    for kind in _KINDS:
        columns.append((F.col(f"{kind}_total") / F.col("size") / _MS).alias(f"{kind}_mean_ms"))
        for label, share in _PERCENTILES.items():
            rank = (F.col("size") - 1) * F.lit(share)
            low, high = (F.get(f"{kind}_values", end.cast("int")) for end in (F.floor(rank), F.ceil(rank)))
            value = low + (rank - F.floor(rank)) * (high - low)
            columns.append((value / _MS).alias(f"{kind}_{label}_ms"))
    return values.select(*columns)


def _packed() -> Column:
    """Pack scope and narrow bin, both below 2**31, and whether the row is ``warm`` into one integer.

    Spark sorts the groups: with one integer key it uses a radix sort, with several keys it compares rows.
    """
    warm = F.col("warm").isNotNull().cast("long")
    return F.shiftleft(F.col("scope").cast("long"), 32) + F.col("narrow") * 2 + warm


def _unpacked(rows: DataFrame) -> DataFrame:
    """Replace the column ``place`` by the three values that `_packed` put into it."""
    place = F.col("place")
    columns = {
        "scope": F.shiftright(place, 32).cast("int"),
        "narrow": F.shiftright(place, 1).bitwiseAND(F.lit(2**31 - 1).cast("long")),
        "warm": F.when(place.bitwiseAND(F.lit(1).cast("long")) == 1, F.lit(0).cast("long")),
    }
    return rows.withColumns(columns).drop("place")


def _at_times(binned: DataFrame, number: str, bin_s: float) -> DataFrame:
    """Replace the number of the bin by its start in seconds, ``t_s``."""
    start = F.col(number) * F.lit(width_ns(bin_s)) / NS
    return binned.withColumn(number, start).withColumnRenamed(number, "t_s")


_PER_DECADE = 20
"""Number of histogram cells per factor of ten."""


def latency_distribution(roots: DataFrame, runs: DataFrame) -> DataFrame:
    """Histogram of processing time after the warm-up, in cells of equal width on a logarithmic axis.

    Columns: run, topology, low_ms, high_ms (the cell, low included), tuples. Times below 1 us count in the
    cell that starts at 1 us.
    """
    rows = after_warm_up(acked(roots), runs, "complete_ns")
    micros = F.greatest(F.col("processing"), F.lit(1000).cast("long")) / 1000
    cell = F.floor(F.log10(micros) * _PER_DECADE + F.lit(1e-9)).cast("int")
    counted = rows.groupBy("run", "topology", cell.alias("cell")).agg(F.count("*").alias("tuples"))
    low, high = _edge_ms(F.col("cell")).alias("low_ms"), _edge_ms(F.col("cell") + 1).alias("high_ms")
    return counted.select("run", "topology", low, high, "tuples")


def after_warm_up(rows: DataFrame, runs: DataFrame, time: str) -> DataFrame:
    """Return the rows whose ``time`` column is at or after the end of the run's warm-up."""
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    return rows.join(limits, "run").where(F.col(time) >= F.col("warm_up_ns")).drop("warm_up_ns")


def covered_time(windows: DataFrame) -> DataFrame:
    """Return ``covered_ns``: the time from the start of a run's first window to the end of its last one."""
    covered = windows.groupBy("run").agg((F.max("end_ns") - F.min("start_ns")).alias("covered_ns"))
    return F.broadcast(covered)


def _edge_ms(cell: Column) -> Column:
    return F.round(F.pow(F.lit(10.0), cell / F.lit(_PER_DECADE)) / 1000, 9)
