"""What the runs of the tweet word count say about the claims of MF-Storm's figure 8."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.papers.mfstorm.grid_claims import PER_NODE, GridTables, grid_claims, grid_values
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION
from storm_lab.papers.mfstorm.starter import TWEET_WORD_COUNT

SLUG = "mfstorm-tweet-wordcount"

CLAIMS = (
    "mfstorm-fig8-s6-default",
    "mfstorm-fig8-s6-isolation",
    "mfstorm-fig8-avg",
)
METRICS = ("steady",)
"""The metric tables that the notebook and `measure` read."""


def measure(tables: GridTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that these runs answer."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    cells = grid_values(tables, SLUG, TWEET_WORD_COUNT, PER_NODE, seeds)
    return grid_claims("fig8", cells, TWEET_WORD_COUNT, (DEFAULT, ISOLATION))
