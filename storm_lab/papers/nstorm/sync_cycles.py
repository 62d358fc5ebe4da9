"""Short cycles: N-Storm+ with four pairs of T_s and T_w, 16 executors at once (figures 13 and 14)."""

from __future__ import annotations

from itertools import chain

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.nstorm.delayed_kill import DELAY, MOVED
from storm_lab.papers.nstorm.delayed_kill_claims import plus
from storm_lab.papers.nstorm.multi_migration_claims import moving
from storm_lab.papers.nstorm.runs import run_specs, trials
from storm_lab.papers.nstorm.sync_cycles_claims import CLAIMS, METRICS, cycles, measure
from storm_lab.papers.nstorm.testbed import COMMON

SLUG = "nstorm-sync-cycles"
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "syncs_s",
        (10.0, 3.0, 1.0, 0.3),
        "T_s, the supervisors' cycle; the second is not printed, 3 s follow from the pattern",
        unit="s",
        low=0.1,
        high=60,
    ),
    Parameter(
        "polls_s",
        (3.0, 1.0, 0.3, 0.1),
        "T_w, the workers' cycle, one for each T_s",
        unit="s",
        low=0.05,
        high=30,
    ),
    MOVED,
    DELAY,
    *COMMON,
    Parameter(
        "poll_ms_tried",
        (2.0, 5.0, 30.0),
        "costs of a poll that are tried, first seed only",
        unit="ms",
        low=2,
        high=30,
    ),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm+ per pair of cycles and N-Storm with the longest, for every seed; other costs of a poll once.

    Raises:
        UserError: not as many T_s as T_w.
    """
    syncs, polls = parameters.numbers("syncs_s"), parameters.numbers("polls_s")
    if len(syncs) != len(polls):
        raise UserError(
            "must be as many as syncs_s, for they are used in pairs",
            field="parameter polls_s",
            value=list(polls),
            remedy=f"give {len(syncs)} numbers",
        )
    pairs = tuple(plus(parameters, sync_s, poll_s) for sync_s, poll_s in cycles(parameters))
    return (
        *run_specs(parameters, (moving(parameters.integer("moved")), *pairs)),
        *chain.from_iterable(trials(parameters, "poll_ms", pairs)),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="Cycles of N-Storm+: from 10 s down to 300 ms",
    figure="Figures 13 and 14",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="nstorm/sync_cycles.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
