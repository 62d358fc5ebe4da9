"""T-Storm's three topologies over gamma: the runs of figures 5, 6 and 8 side by side, and further gammas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Samples, Tables, measurement, part_of
from storm_lab.experiments.trial import TRIALS, Trial, tried, under_trials, with_trials
from storm_lab.papers.tstorm import log_stream, throughput_test, word_count
from storm_lab.papers.tstorm.gamma_runs import COMPARED_FROM_S, GAIN, METRICS, gains_from, processing_ms
from storm_lab.papers.tstorm.testbed import COMMON, CORES, STORM, TWO_CORES, TWO_CORES_NAME, tstorm_variant

SLUG = "tstorm-gamma-sweep"

SEVEN_NODES = {
    throughput_test.TOPOLOGY: (throughput_test.SLUG, 1.7),
    word_count.TOPOLOGY: (word_count.SLUG, 1.8),
    log_stream.TOPOLOGY: (log_stream.SLUG, 1.7),
}
"""Topology -> its experiment, and the gamma at which it runs on seven nodes."""

_HOW = GAIN.format(COMPARED_FROM_S)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "gammas_beyond",
        (4.0, 6.0),
        "consolidation factors of Word Count beyond figure 6; none is printed",
        within=(2.3, 10.0),
    ),
    *COMMON,
    CORES.tried((2,), "other numbers of cores of a node, played with the first seed only"),
    TRIALS,
)
_EXPLAINED = ("tstorm-fig6-gamma-crossover", "tstorm-7node-topology-order", "tstorm-headline")
"""Claims that the deviations explain."""
TWO_CORES_TRIAL = Trial("dear2", TWO_CORES_NAME, TWO_CORES, claims=_EXPLAINED)
_ORDER = ("tstorm-7node-topology-order",)
FULLER_TRIAL = Trial(
    "dear2full",
    f"{TWO_CORES_NAME}, workers of 500 MB",
    {**TWO_CORES, "resident_mb": 500.0},
    claims=_ORDER,
    chosen_on=_ORDER,
)
"""With two cores the order depends on memory, too: only the Throughput Test has four workers on a blade."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The runs of the three figures and Word Count with more gammas; `UserError`: unreadable input."""
    return (*_figure_runs(parameters), *under_trials(_figure_runs, parameters, _trials(parameters)))


def _trials(parameters: Parameters) -> tuple[Trial, ...]:
    """The deviations from the figures' own experiments, played with the first seed over all gammas."""
    cores = tried(parameters, "cores", "c{}", "{} cores a blade", claims=_EXPLAINED)
    return (*cores, TWO_CORES_TRIAL, FULLER_TRIAL)


def _figure_runs(parameters: Parameters) -> Iterator[RunSpec]:
    common = parameters.only(parameter.name for parameter in COMMON)
    yield from throughput_test.figure_runs(throughput_test.EXPERIMENT.checked(common))
    yield from word_count.figure_runs(word_count.EXPERIMENT.checked(common))
    further = common.changed(gammas=parameters.numbers("gammas_beyond"))
    for spec in word_count.figure_runs(word_count.EXPERIMENT.checked(further)):
        if "gamma" in spec.parameters:
            yield spec
    yield from log_stream.figure_runs(log_stream.EXPERIMENT.checked(common))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims that compare topologies, and the one on gammas beyond figure 6."""
    seeds = parameters.seeds
    beyond = tuple(dict.fromkeys(parameters.numbers("gammas_beyond")))
    seven = {
        topology: gains_from(part_of(tables, experiment), gamma, seeds, COMPARED_FROM_S)
        for topology, (experiment, gamma) in SEVEN_NODES.items()
    }
    levels = {
        f"{topology}/{name}": processing_ms(
            part_of(tables, SEVEN_NODES[topology][0]), variant, seeds, COMPARED_FROM_S
        )
        for topology in ("throughput-test", "word-count")
        for name, variant in (("storm", STORM), ("t-storm", tstorm_variant(1.0)))
    }
    over_gamma = f"smallest over gamma of {', '.join(f'{gamma:g}' for gamma in beyond)}: {_HOW}"
    headline = {topology: seven[topology] for topology in ("throughput-test", "log-stream")}
    gamma_1 = f"mean processing time of tuples that complete from {COMPARED_FROM_S:g} s on, gamma 1"
    return (
        measurement("tstorm-fig6-gamma-crossover", smallest(tables, beyond, seeds), how=over_gamma),
        measurement("tstorm-7node-topology-order", seven, how=_HOW),
        measurement("tstorm-headline", headline, how=_HOW),
        measurement("tstorm-wc-slower-than-tt", levels, how=gamma_1),
    )


def smallest(tables: Tables, gammas: Sequence[float], seeds: Sequence[int]) -> Samples:
    """Word Count's smallest gain over these gammas, by seed; None for a seed without any gain."""
    part = part_of(tables, SEVEN_NODES["word-count"][0])
    by_gamma = [gains_from(part, gamma, seeds, COMPARED_FROM_S) for gamma in gammas]
    by_seed = zip(*by_gamma, strict=True)
    return [min((gain for gain in gains if gain is not None), default=None) for gains in by_seed]


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="The consolidation factor: three topologies on fewer and fewer nodes",
    figure="section V, over figures 5, 6 and 8",
    parameters=PARAMETERS,
    notebook="tstorm/gamma_sweep.ipynb",
    metrics=(*METRICS, "failures_10s", "stabilisation", "spikes"),
    runs=runs,
    measure=with_trials(measure, _trials),
    chosen=(TWO_CORES_TRIAL, FULLER_TRIAL),
    settling=(
        Settling(
            _ORDER,
            (STORM, *dict.fromkeys(tstorm_variant(gamma) for _, gamma in SEVEN_NODES.values())),
            metrics=("latency_10s",),
        ),
    ),
)
