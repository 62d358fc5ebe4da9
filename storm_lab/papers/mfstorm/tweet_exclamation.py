"""MF-Storm's tweet exclamation (figures 9 and 10): 2,500 words of messages, one every 50 ms and spout."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.papers.mfstorm.grid import COMMON, cells, exclaim_parameter, sleep_parameter
from storm_lab.papers.mfstorm.grid_readings import grid_claims, s6_claim, since_submission
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS
from storm_lab.papers.mfstorm.starter import TWEET_EXCLAMATION

SLUG = "mfstorm-tweet-exclamation"

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


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that these runs answer."""
    seeds = parameters.seeds
    cells = since_submission(tables, SLUG, TWEET_EXCLAMATION, seeds)
    return (
        *grid_claims("fig10", cells, TWEET_EXCLAMATION, (DEFAULT, ISOLATION, RAS)),
        s6_claim("mfstorm-fig10-s6-ras", cells, RAS),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Tweet exclamation under four schedulers in six scenarios",
    figure="Figures 9, 10",
    parameters=PARAMETERS,
    notebook="mfstorm/grid.ipynb",
    metrics=("component_throughput_60s", "steady"),
    runs=runs,
    measure=measure,
)
