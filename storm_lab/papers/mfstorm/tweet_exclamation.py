"""MF-Storm's tweet exclamation (figures 9 and 10): 2,500 words of messages, one every 50 ms and spout."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.mfstorm.grid import COMMON, cells, exclaim_parameter, sleep_parameter
from storm_lab.papers.mfstorm.starter import TWEET_EXCLAMATION
from storm_lab.papers.mfstorm.tweet_exclamation_claims import CLAIMS, METRICS, SLUG, measure

SLEEP_MS = 50.0
"""Sleep of a spout executor before each emit (section on the tweet topologies)."""

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    sleep_parameter(SLEEP_MS, "sleep of every spout executor before each emit (section on tweet topologies)"),
    exclaim_parameter(5.0),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid."""
    return cells(SLUG, TWEET_EXCLAMATION, parameters)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Tweet exclamation under four schedulers in six scenarios",
    figure="Figures 9, 10",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="mfstorm/tweet_exclamation.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
