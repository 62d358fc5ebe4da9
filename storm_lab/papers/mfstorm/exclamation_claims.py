"""What the runs of Exclamation say about the claims of MF-Storm's figure 5."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.papers.mfstorm.grid_claims import PER_NODE, GridTables, grid_claims, grid_values
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS
from storm_lab.papers.mfstorm.starter import EXCLAMATION

SLUG = "mfstorm-exclamation"

CLAIMS = (
    "mfstorm-fig5-s6-default",
    "mfstorm-fig5-s6-isolation",
    "mfstorm-fig5-avg",
)
METRICS = ("steady",)
"""The metric tables that the notebook and `measure` read."""


def measure(tables: GridTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that these runs answer."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    cells = grid_values(tables, SLUG, EXCLAMATION, PER_NODE, seeds)
    return grid_claims("fig5", cells, EXCLAMATION, (DEFAULT, ISOLATION, RAS))
