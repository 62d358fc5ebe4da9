"""T-Storm's three topologies over gamma: the runs of figures 5, 6 and 8 side by side, and gammas beyond.

Runs of the figures are those of their own experiments, so they are played once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.tstorm import log_stream, throughput_test, word_count
from storm_lab.papers.tstorm.gamma_sweep_claims import CLAIMS, METRICS, measure, tried_variant
from storm_lab.papers.tstorm.testbed import COMMON

SLUG = "tstorm-gamma-sweep"

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "gammas_beyond",
        (4.0, 6.0),
        "consolidation factors of Word Count beyond figure 6; none is printed",
        low=2.3,
        high=10.0,
    ),
    *COMMON,
    Parameter("cores_tried", (2,), "other cores of a node, played with the first seed only", low=2, high=4),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The runs of the three figures, and Word Count with more gammas; everything else as in the figures.

    Raises:
        UserError: an input cannot be read.
    """
    common = {parameter.name: parameters[parameter.name] for parameter in COMMON}
    specs = list(_of_figures(common))
    further = {**common, "gammas": list(parameters.numbers("gammas_beyond"))}
    specs += [
        spec
        for spec in word_count.figure_runs(word_count.EXPERIMENT.checked(further))
        if "gamma" in spec.parameters
    ]
    for cores in dict.fromkeys(parameters.integers("cores_tried")):
        if cores != parameters.integer("cores"):
            first = {**common, "cores": cores, "seeds": [parameters.integers("seeds")[0]]}
            specs += [
                replace(spec, variant=tried_variant(spec.variant, cores)) for spec in _of_figures(first)
            ]
    return tuple(specs)


def _of_figures(common: Mapping[str, object]) -> Iterator[RunSpec]:
    yield from throughput_test.figure_runs(throughput_test.EXPERIMENT.checked(common))
    yield from word_count.figure_runs(word_count.EXPERIMENT.checked(common))
    yield from log_stream.figure_runs(log_stream.EXPERIMENT.checked(common))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="The consolidation factor: three topologies on fewer and fewer nodes",
    figure="section V, over figures 5, 6 and 8",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="tstorm/gamma_sweep.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
