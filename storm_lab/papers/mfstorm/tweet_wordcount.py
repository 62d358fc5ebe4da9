"""MF-Storm's tweet word count (figures 7 and 8): the words of 5,000 messages, one every 50 ms and spout."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.settling import Settling
from storm_lab.papers.mfstorm.grid import COMMON, cells, sleep_parameter, split_parameter
from storm_lab.papers.mfstorm.grid_readings import grid_claims, since_submission
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION
from storm_lab.papers.mfstorm.starter import TWEET_WORD_COUNT

SLUG = "mfstorm-tweet-wordcount"

SLEEP_MS = 50.0
"""Sleep of a spout executor before each emit (section on the tweet topologies)."""

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    sleep_parameter(SLEEP_MS, "sleep of every spout executor before each emit (section on tweet topologies)"),
    split_parameter(1000.0),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid."""
    return cells(SLUG, TWEET_WORD_COUNT, parameters)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that these runs answer."""
    seeds = parameters.seeds
    cells = since_submission(tables, SLUG, TWEET_WORD_COUNT, seeds)
    return grid_claims("fig8", cells, TWEET_WORD_COUNT, (DEFAULT, ISOLATION))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Tweet word count under four schedulers in six scenarios",
    figure="Figures 7, 8",
    parameters=PARAMETERS,
    notebook="mfstorm/grid.ipynb",
    metrics=("component_throughput_60s", "steady"),
    runs=runs,
    measure=measure,
    settling=(Settling(("mfstorm-fig8-s6-isolation",), variants=("S6-mf-storm", "S3-isolation")),),
)
