"""What the runs of Log Stream Processing say about the claims of T-Storm's figure 8.

Kept apart from the runs themselves: a change here needs no new emulation.
"""

from __future__ import annotations

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measurement
from storm_lab.papers.tstorm.gamma_runs import RESTABLE_S, gains_from

STABLE_S = 150.0
"""From here on the paper compares the runs with gamma 1."""

CLAIMS = ("tstorm-fig8a-speedup", "tstorm-fig8b-speedup", "tstorm-fig8c-comparable")
"""Those of figure 8 that need runs; node counts follow from the algorithm alone."""
METRICS = ("latency_10s", "latency_60s", "occupancy", "steady", "events")
"""The metric tables that the notebook and `measure` read."""

_PAPER_GAMMAS = {1.0: CLAIMS[0], 1.7: CLAIMS[1], 2.0: CLAIMS[2]}


def tried_variant(variant: str, rate_per_s: float) -> str:
    """Variant of a run with another rate of lines."""
    return f"{variant}-r{rate_per_s:g}"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 8 that the runs with these gammas answer.

    The rate of lines and the costs of rules and index were chosen for them, some fifteen settings tried.
    """
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    found = []
    for gamma in dict.fromkeys(parameters.numbers("gammas")):
        if gamma not in _PAPER_GAMMAS:
            continue
        start = STABLE_S if gamma == 1.0 else RESTABLE_S
        found.append(
            measurement(
                _PAPER_GAMMAS[gamma],
                gains_from(tables, gamma, seeds, start),
                unit="%",
                how="100 * (1 - T-Storm / Storm), mean processing time of tuples that complete "
                f"from {start:g} s on",
                basis=Basis.FITTED,
            )
        )
    return tuple(found)
