"""What the runs with one moved executor say about the claims of N-Storm's figures 6 to 8."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measurement, reductions
from storm_lab.papers.nstorm.durations_claims import (
    Samples,
    Tables,
    change,
    degraded_s,
    labelled,
    per_move_s,
    quiet_per_s,
    ratio,
    shortest_s,
    total,
)
from storm_lab.papers.nstorm.setting import NSTORM, REBALANCE, STAR, Setting

PRINTED = Setting(REBALANCE, wait_s=30.0)
"""Storm with the wait that the paper prints."""

CLAIMS = (
    "nstorm-fig6-steady-equal",
    "nstorm-fig6-storm-stop",
    "nstorm-rebalance-min",
    "nstorm-fig6-stormstar",
    "nstorm-stormstar-half",
    "nstorm-existing-over-10s",
    "nstorm-fig6-nstorm-stop",
    "nstorm-fig7-storm-60",
    "nstorm-fig7-storm-100",
    "nstorm-fig7-stormstar-60",
    "nstorm-fig7-stormstar-quarter",
    "nstorm-fig7-nstorm-60",
    "nstorm-fig7-reductions",
    "nstorm-fig7-order",
    "nstorm-fig8-stormstar-storm",
    "nstorm-fig8-nstorm-stormstar",
    "nstorm-fig8-nstorm-storm",
)
METRICS = ("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control")
"""The metric tables that the notebook and `measure` read."""

_LEVEL = 60
_STANDSTILL = 100


def fitted(parameters: Parameters) -> Setting:
    """Storm with the wait that makes its whole stop as long as the paper's."""
    return Setting(REBALANCE, wait_s=parameters.number("rebalance_wait_s"))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that the runs answer."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    storm, star, ours = (setting.variant for setting in (fitted(parameters), STAR, NSTORM))
    level = {name: degraded_s(tables, name, seeds, _LEVEL) for name in (storm, star, ours)}
    standstill = {name: degraded_s(tables, name, seeds, _STANDSTILL) for name in (storm, star, ours)}
    each = {name: per_move_s(tables, name, seeds, _LEVEL) for name in (storm, star, ours)}
    done = {name: total(tables, name, seeds) for name in (storm, star, ours)}
    seconds = "seconds of the run with throughput at least {} % below the smooth mean of the same run"
    moved = "seconds at least {} % below the smooth mean, per re-assignment that the end does not cut off"
    answers = "calls answered in the whole run: 100 * (new / old - 1)"
    return (
        measurement(
            "nstorm-fig6-steady-equal",
            _spread([quiet_per_s(tables, name, seeds) for name in (storm, star, ours)]),
            unit="%",
            how="100 * (1 - slowest / fastest method), answers in the last 20 s before every re-assignment",
        ),
        measurement(
            "nstorm-fig6-storm-stop",
            per_move_s(tables, storm, seeds, _STANDSTILL),
            unit="s",
            how=moved.format(_STANDSTILL),
            basis=Basis.FITTED,
        ),
        measurement(
            "nstorm-rebalance-min",
            shortest_s(tables, PRINTED.variant, seeds, _STANDSTILL),
            unit="s",
            how="whole seconds without an answer, shortest re-assignment of a run with the printed wait",
        ),
        measurement("nstorm-fig6-stormstar", each[star], unit="s", how=moved.format(_LEVEL)),
        measurement(
            "nstorm-stormstar-half", ratio(each[star], each[storm]), unit="ratio", how=moved.format(_LEVEL)
        ),
        measurement("nstorm-existing-over-10s", each[star], unit="s", how=moved.format(_LEVEL)),
        measurement("nstorm-fig6-nstorm-stop", each[ours], unit="s", how=moved.format(_LEVEL)),
        measurement(
            "nstorm-fig7-storm-60", level[storm], unit="s", how=seconds.format(_LEVEL), basis=Basis.FITTED
        ),
        measurement("nstorm-fig7-storm-100", standstill[storm], unit="s", how=seconds.format(_STANDSTILL)),
        measurement("nstorm-fig7-stormstar-60", level[star], unit="s", how=seconds.format(_LEVEL)),
        measurement(
            "nstorm-fig7-stormstar-quarter",
            [None if s is None else s / parameters.number("duration_s") for s in level[star]],
            unit="share",
            how=seconds.format(_LEVEL) + ", over the length of the run",
        ),
        measurement("nstorm-fig7-nstorm-60", level[ours], unit="s", how=seconds.format(_LEVEL)),
        labelled(
            "nstorm-fig7-reductions",
            {
                "against-storm": reductions(level[ours], level[storm]),
                "against-storm-star": reductions(level[ours], level[star]),
            },
            unit="%",
            how="100 * (1 - N-Storm / other), " + seconds.format(_LEVEL),
        ),
        labelled(
            "nstorm-fig7-order",
            {
                f"{label}/{percent}": values[name]
                for percent, values in ((_LEVEL, level), (_STANDSTILL, standstill))
                for label, name in (("n-storm", ours), ("storm-star", star), ("storm", storm))
            },
            unit="s",
            how=seconds.format("60 or 100"),
        ),
        measurement("nstorm-fig8-stormstar-storm", change(done[star], done[storm]), unit="%", how=answers),
        measurement("nstorm-fig8-nstorm-stormstar", change(done[ours], done[star]), unit="%", how=answers),
        measurement("nstorm-fig8-nstorm-storm", change(done[ours], done[storm]), unit="%", how=answers),
    )


def wait_for(
    tables: Tables, waits_s: Sequence[float], seeds: Sequence[int], printed_s: float
) -> float | None:
    """The wait of the rebalance command that gives ``printed_s`` seconds of degradation at 60 %.

    On the line through two neighbours of the waits that were played with all these seeds: those on both sides
    of it, else the nearest two; None where there are no two, or longer waits do not degrade more.
    """
    points = []
    for wait_s in sorted(set(waits_s)):
        found = degraded_s(tables, Setting(REBALANCE, wait_s=wait_s).variant, seeds, _LEVEL)
        known = [value for value in found if value is not None]
        if len(known) == len(seeds):
            points.append((wait_s, sum(known) / len(known)))
    pairs = sorted(
        pairwise(points), key=lambda pair: max(pair[0][1] - printed_s, printed_s - pair[1][1], 0.0)
    )
    if not pairs:
        return None
    (wait_s, low), (longer_s, high) = pairs[0]
    return wait_s + (longer_s - wait_s) * (printed_s - low) / (high - low) if high > low else None


def _spread(methods: list[Samples]) -> Samples:
    """Per seed: how far the slowest lies below the fastest, in per cent."""
    spreads: Samples = []
    for rates in zip(*methods, strict=True):
        known = [rate for rate in rates if rate is not None]
        whole = len(known) == len(rates) and max(known) > 0
        spreads.append(100 * (1 - min(known) / max(known)) if whole else None)
    return spreads
