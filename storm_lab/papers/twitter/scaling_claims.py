"""What windows and removals with bundles of several sizes have in common, taken from their metric tables."""

from __future__ import annotations

from typing import Protocol

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, of_run
from storm_lab.papers.twitter.event_counting import FULL_FROM_S

AT_S = 300.0
"""Removals: machines fail here, when what was lost at the start has come again."""
REMOVAL_S = 660.0

CLAIMS: tuple[str, ...] = ()
METRICS = ("latency_10s", "steady_latency", "throughput_10s", "failures_60s", "node_cpu_60s")
"""The metric tables that the notebook and `measure` read."""


class ScalingTables(Tables, Protocol):
    """The metric tables that are read here."""

    @property
    def steady_latency(self) -> pd.DataFrame: ...
    @property
    def throughput_1s(self) -> pd.DataFrame: ...
    @property
    def throughput_10s(self) -> pd.DataFrame: ...
    @property
    def failures_60s(self) -> pd.DataFrame: ...
    @property
    def steady_cpu(self) -> pd.DataFrame: ...
    @property
    def node_cpu_60s(self) -> pd.DataFrame: ...


def window_variant(bundle: int, delays: bool) -> str:
    """Variant of the windows with bundles of this size; ``delays`` as in the emulator's `Bundle`."""
    return f"window-k{bundle}" + ("" if delays else "-costs-only")


def removal_variant(bundle: int, timeout_s: float) -> str:
    """Variant of the removals with bundles of this size and this message timeout."""
    return f"removal-k{bundle}-t{timeout_s:g}"


def window_row(
    tables: ScalingTables, variant: str, seed: int, bundle: int, window_s: float
) -> dict[str, float]:
    """One window in units of tuples: ``million_a_min``, ``mean_ms``, ``p50_ms``, ``p99_ms``, ``in_flight``
    (throughput times latency), ``cpu_ms_a_tuple`` and ``failed``. The last two thirds of the window count.
    """
    start = FULL_FROM_S + bundle * window_s / 3
    end = FULL_FROM_S + bundle * window_s
    latency = of_run(tables.steady_latency, variant, seed).iloc[0]
    tuples = float(latency["tuples"]) * bundle
    per_s = tuples / (end - start)
    used = of_run(tables.node_cpu_60s, variant, seed)
    cores = float(used[used["t_s"] >= FULL_FROM_S].groupby("t_s")["cores_used"].sum().mean())
    return {
        "million_a_min": per_s * 60 / 1e6,
        "mean_ms": float(latency["complete_mean_ms"]) / bundle,
        "p50_ms": float(latency["complete_p50_ms"]) / bundle,
        "p99_ms": float(latency["complete_p99_ms"]) / bundle,
        "in_flight": per_s * float(latency["complete_mean_ms"]) / bundle / 1e3,
        "cpu_ms_a_tuple": cores / per_s * 1e3,
        "failed": float(of_run(tables.failures_60s, variant, seed)["failed"].sum()),
    }


def removal_series(tables: ScalingTables, variant: str, seed: int, bundle: int) -> pd.DataFrame:
    """A removal in bins of 10 s: ``throughput`` (million tuples a minute), ``latency`` (ms), ``failed`` a
    minute in units of root tuples in flight.
    """
    rates = of_run(tables.throughput_10s, variant, seed).set_index("t_s")["acked_per_s"].sort_index()
    means = of_run(tables.latency_10s, variant, seed).set_index("t_s")["complete_mean_ms"]
    return pd.DataFrame(
        {"throughput": rates * bundle * 60 / 1e6, "latency": means.reindex(rates.index) / bundle}
    )


def outage_s(series: pd.DataFrame, share: float = 0.9) -> float:
    """Seconds from the removal until throughput stays above ``share`` of its last two minutes' mean."""
    level = float(series["throughput"].iloc[-12:].mean())
    after = series[series.index >= AT_S]["throughput"]
    low = after[after < share * level]
    return float(low.index[-1]) + 10.0 - AT_S if len(low) else 0.0


def measure(tables: ScalingTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Nothing: no paper claims anything of it."""
    return ()
