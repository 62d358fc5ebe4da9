"""MF-Storm's Word Count (figures 1 to 3): storm-starter's, whose spouts sleep 100 ms before each emit."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.mfstorm.grid import COMMON, cells, sleep_parameter, split_parameter
from storm_lab.papers.mfstorm.placement import RAS
from storm_lab.papers.mfstorm.starter import TWEET_WORD_COUNT, WORD_COUNT
from storm_lab.papers.mfstorm.tweet_wordcount import SLEEP_MS
from storm_lab.papers.mfstorm.tweet_wordcount_claims import SLUG as TWEET_SLUG
from storm_lab.papers.mfstorm.wordcount_claims import CLAIMS, METRICS, SLUG, measure

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    sleep_parameter(100.0, "sleep of every spout executor before each emit (section on Word Count)"),
    split_parameter(1000.0),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid, and the tweet word count under the resource-aware scheduler, for the slots that it takes."""
    tweets = parameters.changed(sleep_ms=SLEEP_MS)
    return (
        *cells(SLUG, WORD_COUNT, parameters),
        *cells(TWEET_SLUG, TWEET_WORD_COUNT, tweets, scenarios=("S6",), schedulers=(RAS,)),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Word Count under four schedulers in six scenarios",
    figure="Figures 1 to 3",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="mfstorm/wordcount.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
