"""Throughput at the sinks, as R-Storm's paper counts it, and gains of one scheduler over another.

Throughput is the mean over a topology's output bolts of the tuples that each executes in 10 s (section 6.2).
The paper calls a gain "x % higher" and prints no formula. Its author's recordings give the printed
percentages only if the difference is divided by R-Storm's own throughput, so both are shown everywhere.
Verdicts use the usual formula, division by the baseline's throughput.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from storm_lab.experiments.readings import Samples, Tables, by_seed, changes, measured, per_seed, reductions
from storm_lab.experiments.trial import Trial, variant_of
from storm_lab.papers.rstorm.layouts import layout

UNIT = "tuples/10 s"


def sink_series(tables: Tables, topology: str, sinks: Sequence[str]) -> pd.DataFrame:
    """Mean over the sinks by variant, seed and bin: columns variant, seed, t_s, per_10s (tuples in 10 s)."""
    rows = tables.component_throughput_10s
    rows = rows[(rows["topology"] == topology) & rows["component"].isin(sinks)]
    # If the end of the run cuts the last bin short, it is scaled to 10 s.
    scaled = rows.assign(per_10s=rows["executed"] * 10.0 / rows["width_s"] / len(sinks))
    return scaled.groupby(["variant", "seed", "t_s"])["per_10s"].sum().reset_index()


gains = changes
"""Gain divided by the baseline's throughput: `storm_lab.experiments.readings.changes`."""


def gains_relative_to_new(new: Sequence[float | None], old: Sequence[float | None]) -> Samples:
    """``100 * (1 - old / new)`` by seed, in percent: the difference divided by the *new* throughput."""
    return reductions(old, new)


def rates_of(tables: Tables, topology: str, variant: str, seeds: Sequence[int], from_s: float) -> Samples:
    """Mean tuples per 10 s at the sinks, over the bins from ``from_s`` on; None for a seed not played."""
    series = sink_series(tables, topology, layout(topology).sinks)
    series = series[series["t_s"] >= from_s]
    return by_seed(series, variant, seeds, lambda rows: float(rows["per_10s"].mean()))


def sums_of(tables: Tables, topology: str, variant: str, seeds: Sequence[int], from_s: float) -> Samples:
    """As `rates_of`, but summed over the output bolts, as Processing's number in figure 13 implies."""
    count = len(layout(topology).sinks)
    rates = rates_of(tables, topology, variant, seeds, from_s)
    return per_seed(lambda rate: rate * count, rates)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two variants of a topology to compare: its runs under default and under R-Storm, with some seeds."""

    label: str
    topology: str
    default: str
    rstorm: str
    seeds: tuple[int, ...]


def gain_table(tables: Tables, pairs: Sequence[Pair], from_s: float) -> pd.DataFrame:
    """Throughput of both schedulers and both gains, one row per pair.

    Columns: label, topology, default and rstorm (tuples per 10 s), on_default and on_rstorm (gains in
    percent, divided by the throughput that the name says), and their half intervals over seeds (NaN for one
    seed) as on_default_half and on_rstorm_half.
    """
    rows = []
    for pair in pairs:
        old, new = (
            rates_of(tables, pair.topology, variant, pair.seeds, from_s)
            for variant in (pair.default, pair.rstorm)
        )
        row: dict[str, object] = {"label": pair.label, "topology": pair.topology}
        row |= {"default": measured(old).value, "rstorm": measured(new).value}
        for name, values in (("on_default", gains(new, old)), ("on_rstorm", gains_relative_to_new(new, old))):
            mean = measured(values)
            row[name] = mean.value
            row[f"{name}_half"] = float("nan")
            if mean.value is not None and mean.high is not None:
                row[f"{name}_half"] = mean.high - mean.value
        rows.append(row)
    return pd.DataFrame(rows)


def trial_pairs(
    trials: Sequence[Trial], settings: Sequence[tuple[str, str, str]], known: Collection[str], seed: int
) -> list[Pair]:
    """The pairs of every trial of which a variant is ``known`` to have been played with this ``seed``.

    ``settings`` are topologies with the variants under default and R-Storm from which the trials deviate.
    """
    pairs = []
    for trial in trials:
        for topology, default, rstorm in settings:
            changed = rstorm if trial.only else variant_of(rstorm, trial)
            pairs.append(Pair(trial.label, topology, variant_of(default, trial), changed, (seed,)))
    return [pair for pair in pairs if pair.default in known]
