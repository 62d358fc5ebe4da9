"""Readings that the experiments of section V share: each plays Storm once and T-Storm once per gamma."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.readings import Tables, mean_over, measurement, of_run, reductions
from storm_lab.papers.tstorm.testbed import STORM, tstorm_variant

RESTABLE_S = 500.0
"""From here on the paper compares the runs that have a re-assignment."""
GENERATED_S = 290.0
"""No generated schedule can be installed before this time: the generator's period is 300 s."""

_SECONDS_A_MINUTE = 60.0


def processing_ms(
    tables: Tables, variant: str, seeds: Sequence[int], from_s: float, to_s: float = float("inf")
) -> list[float | None]:
    """Mean processing time of the tuples that complete in ``[from_s, to_s)``, by bins of 10 s."""
    return mean_over(tables.latency_10s, "processing_mean_ms", variant, seeds, from_s=from_s, to_s=to_s)


def gains_from(tables: Tables, gamma: float, seeds: Sequence[int], from_s: float) -> list[float | None]:
    """What T-Storm calls speedup, in percent: reduction of the mean processing time from ``from_s`` on."""
    return reductions(
        processing_ms(tables, tstorm_variant(gamma), seeds, from_s),
        processing_ms(tables, STORM, seeds, from_s),
    )


def minute_from(
    tables: Tables, variant: str, seeds: Sequence[int], starts: Sequence[float | None]
) -> list[float | None]:
    """Mean processing time of the minute from the bin that holds each seed's start on."""
    means: list[float | None] = []
    for seed, start in zip(seeds, starts, strict=True):
        if start is None:
            means.append(None)
            continue
        low = start // 10 * 10
        means += processing_ms(tables, variant, (seed,), low, low + _SECONDS_A_MINUTE)
    return means


def consolidated_s(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """When the initial consolidation is over: its last executor is ready, and tuples complete.

    The later of the two: the last change of the occupancy before any generated schedule, and the start of the
    first bin after the rebalance command in which tuples complete. None without such a command.
    """
    found: list[float | None] = []
    for seed in seeds:
        events = of_run(tables.events, variant, seed)
        commands = events[(events["kind"] == "rebalance") & (events["time_s"] < GENERATED_S)]["time_s"]
        if not len(commands):
            found.append(None)
            continue
        command = float(commands.min())
        steps = of_run(tables.occupancy, variant, seed)
        ready = steps[(steps["from_s"] > command) & (steps["from_s"] < GENERATED_S)]["from_s"]
        if not len(ready):
            found.append(None)
            continue
        # A bin that the command falls into still holds tuples of the old workers.
        bins = of_run(tables.latency_10s, variant, seed)
        later = bins[bins["t_s"] + 10 > float(ready.max())]["t_s"]
        found.append(max(float(ready.max()), float(later.min())) if len(later) else None)
    return found


def at_time(
    table: pd.DataFrame, column: str, variant: str, seeds: Sequence[int], time_s: float
) -> list[float | None]:
    """A figure of the step that covers ``time_s``, of the table of occupancy or another with such steps."""
    inside = table[(table["from_s"] <= time_s) & (table["to_s"] > time_s)]
    values: list[float | None] = []
    for seed in seeds:
        rows = of_run(inside, variant, seed)
        values.append(float(rows[column].iloc[0]) if len(rows) else None)
    return values


def stable_after(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Time from which the processing time stays level after the first generated schedule.

    None without one.
    """
    values: list[float | None] = []
    for seed in seeds:
        rows = of_run(tables.stabilisation, variant, seed)
        rows = rows[rows["from_s"] > GENERATED_S].sort_values("from_s").dropna(subset=["stable_s"])
        values.append(float(rows["stable_s"].iloc[0]) if len(rows) else None)
    return values


def minute_peak_at(
    tables: Tables, variant: str, seeds: Sequence[int], centre_s: float = _SECONDS_A_MINUTE / 2
) -> list[float | None]:
    """Middle of the minute of highest mean processing time from the first generated schedule on.

    The paper plots averages over minutes. One of them has its middle at ``centre_s``; by default they are
    counted from submission. None where the peak is no spike.
    """
    times: list[float | None] = []
    first_s = centre_s - _SECONDS_A_MINUTE / 2
    for seed in seeds:
        events = of_run(tables.spikes, variant, seed)
        events = events[(events["time_s"] > GENERATED_S) & events["is_spike"].eq(True)]
        if not len(events):
            times.append(None)
            continue
        bins = of_run(tables.latency_10s, variant, seed).dropna(subset=["processing_mean_ms"])
        # A bin of 10 s belongs to the minute that holds its middle.
        minute = (bins["t_s"] + 5.0 - first_s) // _SECONDS_A_MINUTE
        later = minute >= (float(events["time_s"].min()) - first_s) // _SECONDS_A_MINUTE
        sums = (bins["processing_mean_ms"] * bins["tuples"])[later].groupby(minute[later]).sum()
        means = sums / bins["tuples"][later].groupby(minute[later]).sum()
        times.append(centre_s + _SECONDS_A_MINUTE * float(means.idxmax()))
    return times


def spike_claim(
    claim: str, tables: Tables, variant: str, seeds: Sequence[int], printed_s: float
) -> tuple[Measurement, Measurement]:
    """A printed time of a spike, by minutes from submission and by minutes in the phase of the printed one.

    Of minute averages that stand at 14 s past the minute, say, the highest stands at 14 s past: the paper's
    minutes do not begin at submission, and nothing says when they do.
    """
    how = "middle of the minute of highest mean processing time from the re-assignment on; minutes "
    phase_s = printed_s % _SECONDS_A_MINUTE
    return (
        measurement(
            claim, minute_peak_at(tables, variant, seeds), unit="s", how=how + "counted from submission"
        ),
        replace(
            measurement(
                claim,
                minute_peak_at(tables, variant, seeds, phase_s),
                unit="s",
                how=how + f"whose middles are {phase_s:g} s past",
            ),
            reading="minutes in the phase of the printed one",
        ),
    )


def spike_at(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Middle of the peak's bin after the first generated schedule; None where its peak is no spike."""
    times: list[float | None] = []
    for seed in seeds:
        rows = of_run(tables.spikes, variant, seed)
        rows = rows[(rows["time_s"] > GENERATED_S) & rows["is_spike"].eq(True)].sort_values("time_s")
        times.append(float(rows["peak_s"].iloc[0]) + 5.0 if len(rows) else None)
    return times
