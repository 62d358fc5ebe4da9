"""Measures of machine removal, for the claims of section 3.4's table and figures 9 and 10.

All readings are of full minutes, as in the figures. Minutes in which no tuple completes have a throughput of
0 and no latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Samples, Tables, mean_over, measurement, of_run, per_seed
from storm_lab.papers.twitter.event_counting import series
from storm_lab.papers.twitter.testbed import MACHINES

VARIANT = "storm"
REMOVALS = len(MACHINES) - 1
SUPPLIED = "supplied"
"""Variant of the run whose log fills slower than it is read."""
SUPPLIED_AT_S = 360.0
"""Time at which three machines fail in that run; its load is there from 180 s on."""
SUPPLIED_S = 960.0
MINUTE_S = 60.0
TOLERANCE = 0.10
"""A minute counts as settled within this share of the stage's stable level."""


def fresh_variant(machines: int, pending: int, ackers: int) -> str:
    """Variant of the short runs on this number of machines without a history."""
    return f"fresh-{machines}m-pending{pending}-ackers{ackers}"


def settled_from_s(stage_s: float, stage: int) -> float:
    """Time from which on a stage counts as stable: the start of its second half."""
    return stage_s * (stage + 0.5)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The effect of a removal on a series of minutes.

    ``level`` is the mean of the stage's stable minutes and ``peak`` the highest minute after the removal.
    ``settled_s`` is the time from the removal to the end of the last minute that is off the level; None if
    that is the stage's last minute.
    """

    level: float
    peak: float
    settled_s: float | None


def disturbance(minutes: pd.Series, removed_s: float, stage_s: float) -> Disturbance | None:
    """The disturbance by a removal at ``removed_s``; None if no minute of the stable half has a value.

    ``minutes`` are values by start of the minute in seconds; a value may be missing.
    """
    after = minutes[(minutes.index >= removed_s) & (minutes.index < removed_s + stage_s)]
    stable = after[after.index >= removed_s + stage_s / 2].dropna()
    if stable.empty:
        return None
    level = float(stable.mean())
    off = after[after.isna() | ((after - level).abs() > TOLERANCE * level)]
    if off.empty:
        settled: float | None = 0.0
    elif off.index[-1] == after.index[-1]:
        settled = None
    else:
        settled = float(off.index[-1]) + MINUTE_S - removed_s
    return Disturbance(level, float(after.max()), settled)


def throughput_by_stage(tables: Tables, parameters: Parameters, seeds: Sequence[int]) -> dict[int, Samples]:
    """Million tuples acked per minute by machines, one value per seed: stable halves of the stages."""
    k = parameters.integer("bundle")
    means = _stable_means(tables.throughput_60s, "acked_per_s", parameters, seeds, weight="width_s")
    return {machines: per_seed(lambda rate: rate * k * 60 / 1e6, rates) for machines, rates in means.items()}


def latency_by_stage(tables: Tables, parameters: Parameters, seeds: Sequence[int]) -> dict[int, Samples]:
    """Mean complete latency in ms by number of machines, one value per seed: stable halves of the stages."""
    k = parameters.integer("bundle")
    means = _stable_means(tables.latency_60s, "complete_mean_ms", parameters, seeds, weight="tuples")
    return {machines: per_seed(lambda ms: ms / k, values) for machines, values in means.items()}


def _stable_means(
    table: pd.DataFrame, column: str, parameters: Parameters, seeds: Sequence[int], *, weight: str
) -> dict[int, Samples]:
    stage_s = parameters.number("stage_s")
    mean = partial(mean_over, table, column, VARIANT, seeds, weight=weight)
    return {
        machines: mean(from_s=settled_from_s(stage_s, stage), to_s=stage_s * (stage + 1))
        for stage, machines in enumerate(MACHINES)
    }


def minutes_of(tables: Tables, parameters: Parameters, seed: int) -> pd.DataFrame:
    """Figures 9 and 10 of one run: ``throughput`` (million per minute) and ``latency`` (ms) by minute."""
    rates, means = (of_run(table, VARIANT, seed) for table in (tables.throughput_60s, tables.latency_60s))
    return series(rates, means, parameters.integer("bundle"))


def disturbances(tables: Tables, parameters: Parameters, seed: int, value: str) -> list[Disturbance | None]:
    """Effect of each removal on the minutes' ``value`` (``throughput`` or ``latency``)."""
    stage_s = parameters.number("stage_s")
    minutes = minutes_of(tables, parameters, seed)[value]
    return [disturbance(minutes, number * stage_s, stage_s) for number in range(1, REMOVALS + 1)]


