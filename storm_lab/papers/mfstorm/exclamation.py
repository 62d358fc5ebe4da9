"""MF-Storm's Exclamation (figures 4 to 6): from storm-starter; its spouts sleep 100 ms before each emit."""

from __future__ import annotations

from storm_lab.experiments.experiment import Settling
from storm_lab.papers.mfstorm.grid import EXCLAIM_US, sleep_parameter
from storm_lab.papers.mfstorm.grid_experiment import SETTLED_VARIANTS, grid_experiment
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS
from storm_lab.papers.mfstorm.starter import EXCLAMATION

SLUG = "mfstorm-exclamation"

EXPERIMENT = grid_experiment(
    SLUG,
    EXCLAMATION,
    (
        sleep_parameter(100.0, "sleep of every spout executor before each emit (section on Exclamation)"),
        EXCLAIM_US,
    ),
    title="Exclamation",
    figures="Figures 4 to 6",
    per_node="fig5",
    baselines=(DEFAULT, ISOLATION, RAS),
    settling=(Settling(("mfstorm-fig5-s6-isolation",), variants=SETTLED_VARIANTS),),
)
