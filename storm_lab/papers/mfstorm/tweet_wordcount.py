"""MF-Storm's tweet word count (figures 7 and 8): the words of 5,000 messages, one every 50 ms per spout."""

from __future__ import annotations

from storm_lab.experiments.experiment import Settling
from storm_lab.papers.mfstorm.grid import SPLIT_US, TWEET_SLEEP
from storm_lab.papers.mfstorm.grid_experiment import SETTLED_VARIANTS, grid_experiment
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION
from storm_lab.papers.mfstorm.starter import TWEET_WORD_COUNT

SLUG = "mfstorm-tweet-wordcount"

EXPERIMENT = grid_experiment(
    SLUG,
    TWEET_WORD_COUNT,
    (TWEET_SLEEP, SPLIT_US),
    title="Tweet word count",
    figures="Figures 7, 8",
    per_node="fig8",
    baselines=(DEFAULT, ISOLATION),
    settling=(Settling(("mfstorm-fig8-s6-isolation",), variants=SETTLED_VARIANTS),),
)
