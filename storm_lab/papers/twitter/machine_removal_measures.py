"""Measures of machine removal, for the claims of section 3.4's table and figures 9 and 10."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import (
    Samples,
    Tables,
    by_label,
    mean_over,
    measurement,
    of_run,
    per_seed,
)
from storm_lab.experiments.trial import Trial, explained
from storm_lab.papers.twitter.event_counting import series
from storm_lab.papers.twitter.fetches import CHOSEN_ON
from storm_lab.papers.twitter.testbed import SLOT_ORDERS
from storm_lab.papers.twitter.timeline import MACHINES, Disturbance, disturbance, settled_from_s

VARIANT = "storm"
REMOVALS = len(MACHINES) - 1
SUPPLIED = "supplied"
"""Variant of the run whose log fills slower than it is read."""
SUPPLIED_AT_S = 360.0
"""Time at which three machines fail in that run; its load is there from 180 s on."""
SUPPLIED_S = 960.0
SLOTS_TAG = "-slots"
"""Suffix of the variant in which new workers fill machines in the other order."""
FETCH_TAG = "-fetch"
"""Suffix of the variant with spouts whose client fetches from Kafka."""
FETCH_READING = "fetches from Kafka by a thread of the spouts' client"


def fresh_variant(machines: int, pending: int, ackers: int) -> str:
    """Variant of the short runs on this number of machines without a history."""
    return f"fresh-{machines}m-pending{pending}-ackers{ackers}"


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
    return {
        machines: mean_over(
            table,
            column,
            VARIANT,
            seeds,
            from_s=settled_from_s(stage_s, stage),
            to_s=stage_s * (stage + 1),
            weight=weight,
        )
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
    """Effect of the number of ackers.

    Throughput of 16 machines with each number, and its difference from the ``printed`` million per minute,
    smallest difference first.
    """
    pending = parameters.integer("max_spout_pending")
    rows = []
    for number in sorted(set(tried)):
        rate, _ = fresh_levels(tables, parameters, fresh_variant(MACHINES[0], pending, number), seed)
        rows.append((number, rate, rate - printed))
    found = pd.DataFrame(rows, columns=["ackers", "million/min", "off by"])
    return found.sort_values("off by", key=lambda off: off.abs(), ignore_index=True)


def window_by_latency(printed_ms: float, million_a_min: float, spouts: int) -> float:
    """The window of pending tuples per spout task that gives a latency at a throughput (Little's law).

    Assumes that windows are always full.
    """
    return printed_ms / 1000 * million_a_min * 1e6 / 60 / spouts


def other_order(parameters: Parameters) -> str:
    """The order of slots that the reading uses."""
    return next(name for name in SLOT_ORDERS if name != parameters.text("slot_order"))


def reading_seeds(parameters: Parameters, tag: str = SLOTS_TAG) -> tuple[int, ...]:
    """Seeds that play a reading: the first few, or all for the one with fetches, to distinguish its rows."""
    return parameters.seeds[: parameters.integer("reading_seeds")] if tag == SLOTS_TAG else parameters.seeds


def readings(parameters: Parameters) -> dict[str, str]:
    """Other readings of what is not printed: suffix of their variants -> their name."""
    order = f"machines filled as by Storm {other_order(parameters)}"
    return {SLOTS_TAG: order, FETCH_TAG: FETCH_READING}


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.4, in the setting itself and under the readings."""
    found = list(_measure(tables, parameters))
    for tag, name in readings(parameters).items():
        chosen_on = CHOSEN_ON if tag == FETCH_TAG else ()
        trial = Trial(tag[1:], name, reading=True, chosen_on=chosen_on)
        few = parameters.changed(seeds=reading_seeds(parameters, tag))
        found += explained(_measure, tables, few, (trial,))
    return tuple(found)


def _measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    seeds = parameters.seeds
    rates = throughput_by_stage(tables, parameters, seeds)
    latencies = latency_by_stage(tables, parameters, seeds)
    figures = (
        ("thr", rates, "million tuples/min", "root tuples acked a minute, second half of the stage"),
        ("lat", latencies, "ms", "mean complete latency, second half of the stage"),
    )
    return (
        *(
            measurement(f"twitter-{name}-{machines}m", values[machines], unit=unit, how=how)
            for name, values, unit, how in figures
            for machines in MACHINES
        ),
        *(
            by_label(
                f"twitter-{name}-order",
                {f"{machines}-machines": values[machines] for machines in MACHINES},
                unit=unit,
                how=f"as twitter-{name}-16m",
            )
            for name, values, unit, _ in figures
        ),
        *_spikes(tables, parameters, seeds),
    )


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
        by_label("twitter-spike-recover", recovered, unit="mixed", how=recovery),
        by_label("twitter-spike-size", heights, unit="ms", how=height),
    )
