"""What the runs of the tweet exclamation say about the claims of MF-Storm's figures 9 and 10."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.papers.mfstorm.grid_claims import PER_NODE, GridTables, grid_claims, grid_values, s6_claim
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS
from storm_lab.papers.mfstorm.starter import TWEET_EXCLAMATION

SLUG = "mfstorm-tweet-exclamation"

CLAIMS = (
    "mfstorm-fig10-s6-default",
    "mfstorm-fig10-s6-isolation",
    "mfstorm-fig10-s6-ras",
    "mfstorm-fig10-avg",
)
METRICS = ("steady",)
"""The metric tables that the notebook and `measure` read."""


def measure(tables: GridTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that these runs answer."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    cells = grid_values(tables, SLUG, TWEET_EXCLAMATION, PER_NODE, seeds)
    return (
        *grid_claims("fig10", cells, TWEET_EXCLAMATION, (DEFAULT, ISOLATION, RAS)),
        s6_claim("mfstorm-fig10-s6-ras", cells, RAS),
    )
