"""Complete latency and processing time of root tuples.

**Complete latency**: from the spout's emit of the root tuple until the spout's own thread handles the ack, as
the run's Storm version measures it (the log's ``latency_ns``). It includes the time for which the spout slept
inside ``nextTuple`` while the ack was waiting. Only acked tuples have a latency; failed ones are counted in
`outcomes`.

**Processing time** (T-Storm, section V): complete latency minus that sleep (the log's ``sleep_ns``).

A tuple counts in the bin in which it completes, as in Storm's UI. Values are in milliseconds. Percentiles are
exact, with linear interpolation between neighbours; Spark's ``percentile_approx`` would depend on how the
rows are partitioned.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns, bin_number, in_seconds, width_ns
from storm_lab.pipeline.percentiles import gathered, merged, summarised, summarised_values
from storm_lab.pipeline.tables import add_run_and_topology, add_scope

_MEASURES = {"complete": "latency_ns", "processing": "processing_ns"}


def acked(roots: DataFrame) -> DataFrame:
    """Return the acked root tuples that have a latency, with ``processing_ns`` added."""
    measured = roots.where((F.col("outcome") == "acked") & F.col("latency_ns").isNotNull())
    return measured.withColumn("processing_ns", F.col("latency_ns") - F.col("sleep_ns"))


def latency(roots: DataFrame, bin_s: float) -> DataFrame:
    """Latency by bin of completion; bins without an acked tuple are absent.

    Columns: run, topology, t_s (start of the bin), tuples, and for both complete and processing
    ``<kind>_mean_ms``, ``_p50_ms``, ``_p95_ms``, ``_p99_ms``.
    """
    rows = acked(roots).withColumn("bin_ns", bin_ns("complete_ns", bin_s))
    return in_seconds(summarised(rows, ["run", "topology", "bin_ns"], _MEASURES))


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
    narrow_bins = _whole_ratio(wide_s, narrow_s)
    rows = acked(roots).join(F.broadcast(runs.select("run", "warm_up_ns")), "run")
    levels = {
        "narrow": bin_number("complete_ns", narrow_s),
        "wide": bin_number("complete_ns", wide_s),
        "warm": F.when(F.col("complete_ns") >= F.col("warm_up_ns"), F.lit(0).cast("long")),
    }
    placed = add_scope(rows.withColumns(levels), runs).withColumn("place", _packed())
    values = _unpacked(gathered(placed, ["place"], _MEASURES))
    values = values.withColumn("wide", F.expr(f"narrow div {narrow_bins}")).cache()

    def of(level: str) -> DataFrame:
        keys = ["scope", level]
        own = merged(values.where(F.col(level).isNotNull()), keys, _MEASURES)
        return add_run_and_topology(summarised_values(own, keys, _MEASURES), scopes)

    narrow = _at_times(of("narrow"), "narrow", narrow_s).cache()
    wide = _at_times(of("wide"), "wide", wide_s)
    return Latencies(narrow, wide, of("warm").drop("warm"), (values, narrow))


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


def _whole_ratio(wide_s: float, narrow_s: float) -> int:
    ratio, rest = divmod(width_ns(wide_s), width_ns(narrow_s))
    if rest:
        raise ValueError(f"bins of {wide_s} s are not made of whole bins of {narrow_s} s")
    return ratio


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
    micros = F.greatest(F.col("processing_ns"), F.lit(1000).cast("long")) / 1000
    cell = F.floor(F.log10(micros) * _PER_DECADE + F.lit(1e-9)).cast("int")
    counted = rows.groupBy("run", "topology", cell.alias("cell")).agg(F.count("*").alias("tuples"))
    return counted.select(
        "run", "topology", _edge(F.col("cell")).alias("low_ms"),
        _edge(F.col("cell") + 1).alias("high_ms"), "tuples",
    )  # fmt: skip


def after_warm_up(rows: DataFrame, runs: DataFrame, time: str) -> DataFrame:
    """Return the rows whose ``time`` column is at or after the end of the run's warm-up."""
    limits = F.broadcast(runs.select("run", "warm_up_ns"))
    return rows.join(limits, "run").where(F.col(time) >= F.col("warm_up_ns")).drop("warm_up_ns")


def covered_time(windows: DataFrame) -> DataFrame:
    """Return ``covered_ns``: the time from the start of a run's first window to the end of its last one."""
    covered = windows.groupBy("run").agg((F.max("end_ns") - F.min("start_ns")).alias("covered_ns"))
    return F.broadcast(covered)


def _edge(cell: Column) -> Column:
    return F.round(F.pow(F.lit(10.0), cell / F.lit(_PER_DECADE)) / 1000, 9)
