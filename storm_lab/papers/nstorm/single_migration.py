"""One executor moves every minute: Storm's rebalance, Storm* and N-Storm (N-Storm, figures 6 to 8)."""

from __future__ import annotations

from itertools import chain

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.nstorm.runs import run_specs, trial_tag, trials
from storm_lab.papers.nstorm.setting import NSTORM, REBALANCE, STAR, Setting
from storm_lab.papers.nstorm.single_migration_claims import CLAIMS, METRICS, PRINTED, fitted, measure
from storm_lab.papers.nstorm.testbed import COMMON

SLUG = "nstorm-single-migration"
PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    Parameter(
        "rebalance_wait_s",
        14.5,
        "wait of the rebalance command; fitted on the 279 s of figure 7, for with the printed 30 s the "
        "restart comes on top of it; the printed wait is played beside it",
        unit="s",
        low=0,
        high=60,
        chosen_on=("nstorm-fig7-storm-60",),
    ),
    Parameter(
        "waits_tried_s",
        (0.0, 7.0, 21.0),
        "waits that are tried beside the fitted and the printed one, first seed only",
        unit="s",
        low=0,
        high=60,
    ),
    Parameter("calls_tried", (1, 4), "concurrent calls that are tried, first seed only", low=1, high=256),
    Parameter(
        "warm_up_factors_tried",
        (1.0, 2.0),
        "costs of cold code, against compiled code, that are tried beside the engine's; first seed only",
        low=1,
        high=10,
    ),
)


def settings(parameters: Parameters) -> tuple[Setting, ...]:
    """Storm with the fitted wait and with the printed one, Storm*, N-Storm."""
    return (fitted(parameters), PRINTED, STAR, NSTORM)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each of the settings once for every seed; other waits, numbers of calls and costs of cold code once."""
    first = parameters.changed(seeds=parameters.integers("seeds")[:1])
    known = settings(parameters)
    waits = tuple(Setting(REBALANCE, wait_s=wait_s) for wait_s in parameters.numbers("waits_tried_s"))
    return (
        *run_specs(parameters, known),
        *run_specs(first, [setting for setting in waits if setting not in known]),
        *chain.from_iterable(trials(parameters, "calls", (STAR, NSTORM))),
        *chain.from_iterable(
            run_specs(
                first,
                (fitted(parameters), STAR, NSTORM),
                tag=trial_tag("warm", factor),
                own={"warm_up_factor": factor},
            )
            for factor in dict.fromkeys(parameters.numbers("warm_up_factors_tried"))
        ),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="One moved executor: Storm, Storm* and N-Storm",
    figure="Figures 6 to 8",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="nstorm/single_migration.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
