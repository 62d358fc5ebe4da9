"""R-Storm's CPU-bound micro-benchmarks (figures 9 and 10): spouts and bolts that compute for each tuple.

Spouts sleep between emits, so all machines together have more CPU than the topologies use, and the question
is on how many machines the same work is done. Default runs with both readings of the worker count: twelve,
which most of the authors' files ask for, and one, which Storm takes where a file asks for none.
"""

from __future__ import annotations

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.rstorm.cpu_bound_claims import (
    CLAIMS,
    METRICS,
    WORKER_READINGS,
    default_setting,
    measure,
)
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, on_emulab, scheduler_of
from storm_lab.papers.rstorm.layouts import MICRO, layout
from storm_lab.papers.rstorm.streaming import topology_plan
from storm_lab.papers.rstorm.testbed import CLOCK, MACHINES, SEEDS, VERSION, emulab
from storm_lab.papers.rstorm.trial import TRIALS, Trial, played, variant_of
from storm_lab.papers.rstorm.usercode import Effort

SLUG = "rstorm-cpu-bound"

PARAMETERS: tuple[Parameter, ...] = (
    SEEDS,
    Parameter(
        "duration_s",
        200.0,
        "virtual length of a run; the paper's took 15 minutes",
        unit="s",
        low=60,
        high=900,
    ),
    Parameter("from_s", 100.0, "means are taken from here on", unit="s", low=20, high=800),
    CLOCK,
    Parameter(
        "work_ms",
        20.0,
        "CPU for each tuple in spouts and bolts, on these machines: trial division of 300..1999 in the "
        "authors' code, some two million remainders. These hosts divide slowly: upper end of the range",
        unit="ms",
        low=10,
        high=20,
    ),
    Parameter(
        "sleep_ms",
        100.0,
        "sleep of a spout before each emit, from the authors' code",
        unit="ms",
        low=0,
        high=1000,
    ),
    TRIALS,
)

TRIED: tuple[Trial, ...] = (
    Trial("work10", "10 ms a tuple", {"work_ms": 10.0}),
    Trial("sleep50", "spouts sleep 50 ms", {"sleep_ms": 50.0}),
    Trial("sleep0", "spouts never sleep", {"sleep_ms": 0.0}),
)


def settings(topology: str) -> dict[str, tuple[str, int]]:
    """The runs of a topology by name: scheduler, and workers that the topology asks for."""
    found = {default_setting(topology, workers): (DEFAULT, workers) for workers in WORKER_READINGS}
    # R-Storm takes the workers it needs, whatever the topology asks for.
    return {**found, f"{topology}-{RSTORM}": (RSTORM, MACHINES)}


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each topology under default with both worker counts and under R-Storm, and the trials."""
    shared = parameters.only(name for name in parameters if name not in ("seeds", "trials"))
    return tuple(
        RunSpec(
            experiment=SLUG,
            variant=variant_of(setting, trial),
            seed=seed,
            parameters=values.changed(topology=topology, scheduler=scheduler, workers=workers),
            describe=describe,
            storm_version=VERSION,
        )
        for trial, values, seeds in played(parameters, shared, TRIED)
        for topology in MICRO
        for setting, (scheduler, workers) in settings(topology).items()
        for seed in seeds
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values = spec.parameters
    clock_mhz = values.number("clock_mhz")
    made = layout(
        values.text("topology"), workers=values.integer("workers"), spout_sleep_ms=values.number("sleep_ms")
    )
    # The parameter holds on these machines, a trace at the cost model's clock.
    effort = Effort(work_us=values.number("work_ms") * 1000.0 * clock_mhz / CostModel().reference_mhz)
    plan = topology_plan(made.topology, made.definitions, (), effort=effort, timed=True)
    return on_emulab(spec, emulab(core_mhz=clock_mhz), (plan,), scheduler_of(values.text("scheduler")))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="CPU-bound micro-benchmarks: linear, diamond and star",
    figure="Figures 9 and 10",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="rstorm/cpu_bound.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
