"""What the three topologies over gamma say about the claims of T-Storm that compare them."""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measured, measurement
from storm_lab.papers.tstorm.gamma_runs import RESTABLE_S, gains_from, processing_ms
from storm_lab.papers.tstorm.part_claims import part_of
from storm_lab.papers.tstorm.testbed import STORM, tstorm_variant

SEVEN_NODES = {
    "throughput-test": ("tstorm-throughput-test", 1.7),
    "word-count": ("tstorm-word-count", 1.8),
    "log-stream": ("tstorm-log-stream", 1.7),
}
"""Topology -> its experiment, and the gamma with which it runs on seven nodes."""

CLAIMS = (
    "tstorm-fig6-gamma-crossover",
    "tstorm-7node-topology-order",
    "tstorm-headline",
    "tstorm-wc-slower-than-tt",
)
METRICS = (
    "latency_10s",
    "latency_60s",
    "failures_10s",
    "occupancy",
    "steady",
    "stabilisation",
    "spikes",
    "events",
)
"""The metric tables that the notebook and `measure` read."""

_HOW = f"100 * (1 - T-Storm / Storm), mean processing time of tuples that complete from {RESTABLE_S:g} s on"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that compare topologies, and the one on gammas beyond figure 6."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    beyond = tuple(dict.fromkeys(parameters.numbers("gammas_beyond")))
    seven = {topology: seven_nodes(tables, topology, seeds) for topology in SEVEN_NODES}
    levels = {
        f"{topology}/{name}": processing_ms(
            part_of(tables, SEVEN_NODES[topology][0]), variant, seeds, RESTABLE_S
        )
        for topology in ("throughput-test", "word-count")
        for name, variant in (("storm", STORM), ("t-storm", tstorm_variant(1.0)))
    }
    return (
        measurement(
            "tstorm-fig6-gamma-crossover",
            smallest(tables, beyond, seeds),
            unit="%",
            how=f"smallest over gamma of {', '.join(f'{gamma:g}' for gamma in beyond)}: {_HOW}",
        ),
        Measurement(
            "tstorm-7node-topology-order",
            tuple(measured(gains, label=topology) for topology, gains in seven.items()),
            "%",
            _HOW,
        ),
        Measurement(
            "tstorm-headline",
            tuple(
                measured(seven[topology], label=topology) for topology in ("throughput-test", "log-stream")
            ),
            "%",
            _HOW,
        ),
        Measurement(
            "tstorm-wc-slower-than-tt",
            tuple(measured(samples, label=label) for label, samples in levels.items()),
            "ms",
            f"mean processing time of tuples that complete from {RESTABLE_S:g} s on, gamma 1",
        ),
    )


def tried_variant(variant: str, cores: int) -> str:
    """Variant of a run on nodes with other cores."""
    return f"{variant}-c{cores}"


def seven_nodes(tables: Tables, topology: str, seeds: Sequence[int]) -> list[float | None]:
    """Reduction of the mean processing time of a topology on seven nodes, in percent."""
    experiment, gamma = SEVEN_NODES[topology]
    return gains_from(part_of(tables, experiment), gamma, seeds, RESTABLE_S)


def smallest(tables: Tables, gammas: Sequence[float], seeds: Sequence[int]) -> list[float | None]:
    """Word Count's smallest gain over these gammas, seed by seed; None for a seed without any gain."""
    part = part_of(tables, SEVEN_NODES["word-count"][0])
    found: list[float | None] = []
    for gains in zip(*(gains_from(part, gamma, seeds, RESTABLE_S) for gamma in gammas), strict=True):
        known = [gain for gain in gains if gain is not None]
        found.append(min(known) if known else None)
    return found
