"""MF-Storm's averages over topologies, scenarios and baselines, from the runs of the four topologies.

The runs are those of the other experiments, named after them, so that nothing is played twice.
"""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.mfstorm import exclamation, tweet_exclamation, tweet_wordcount, wordcount
from storm_lab.papers.mfstorm.grid import COMMON, cells, exclaim_parameter, split_parameter
from storm_lab.papers.mfstorm.starter import EXCLAMATION, TWEET_EXCLAMATION, TWEET_WORD_COUNT, WORD_COUNT
from storm_lab.papers.mfstorm.summary_claims import CLAIMS, METRICS, SLUG, TRIED_MS, measure, tried_prefix

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    Parameter("sleep_ms", 100.0, "sleep in Word Count and Exclamation", unit="ms", low=0, high=1000),
    Parameter("tweet_sleep_ms", 50.0, "sleep in the tweet topologies", unit="ms", low=0, high=1000),
    split_parameter(1000.0),
    exclaim_parameter(5.0),
    Parameter(
        "sleeps_tried_ms",
        TRIED_MS,
        "other sleeps for Exclamation in scenario 6, first seed: how much load the paper's result bears",
        unit="ms",
        low=0.2,
        high=1000,
    ),
)

_GRIDS = (
    (WORD_COUNT, wordcount.EXPERIMENT, "sleep_ms"),
    (EXCLAMATION, exclamation.EXPERIMENT, "sleep_ms"),
    (TWEET_WORD_COUNT, tweet_wordcount.EXPERIMENT, "tweet_sleep_ms"),
    (TWEET_EXCLAMATION, tweet_exclamation.EXPERIMENT, "tweet_sleep_ms"),
)


TRIED_S, TRIED_WARM_S = 90.0, 50.0
"""Length and warm-up of the runs with other sleeps; long enough for receive queues to fill."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grids of the four topologies, and Exclamation with other sleeps."""
    made: list[RunSpec] = []
    for kind, experiment, sleep in _GRIDS:
        values = parameters.changed(sleep_ms=parameters[sleep])
        own = values.only(declared.name for declared in experiment.parameters)
        made += cells(experiment.slug, kind, own)
    first = parameters.integers("seeds")[:1]
    for sleep_ms in dict.fromkeys(parameters.numbers("sleeps_tried_ms")):
        values = parameters.changed(
            sleep_ms=sleep_ms, seeds=first, duration_s=TRIED_S, warm_up_s=TRIED_WARM_S
        ).only(declared.name for declared in exclamation.PARAMETERS)
        made += cells(SLUG, EXCLAMATION, values, scenarios=("S6",), prefix=tried_prefix(sleep_ms))
    return tuple(made)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Averages over topologies, scenarios and baselines",
    figure="discussion of results",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="mfstorm/summary.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
