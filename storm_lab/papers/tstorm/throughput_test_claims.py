"""What the runs of the Throughput Test say about the claims of T-Storm's figure 5.

Kept apart from the runs themselves: a change here needs no new emulation.
"""

from __future__ import annotations

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measurement, reductions, value_of
from storm_lab.papers.tstorm.gamma_runs import (
    GENERATED_S,
    RESTABLE_S,
    at_time,
    consolidated_s,
    minute_from,
    processing_ms,
    spike_at,
    stable_after,
)
from storm_lab.papers.tstorm.testbed import STORM, tstorm_variant

STABLE_S = 200.0
"""From here on the paper compares the runs with gamma 1."""

CLAIMS = (
    "tstorm-fig5a-init-period",
    "tstorm-fig5a-workers",
    "tstorm-fig5a-tstorm-ms",
    "tstorm-fig5a-storm-ms",
    "tstorm-fig5a-storm-stable",
    "tstorm-fig5a-speedup",
    "tstorm-fig5a-nodes",
    "tstorm-fig5b-speedup",
    "tstorm-fig5b-stable",
    "tstorm-fig5b-spike",
    "tstorm-fig5c-speedup",
)
"""Those of figure 5 that need runs. Node counts at larger gammas follow from the algorithm alone, and the
headline speaks of another topology too."""
METRICS = (
    "latency_10s",
    "latency_60s",
    "steady_latency",
    "latency_distribution",
    "failures_60s",
    "steady_traffic_share",
    "occupancy",
    "steady",
    "stabilisation",
    "spikes",
    "events",
)
"""The metric tables that the notebook and `measure` read."""

REASSIGNED = 1.7
"""The gamma whose re-assignment the claims time."""
_PAPER_GAMMAS = {1.0: "5a", 1.7: "5b", 6.0: "5c"}


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 5 that the runs with these gammas answer."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    found: list[Measurement] = []
    for gamma in dict.fromkeys(parameters.numbers("gammas")):
        if gamma not in _PAPER_GAMMAS:
            continue
        figure, variant = _PAPER_GAMMAS[gamma], tstorm_variant(gamma)
        start = STABLE_S if gamma == 1.0 else RESTABLE_S
        gains = reductions(
            processing_ms(tables, variant, seeds, start), processing_ms(tables, STORM, seeds, start)
        )
        found.append(
            measurement(
                f"tstorm-fig{figure}-speedup",
                gains,
                unit="%",
                how="100 * (1 - T-Storm / Storm), mean processing time of tuples that complete "
                f"from {start:g} s on",
            )
        )
        if gamma == 1.0:
            found += _of_the_start(tables, variant, seeds)
        if gamma == REASSIGNED:
            found += _of_the_reassignment(tables, variant, seeds)
    return tuple(found)


def tried_variant(variant: str, warm_up_s: float) -> str:
    """Variant of a run with another time constant of the warm-up."""
    return f"{variant}-u{warm_up_s:g}"


def _of_the_start(tables: Tables, variant: str, seeds: tuple[int, ...]) -> list[Measurement]:
    over = consolidated_s(tables, variant, seeds)
    minute = "mean processing time of the minute after T-Storm's initial period"
    return [
        measurement(
            "tstorm-fig5a-init-period",
            over,
            unit="s",
            how="time at which the last executor of the initial assignment is ready and tuples complete",
        ),
        measurement(
            "tstorm-fig5a-nodes",
            value_of(tables.steady, "nodes_last", variant, seeds),
            unit="nodes",
            how="nodes with an executor at the end of the run",
            basis=Basis.ARITHMETIC,
        ),
        measurement(
            "tstorm-fig5a-workers",
            at_time(tables.occupancy, "workers", variant, seeds, GENERATED_S),
            unit="workers",
            how=f"workers with an executor at {GENERATED_S:g} s, before any schedule is generated",
            basis=Basis.ARITHMETIC,
        ),
        measurement(
            "tstorm-fig5a-tstorm-ms",
            minute_from(tables, variant, seeds, over),
            unit="ms",
            how=minute,
        ),
        measurement(
            "tstorm-fig5a-storm-ms",
            minute_from(tables, STORM, seeds, over),
            unit="ms",
            how=minute,
        ),
        measurement(
            "tstorm-fig5a-storm-stable",
            value_of(tables.stabilisation, "stable_s", STORM, seeds),
            unit="s",
            how="start of the first 10 s bin from which on the mean is within 10 % of its last level",
        ),
    ]


def _of_the_reassignment(tables: Tables, variant: str, seeds: tuple[int, ...]) -> list[Measurement]:
    return [
        measurement(
            "tstorm-fig5b-stable",
            stable_after(tables, variant, seeds),
            unit="s",
            how="after the re-assignment, start of the first 10 s bin from which on the mean is within 10 % "
            "of its last level",
        ),
        measurement(
            "tstorm-fig5b-spike",
            spike_at(tables, variant, seeds),
            unit="s",
            how="middle of the 10 s bin of highest mean processing time after the re-assignment",
        ),
    ]
