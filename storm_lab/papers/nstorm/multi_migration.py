"""Several executors move at once: N-Storm with M = 1, 2, 4, 8 and 16 (figures 9 and 10)."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.nstorm.multi_migration_claims import CLAIMS, COMPARED_S, METRICS, STILL, measure, moving
from storm_lab.papers.nstorm.runs import run_specs
from storm_lab.papers.nstorm.testbed import COMMON

SLUG = "nstorm-multi-migration"
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "moved", (1, 2, 4, 8, 16), "executors that move at each re-assignment (figure 9)", low=1, high=36
    ),
    *COMMON,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm once per number of moved executors and once without any move, for every seed.

    Without a move the run is as long as the gain of figure 10 needs it.
    """
    short = parameters.changed(duration_s=min(parameters.number("duration_s"), COMPARED_S))
    return (
        *run_specs(parameters, [moving(m) for m in parameters.integers("moved")]),
        *run_specs(short, [STILL]),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="Several moved executors under N-Storm",
    figure="Figures 9 and 10",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="nstorm/multi_migration.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
