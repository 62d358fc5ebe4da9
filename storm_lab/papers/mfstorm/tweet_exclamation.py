"""MF-Storm's tweet exclamation (figures 9 and 10): 2,500 words of messages, one every 50 ms per spout."""

from __future__ import annotations

from storm_lab.experiments.experiment import Settling
from storm_lab.papers.mfstorm.grid import EXCLAIM_US, TWEET_SLEEP
from storm_lab.papers.mfstorm.grid_experiment import grid_experiment
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS
from storm_lab.papers.mfstorm.starter import TWEET_EXCLAMATION

SLUG = "mfstorm-tweet-exclamation"

EXPERIMENT = grid_experiment(
    SLUG,
    TWEET_EXCLAMATION,
    (TWEET_SLEEP, EXCLAIM_US),
    title="Tweet exclamation",
    figures="Figures 9, 10",
    per_node="fig10",
    baselines=(DEFAULT, ISOLATION, RAS),
    further={"mfstorm-fig10-s6-ras": RAS},
    settling=(Settling(("mfstorm-fig10-s6-ras",), variants=("S6-mf-storm", "S6-resource-aware")),),
)
