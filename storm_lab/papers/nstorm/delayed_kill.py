"""The old thread lives two seconds longer: N-Storm against N-Storm+ with 16 executors (figures 11, 12)."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.nstorm.delayed_kill_claims import CLAIMS, METRICS, measure, plus
from storm_lab.papers.nstorm.multi_migration_claims import moving
from storm_lab.papers.nstorm.runs import run_specs
from storm_lab.papers.nstorm.testbed import COMMON

SLUG = "nstorm-delayed-kill"
MOVED = Parameter("moved", 16, "executors that move at each re-assignment (section V-D)", low=1, high=36)
DELAY = Parameter(
    "kill_delay_s", 2.0, "how long a moved executor lives on at its old worker", unit="s", low=0.1, high=30
)
PARAMETERS: tuple[Parameter, ...] = (
    MOVED,
    DELAY,
    Parameter(
        "delays_tried_s",
        (1.0, 4.0, 13.0),
        "delays that are tried beside it, first seeds only; 13 s are T_s and T_w together",
        unit="s",
        low=0.1,
        high=30,
    ),
    Parameter("trial_seeds", 3, "for how many of the seeds they are tried", low=1, high=100),
    *COMMON,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm and N-Storm+ once for every seed, other delays for the first ones."""
    first = parameters.changed(seeds=parameters.integers("seeds")[: parameters.integer("trial_seeds")])
    delays = dict.fromkeys(parameters.numbers("delays_tried_s"))
    tried = [
        plus(parameters.changed(kill_delay_s=delay_s))
        for delay_s in delays
        if delay_s != parameters.number("kill_delay_s")
    ]
    return (
        *run_specs(parameters, (moving(parameters.integer("moved")), plus(parameters))),
        *run_specs(first, tried),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="Delayed kill: N-Storm against N-Storm+",
    figure="Figures 11 and 12",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="nstorm/delayed_kill.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
