"""Readings: the few ways in which experiments take numbers from the metric tables.

Tables are those of `storm_lab.pipeline.metric_tables.MetricTables`; every reading returns one value per seed,
in the order of the seeds, so that the interval over seeds can be taken from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import pandas as pd

from storm_lab.experiments.measurement import Measured, Measurement, over_seeds
from storm_lab.experiments.parameter import Parameters


class Tables(Protocol):
    """The metric tables that the papers' measures read; the pipeline's `MetricTables` has these and more."""

    runs: pd.DataFrame
    latency_10s: pd.DataFrame
    latency_60s: pd.DataFrame
    steady_latency: pd.DataFrame
    throughput_1s: pd.DataFrame
    throughput_10s: pd.DataFrame
    throughput_60s: pd.DataFrame
    component_throughput_10s: pd.DataFrame
    component_throughput_60s: pd.DataFrame
    failures_10s: pd.DataFrame
    failures_60s: pd.DataFrame
    degradation: pd.DataFrame
    occupancy: pd.DataFrame
    stays: pd.DataFrame
    node_cpu_60s: pd.DataFrame
    steady_cpu: pd.DataFrame
    steady_elapsed: pd.DataFrame
    steady: pd.DataFrame
    stabilisation: pd.DataFrame
    spikes: pd.DataFrame
    events: pd.DataFrame
    control: pd.DataFrame


@dataclass(frozen=True)
class _Part:
    whole: Tables
    experiment: str

    def __getattr__(self, name: str) -> pd.DataFrame:
        frame: pd.DataFrame = getattr(self.whole, name)
        return frame[frame["experiment"] == self.experiment]


def part_of(tables: Tables, experiment: str) -> Tables:
    """The rows of ``experiment``, where several share runs; variants and seeds name a run only within one."""
    return cast(Tables, _Part(tables, experiment))


@dataclass(frozen=True)
class _Tagged:
    whole: Tables
    tag: str
    keep: tuple[str, ...]

    def __getattr__(self, name: str) -> pd.DataFrame:
        frame: pd.DataFrame = getattr(self.whole, name)
        tagged = frame["variant"].str.endswith(self.tag)
        chosen = frame[tagged | frame["variant"].isin(self.keep)]
        found = chosen.assign(variant=chosen["variant"].str.removesuffix(self.tag))
        # Measures ask for the same table again and again; what lies there is not looked for here.
        self.__dict__[name] = found
        return found


def under_reading(tables: Tables, tag: str, keep: Sequence[str] = ()) -> Tables:
    """The rows of another reading: of the variants that end with ``tag``, named without it.

    ``keep`` names variants that the reading leaves as they are.
    """
    return cast(Tables, _Tagged(tables, tag, tuple(keep)))


def beside(
    measure: Callable[[Tables, Parameters], tuple[Measurement, ...]],
    tables: Tables,
    parameters: Parameters,
    tag: str,
    reading: str,
    *,
    claims: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> tuple[Measurement, ...]:
    """What ``measure`` finds under one reading or trial; nothing where it was not played.

    Args:
        measure: as for the experiment's own setting.
        tables: of all runs.
        parameters: the experiment's, with the seeds that the reading was played with.
        tag: what its variants end with.
        reading: its name.
        claims: those to measure; all where empty.
        keep: variants that it leaves as they are.
    """
    if not tables.runs["variant"].str.endswith(tag).any():
        return ()
    found = measure(under_reading(tables, tag, keep), parameters)
    return tuple(replace(each, reading=reading) for each in found if not claims or each.claim_id in claims)


def with_readings(
    measure: Callable[[Tables, Parameters], tuple[Measurement, ...]],
    tables: Tables,
    parameters: Parameters,
    readings: Mapping[str, str],
) -> tuple[Measurement, ...]:
    """What ``measure`` finds in the experiment's own setting, and under each reading.

    ``readings`` maps what the variants of a reading end with to what the reading is called.
    """
    own = measure(tables, parameters)
    return own + tuple(
        replace(each, reading=name)
        for tag, name in readings.items()
        for each in measure(under_reading(tables, tag), parameters)
    )


def of_run(table: pd.DataFrame, variant: str, seed: int) -> pd.DataFrame:
    """The rows of one run."""
    return table[(table["variant"] == variant) & (table["seed"] == seed)]


def mean_over(
    table: pd.DataFrame,
    column: str,
    variant: str,
    seeds: Sequence[int],
    *,
    from_s: float,
    to_s: float = float("inf"),
    weight: str = "tuples",
) -> list[float | None]:
    """Mean of ``column`` over all tuples of the bins from ``from_s`` to ``to_s``.

    The bins' means are weighted with their ``weight``, so that the result is the mean over tuples; None for a
    seed without any.
    """
    means: list[float | None] = []
    for seed in seeds:
        rows = of_run(table, variant, seed)
        rows = rows[(rows["t_s"] >= from_s) & (rows["t_s"] < to_s)].dropna(subset=[column]).sort_values("t_s")
        tuples = int(rows[weight].sum())
        means.append(float((rows[column] * rows[weight]).sum()) / tuples if tuples else None)
    return means


def value_of(table: pd.DataFrame, column: str, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """A figure of which each run has one; None for a seed without it."""
    values: list[float | None] = []
    for seed in seeds:
        found = of_run(table, variant, seed)[column].dropna()
        values.append(float(cast(float, found.iloc[0])) if len(found) else None)
    return values


def reductions(new: Sequence[float | None], old: Sequence[float | None]) -> list[float | None]:
    """``100 * (1 - new / old)`` seed by seed: what T-Storm calls speedup, in percent."""
    return [
        100 * (1 - a / b) if a is not None and b is not None and b > 0 else None
        for a, b in zip(new, old, strict=True)
    ]


def measured(samples: Sequence[float | None], *, label: str = "") -> Measured:
    """Mean and interval over seeds; no value when some seed has none, for then the thing did not happen."""
    known = [sample for sample in samples if sample is not None]
    if known and len(known) == len(samples):
        return over_seeds(known, label=label)
    return Measured(None, label=label, seeds=len(known))


def measurement(claim: str, samples: Sequence[float | None], *, unit: str, how: str) -> Measurement:
    """The measurement of a claim that states one number."""
    return Measurement(claim, (measured(samples),), unit, how)
