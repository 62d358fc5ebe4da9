"""What the runs with limits and tuners say about the claims of section 3.3.3."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, mean_over, measured, measurement, of_run

NO_LIMIT = 0
CONVERGED = 0.75
"""Share of a run after which the tuner counts as having converged."""

CLAIMS = (
    "twitter-msp-small",
    "twitter-msp-large",
    "twitter-msp-autotune",
    "twitter-msp-unreliable",
)
METRICS = ("latency_60s", "throughput_60s", "component_throughput_60s", "failures_60s", "control")
"""The metric tables that the notebook and `measure` read."""


class PendingTables(Tables, Protocol):
    """The metric tables that are read here."""

    @property
    def throughput_60s(self) -> pd.DataFrame: ...
    @property
    def component_throughput_60s(self) -> pd.DataFrame: ...
    @property
    def failures_60s(self) -> pd.DataFrame: ...
    @property
    def control(self) -> pd.DataFrame: ...


def static_variant(limit: int) -> str:
    """Variant of the runs with this limit."""
    return f"static-{limit or 'none'}"


def tuner_variant(first: int) -> str:
    """Variant of the runs whose tuner starts from this limit."""
    return f"tuner-from-{first}"


def unreliable_variant(limit: int) -> str:
    """Variant of the runs without message ids and with this limit."""
    return f"unreliable-{limit or 'none'}"


def progress_per_s(
    tables: PendingTables, variant: str, seeds: Sequence[int], from_s: float
) -> list[float | None]:
    """Lines acked a second from ``from_s`` on; a line is acked once, however often it is emitted."""
    return mean_over(tables.throughput_60s, "acked_per_s", variant, seeds, from_s=from_s, weight="width_s")


def best_static(
    tables: PendingTables, parameters: Parameters, seeds: Sequence[int]
) -> tuple[int, list[float]]:
    """The limit of most progress over all seeds, and its progress in lines a second, by seed."""
    half = parameters.number("static_s") / 2
    found: dict[int, list[float]] = {}
    for limit in dict.fromkeys(parameters.integers("limits")):
        rates = progress_per_s(tables, static_variant(limit), seeds, half)
        found[limit] = [rate or 0.0 for rate in rates]
    best = max(found, key=lambda limit: sum(found[limit]))
    return best, found[best]


def tuning(tables: PendingTables, variant: str, seed: int) -> pd.DataFrame:
    """The tuner's calls: ``time_s``, ``action``, ``before`` and ``limit``."""
    rows = of_run(tables.control, variant, seed)
    rows = rows[rows["actor"] == "tuner"].sort_values("time_s")
    details = [json.loads(str(detail)) for detail in rows["detail"]]
    return pd.DataFrame(
        {
            "time_s": rows["time_s"].to_numpy(),
            "action": rows["action"].to_numpy(),
            "before": [detail["before"] for detail in details],
            "limit": [detail["limit"] for detail in details],
        }
    )


def measure(tables: PendingTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of section 3.3.3."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    half = parameters.number("static_s") / 2
    smallest = min(parameters.integers("limits"))
    best_limit, best = best_static(tables, parameters, seeds)
    window = f"lines acked from {half:g} s on; best static limit: {best_limit}"
    starved = progress_per_s(tables, static_variant(smallest), seeds, half)
    unlimited = progress_per_s(tables, static_variant(NO_LIMIT), seeds, half)
    tuned_from = CONVERGED * parameters.number("tuned_s")
    by_start = [
        progress_per_s(tables, tuner_variant(first), seeds, tuned_from)
        for first in dict.fromkeys(parameters.integers("first_limits"))
    ]
    # The first value that does worst: the tuner has to find its way from all of them.
    tuned = [min((rate or 0.0) for rate in rates) for rates in zip(*by_start, strict=True)]
    return (
        measurement("twitter-msp-small", _ratios(starved, best), unit="ratio", how=window),
        Measurement(
            "twitter-msp-large",
            (
                measured(_failures(tables, "failed", seeds), label="timed-out"),
                measured(_failures(tables, "replayed", seeds), label="replayed"),
                measured(_ratios(unlimited, best), label="progress"),
            ),
            "mixed",
            f"no limit, more lines than the machine can work off; {window}",
        ),
        measurement(
            "twitter-msp-autotune",
            _ratios(tuned, best),
            unit="ratio",
            how=f"lines acked from {tuned_from:g} s on with the worst first limit, over the best static one",
        ),
        measurement(
            "twitter-msp-unreliable",
            [
                abs(
                    _emitted(tables, unreliable_variant(smallest), seed)
                    - _emitted(tables, unreliable_variant(0), seed)
                )
                for seed in seeds
            ],
            unit="tuples",
            how="tuples emitted by the spouts in the whole run",
        ),
    )


def _ratios(values: Sequence[float | None], bases: Sequence[float]) -> list[float | None]:
    return [
        value / base if value is not None and base > 0 else None
        for value, base in zip(values, bases, strict=True)
    ]


def _failures(tables: PendingTables, column: str, seeds: Sequence[int]) -> list[float | None]:
    return [
        float(of_run(tables.failures_60s, static_variant(NO_LIMIT), seed)[column].sum()) for seed in seeds
    ]


def _emitted(tables: PendingTables, variant: str, seed: int) -> float:
    rows = of_run(tables.component_throughput_60s, variant, seed)
    return float(rows.loc[rows["component"] == "spout", "emitted"].sum())
