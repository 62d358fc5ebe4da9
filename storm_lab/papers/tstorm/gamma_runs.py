"""Runs of figures 5, 6 and 8 and their readings: Storm once and T-Storm once per gamma."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import (
    Samples,
    Tables,
    mean_over,
    measurement,
    of_run,
    per_seed,
    reductions,
    value_of,
)
from storm_lab.papers.tstorm.testbed import STORM, tstorm_variant

TSTORM_ONLY = ("alpha", "generation_s", "fetch_s", "capacity_fraction", "overload_windows")
"""Parameters that a run under Storm's own scheduler does not depend on."""

GAIN = "100 * (1 - T-Storm / Storm), mean processing time of tuples that complete from {:g} s on"
METRICS = ("latency_10s", "latency_60s", "occupancy", "steady", "events")
"""Tables that the three figures are drawn from."""
COMPARED_FROM_S = 500.0
"""The paper compares runs with a re-assignment from this time on."""
FIRST_SCHEDULE_S = 290.0
"""No generated schedule can be installed before this time: the generator's period is 300 s."""

_SECONDS_A_MINUTE = 60.0

PRINTED_PHASE = "minutes in the phase of the printed one"
"""Name of the reading in which the minutes of averages do not begin at submission."""


def gamma_runs(
    run: Callable[[str, int, Parameters], RunSpec], parameters: Parameters, excluded: Sequence[str]
) -> tuple[RunSpec, ...]:
    """Storm once and T-Storm once per gamma, for every seed; ``run`` is given variant, seed and parameters.

    No run has ``gammas``, ``seeds`` or the ``excluded`` parameters (files, and values that are tried one at a
    time), and Storm's has none of T-Storm's: a run is played once for all values that do not affect it.
    """
    tstorm = parameters.without("gammas", "seeds", *excluded)
    settings = {STORM: tstorm.without(*TSTORM_ONLY)}
    for gamma in parameters.numbers("gammas"):
        settings[tstorm_variant(gamma)] = tstorm.changed(gamma=gamma)
    return tuple(
        run(variant, seed, values) for variant, values in settings.items() for seed in parameters.seeds
    )


def printed_gammas(parameters: Parameters, figures: Mapping[float, str]) -> dict[float, str]:
    """The gammas of a run that the paper prints, in their order, with their entries of ``figures``."""
    return {gamma: figures[gamma] for gamma in parameters.numbers("gammas") if gamma in figures}


def processing_ms(
    tables: Tables, variant: str, seeds: Sequence[int], from_s: float, to_s: float = float("inf")
) -> Samples:
    """Mean processing time of the tuples that complete in ``[from_s, to_s)``, from bins of 10 s."""
    return mean_over(tables.latency_10s, "processing_mean_ms", variant, seeds, from_s=from_s, to_s=to_s)


def gains_from(tables: Tables, gamma: float, seeds: Sequence[int], from_s: float) -> Samples:
    """T-Storm's "speedup" in percent: the reduction of the mean processing time from ``from_s`` on."""
    return reductions(
        processing_ms(tables, tstorm_variant(gamma), seeds, from_s),
        processing_ms(tables, STORM, seeds, from_s),
    )


def gain_claim(
    claim: str, tables: Tables, gamma: float, seeds: Sequence[int], stable_s: float
) -> Measurement:
    """Measure the gain with a gamma: from ``stable_s`` on with gamma 1, else after the re-assignment."""
    start = stable_s if gamma == 1.0 else COMPARED_FROM_S
    how = GAIN.format(start)
    return measurement(claim, gains_from(tables, gamma, seeds, start), how=how)


def minute_from(tables: Tables, variant: str, seeds: Sequence[int], starts: Samples) -> Samples:
    """Mean processing time of the minute that starts with the bin of each seed's start."""

    def mean(seed: int, start: float) -> float | None:
        low = start // 10 * 10
        return processing_ms(tables, variant, (seed,), low, low + _SECONDS_A_MINUTE)[0]

    return per_seed(mean, seeds, starts)


