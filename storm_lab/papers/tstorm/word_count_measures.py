"""Measures of Word Count, for the claims of T-Storm's figure 6."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measurement, reductions, value_of
from storm_lab.experiments.trial import Trial, explained
from storm_lab.papers.tstorm.gamma_runs import (
    COMPARED_FROM_S,
    FIRST_SCHEDULE_S,
    at_time,
    gain_claim,
    processing_ms,
    spike_claim,
)
from storm_lab.papers.tstorm.testbed import STORM, TWO_CORES, TWO_CORES_NAME, tstorm_variant

STABLE_S = 150.0
"""The paper compares the runs with gamma 1 from this time on."""
PRINTED_SPIKE_S = 374.0
"""Time of the spike in figure 6(b)."""
TRIED_FROM_S = 250.0
"""Runs with other insert times are compared from here to their end."""

REMOVED_COSTS = {
    "crowding": ("process_penalty",),
    "memory": ("memory_slowdown",),
    "both": ("process_penalty", "memory_slowdown"),
}
"""Counterfactual -> the constants of the cost model that are set to 0: costs of a further process."""

_SETTLED = f"mean processing time after stabilisation: tuples that complete from {COMPARED_FROM_S:g} s on"
_PAPER_GAMMAS = {1.0: "6a", 1.8: "6b", 2.2: "6c"}


_GAINS = ("tstorm-fig6a-speedup", "tstorm-fig6b-speedup", "tstorm-fig6c-speedup", "tstorm-fig6-gamma-order")
TRIED: tuple[Trial, ...] = (
    Trial(
        "dear2",
        TWO_CORES_NAME,
        TWO_CORES,
        claims=("tstorm-fig6a-tstorm-ms", "tstorm-fig6a-storm-ms", *_GAINS),
        reading=True,
        chosen_on=("tstorm-fig6a-storm-ms",),
    ),
    Trial("c2", "two cores a blade", {"cores": 2}, claims=("tstorm-fig6a-storm-ms", *_GAINS)),
)
"""Trials, each played under Storm and with every gamma."""


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 6, also with other insert times and under the trials."""
    inserts = [
        Trial(f"s{store_us:g}", f"inserts of {store_us:g} us", claims=("tstorm-fig6a-stable",))
        for store_us in dict.fromkeys(parameters.numbers("store_us_tried"))
    ]
    return _measure(tables, parameters) + explained(_measure, tables, parameters, (*inserts, *TRIED))


def _measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 6 that the runs with these gammas answer."""
    seeds = parameters.seeds
    found: list[Measurement] = []
    gains: dict[float, Measurement] = {}
    for gamma in dict.fromkeys(parameters.numbers("gammas")):
        if gamma not in _PAPER_GAMMAS:
            continue
        figure, variant = _PAPER_GAMMAS[gamma], tstorm_variant(gamma)
        nodes = value_of(tables.steady, "nodes_last", variant, seeds)
        last = "nodes with an executor at the end of the run"
        gains[gamma] = gain_claim(f"tstorm-fig{figure}-speedup", tables, gamma, seeds, STABLE_S)
        found += [measurement(f"tstorm-fig{figure}-nodes", nodes, unit="nodes", how=last), gains[gamma]]
        if gamma == 1.0:
            stable = at_time(tables.stabilisation, "stable_s", variant, seeds, FIRST_SCHEDULE_S)
            how = "start of the first 10 s bin from which on the mean is within 10 % of its last level"
            found.append(measurement("tstorm-fig6a-stable", stable, unit="s", how=how))
            for name, played in (("tstorm", variant), ("storm", STORM)):
                level = processing_ms(tables, played, seeds, COMPARED_FROM_S)
                found.append(measurement(f"tstorm-fig6a-{name}-ms", level, unit="ms", how=_SETTLED))
        if gamma == 1.8:
            found += spike_claim("tstorm-fig6b-spike", tables, variant, seeds, PRINTED_SPIKE_S)
    if gains.keys() == _PAPER_GAMMAS.keys():
        values = tuple(replace(gains[gamma].values[0], label=f"gamma-{gamma:g}") for gamma in sorted(gains))
        how = "100 * (1 - T-Storm / Storm), as for the three panels"
        found.append(Measurement("tstorm-fig6-gamma-order", values, "%", how))
    return tuple(found)


def tried_variant(variant: str, store_us: float) -> str:
    """Variant of a run with another insert time."""
    return f"{variant}-s{store_us:g}"


def without_cost_variant(removed: str) -> str:
    """Variant of Storm's run without one of the costs of a further process."""
    return f"{STORM}-without-{removed}"


def gain_parts(tables: Tables, seed: int) -> pd.DataFrame:
    """T-Storm's gain with gamma 1 over Storm, and over Storm without some costs of a further process.

    One row per run of Storm: spared (what it does not pay, "nothing" first), storm_ms, tstorm_ms and gain_%
    (the reduction). Tuples that complete from `TRIED_FROM_S` on count. Runs that were not played have no row.
    """
    known = set(tables.latency_10s["variant"])
    (ours,) = processing_ms(tables, tstorm_variant(1.0), (seed,), TRIED_FROM_S)
    rows = []
    variants = {"nothing": STORM, **{name: without_cost_variant(name) for name in REMOVED_COSTS}}
    for name, variant in variants.items():
        if variant in known and ours is not None:
            (storms,) = processing_ms(tables, variant, (seed,), TRIED_FROM_S)
            (gain,) = reductions([ours], [storms])
            rows.append((name, storms, ours, gain))
    return pd.DataFrame(rows, columns=["spared", "storm_ms", "tstorm_ms", "gain_%"])


def tried_level_ms(tables: Tables, variant: str, seed: int) -> float | None:
    """Mean processing time of such a run after its start."""
    return processing_ms(tables, variant, (seed,), TRIED_FROM_S)[0]
