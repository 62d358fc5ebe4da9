"""T-Storm's first observation (section III, figure 2): what spreading a chain over nodes costs."""

from __future__ import annotations

from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, changes, measurement
from storm_lab.experiments.trial import Trial, runs_of, tried, with_trials
from storm_lab.papers.tstorm.chain import BOLT_MS, SHARED, describe, settled_from_s
from storm_lab.papers.tstorm.gamma_runs import processing_ms
from storm_lab.papers.tstorm.testbed import VERSION

SLUG = "tstorm-obs1-traffic"
PLACEMENTS = {"n1w1": 1, "n5w5": 5, "n5w10": 10}
"""Variant -> workers asked for, with which the default scheduler makes that placement on five nodes."""

PARAMETERS: tuple[Parameter, ...] = (
    *SHARED,
    BOLT_MS.tried((1.3, 1.7, 2.2, 2.7), "other CPU costs of a bolt, played with the first seed only"),
    Parameter("duration_s", 400.0, "virtual length of a run; not printed", within=(60, 3600, "s")),
)

_PERCENTAGES = ("tstorm-fig2-n5w5", "tstorm-fig2-n5w10")


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each placement with every seed, and with the first seed for each other cost of a bolt."""
    shared = parameters.only(("tuple_kb", "duration_s", "bolt_ms", "service_cv")).changed(spouts=1)
    settings = {placement: {"workers": workers} for placement, workers in PLACEMENTS.items()}
    make = partial(RunSpec, SLUG, describe=describe, storm_version=VERSION, sample_every=100)
    return runs_of(make, settings, parameters, shared, _bolt_cost_trials(parameters))


def _bolt_cost_trials(parameters: Parameters) -> tuple[Trial, ...]:
    return tried(parameters, "bolt_ms", "b{}", "bolts of {} ms", claims=_PERCENTAGES)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 2."""
    seeds = parameters.seeds
    start = settled_from_s(parameters)
    means = {placement: processing_ms(tables, placement, seeds, start) for placement in PLACEMENTS}
    how = f"mean processing time of tuples that complete from {start:g} s on"
    wider = {placement: changes(means[placement], means["n1w1"]) for placement in ("n5w5", "n5w10")}
    return (
        *(
            measurement(f"tstorm-fig2-{name}", more, how=f"100 * ({name} / n1w1 - 1), {how}")
            for name, more in wider.items()
        ),
        measurement("tstorm-fig2-order", means, how=how),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Observation 1: the cost of traffic between nodes and workers",
    figure="Figure 2",
    parameters=PARAMETERS,
    notebook="tstorm/traffic.ipynb",
    metrics=("latency_10s", "steady_traffic_share", "steady"),
    runs=runs,
    measure=with_trials(measure, _bolt_cost_trials),
)