def consolidated_s(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Time at which the initial consolidation is over: its last executor is ready, and tuples complete.

    That is the last change of the occupancy before any generated schedule, or the start of the first bin with
    completed tuples that does not end before it, whichever is later. None without a rebalance command.
    """
    found: Samples = []
    for seed in seeds:
        events = of_run(tables.events, variant, seed)
        commands = events[(events["kind"] == "rebalance") & (events["time_s"] < FIRST_SCHEDULE_S)]["time_s"]
        steps = of_run(tables.occupancy, variant, seed)["from_s"]
        # Without a command this is empty: no step is later than NaN.
        ready = steps[(steps > commands.min()) & (steps < FIRST_SCHEDULE_S)]
        # Bins from the command on would not do: its own bin still holds tuples of the old workers.
        bins = of_run(tables.latency_10s, variant, seed)["t_s"]
        later = bins[bins + 10 > ready.max()]
        found.append(max(float(ready.max()), float(later.min())) if len(later) else None)
    return found


def at_time(table: pd.DataFrame, column: str, variant: str, seeds: Sequence[int], time_s: float) -> Samples:
    """A column of the step that covers ``time_s``, in a table of steps such as the occupancy."""
    return value_of(table[(table["from_s"] <= time_s) & (table["to_s"] > time_s)], column, variant, seeds)


def stable_after(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Time from which the processing time is level after the first generated schedule; None without one."""
    stretches = tables.stabilisation
    later = stretches[stretches["from_s"] > FIRST_SCHEDULE_S].sort_values("from_s")
    return value_of(later, "stable_s", variant, seeds)


def minute_peak_at(
    tables: Tables, variant: str, seeds: Sequence[int], centre_s: float = _SECONDS_A_MINUTE / 2
) -> Samples:
    """Middle of the minute with the highest mean processing time, from the first generated schedule on.

    A minute has its middle at ``centre_s``; by default minutes begin at submission. None without a spike.
    """
    first_s = centre_s - _SECONDS_A_MINUTE / 2

    def middle_s(seed: int, spike_s: float) -> float | None:
        bins = of_run(tables.latency_10s, variant, seed).dropna(subset=["processing_mean_ms"])
        # A bin of 10 s belongs to the minute that holds its middle.
        minute = (bins["t_s"] + 5.0 - first_s) // _SECONDS_A_MINUTE
        later = minute >= (spike_s - first_s) // _SECONDS_A_MINUTE
        sums = (bins["processing_mean_ms"] * bins["tuples"])[later].groupby(minute[later]).sum()
        means = sums / bins["tuples"][later].groupby(minute[later]).sum()
        return centre_s + _SECONDS_A_MINUTE * float(means.idxmax()) if len(means) else None

    return per_seed(middle_s, seeds, value_of(_spikes(tables), "time_s", variant, seeds))


def spike_claim(
    claim: str, tables: Tables, variant: str, seeds: Sequence[int], printed_s: float
) -> tuple[Measurement, Measurement]:
    """Measure a printed spike time by minutes from submission, and by minutes in the phase of the print.

    The paper's minute averages are some seconds past the minute, and it does not say when its minutes begin.
    """
    how = "middle of the minute of highest mean processing time from the re-assignment on; minutes "
    phase_s = printed_s % _SECONDS_A_MINUTE
    counted = minute_peak_at(tables, variant, seeds)
    phased = minute_peak_at(tables, variant, seeds, phase_s)
    other = measurement(claim, phased, how=how + f"whose middles are {phase_s:g} s past")
    return (
        measurement(claim, counted, how=how + "counted from submission"),
        replace(other, reading=PRINTED_PHASE),
    )


def spike_at(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Middle of the peak's bin after the first generated schedule; None if the peak is not a spike."""
    return per_seed(lambda peak_s: peak_s + 5.0, value_of(_spikes(tables), "peak_s", variant, seeds))


def _spikes(tables: Tables) -> pd.DataFrame:
    """Spikes after the first generated schedule, in the order of their times."""
    events = tables.spikes
    return events[(events["time_s"] > FIRST_SCHEDULE_S) & events["is_spike"].eq(True)].sort_values("time_s")