def fresh_levels(tables: Tables, parameters: Parameters, variant: str, seed: int) -> tuple[float, float]:
    """Million tuples per minute and mean latency in ms of a short run, over its last minute."""
    k = parameters.integer("bundle")
    rates = of_run(tables.throughput_10s, variant, seed).sort_values("t_s")["acked_per_s"]
    latency = of_run(tables.steady_latency, variant, seed)["complete_mean_ms"]
    return float(rates.iloc[-6:].mean()) * k * 60 / 1e6, float(latency.iloc[0]) / k


def supplied_series(tables: Tables, bundle: int) -> pd.DataFrame:
    """The run whose log fills slower than it is read, in bins of 10 s from 120 s before the failure on.

    ``throughput`` in million per minute and ``latency`` in ms, by seconds since the failure.
    """
    rates, means = (t[t["variant"] == SUPPLIED] for t in (tables.throughput_10s, tables.latency_10s))
    found = series(rates, means, bundle)
    found.index = found.index - SUPPLIED_AT_S
    return found[found.index >= -120.0]


def ackers_by_throughput(
    tables: Tables, parameters: Parameters, tried: Sequence[int], seed: int, printed: float
) -> pd.DataFrame:
    """Throughput of 16 machines by number of ackers; nearest to the ``printed`` million per minute first."""
    pending, numbers = parameters.integer("max_spout_pending"), sorted(set(tried))
    variants = [fresh_variant(MACHINES[0], pending, number) for number in numbers]
    rates = [fresh_levels(tables, parameters, variant, seed)[0] for variant in variants]
    found = pd.DataFrame({"ackers": numbers, "million/min": rates})
    found["off by"] = found["million/min"] - printed
    return found.sort_values("off by", key=lambda off: off.abs(), ignore_index=True)


def window_by_latency(printed_ms: float, million_a_min: float, spouts: int) -> float:
    """The window of pending tuples per spout task that gives a latency at a throughput (Little's law).

    Assumes that windows are always full.
    """
    return printed_ms / 1000 * million_a_min * 1e6 / 60 / spouts


def measure_stages(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims on the stages and removals of one variant."""
    seeds = parameters.seeds
    rates = throughput_by_stage(tables, parameters, seeds)
    latencies = latency_by_stage(tables, parameters, seeds)
    figures = (
        ("thr", rates, "root tuples acked a minute, second half of the stage"),
        ("lat", latencies, "mean complete latency, second half of the stage"),
    )
    found = [
        measurement(f"twitter-{name}-{machines}m", values[machines], how=how)
        for name, values, how in figures
        for machines in MACHINES
    ]
    for name, values, _ in figures:
        order = {f"{machines}-machines": values[machines] for machines in MACHINES}
        found.append(measurement(f"twitter-{name}-order", order, how=f"as twitter-{name}-16m"))
    return (*found, *_spikes(tables, parameters, seeds))


def _spikes(tables: Tables, parameters: Parameters, seeds: Sequence[int]) -> tuple[Measurement, Measurement]:
    # By removal, one of each seed.
    spikes, drops = (
        tuple(zip(*(disturbances(tables, parameters, seed, value) for seed in seeds), strict=True))
        for value in ("latency", "throughput")
    )

    def longest(*found: Disturbance) -> float | None:
        times = [each.settled_s for each in found if each.settled_s is not None]
        return max(times) if len(times) == len(found) else None

    ratios = per_seed(lambda *found: min(each.peak / each.level for each in found), *spikes)
    settled = per_seed(longest, *spikes, *drops)
    heights = {
        f"removal-{number}": per_seed(lambda found: found.peak - found.level, own)
        for number, own in enumerate(spikes, start=1)
    }
    height = "highest minute latency after a removal, less the mean of the second half of its stage"
    recovered = {"spike": ratios, "settled-after": settled}
    recovery = (
        "minutes after each removal against the second half of its stage: least ratio of the highest latency "
        "to the mean; longest time until latency and throughput stay within 10 % of the mean"
    )
    return (
        measurement("twitter-spike-recover", recovered, how=recovery),
        measurement("twitter-spike-size", heights, how=height),
    )
