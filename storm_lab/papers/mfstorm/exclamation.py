"""MF-Storm's Exclamation (figures 4 to 6): storm-starter's, whose spouts sleep 100 ms before each emit."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.settling import Settling
from storm_lab.papers.mfstorm.grid import COMMON, cells, exclaim_parameter, sleep_parameter
from storm_lab.papers.mfstorm.grid_readings import grid_claims, since_submission
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS
from storm_lab.papers.mfstorm.starter import EXCLAMATION

SLUG = "mfstorm-exclamation"

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    sleep_parameter(100.0, "sleep of every spout executor before each emit (section on Exclamation)"),
    exclaim_parameter(5.0),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid."""
    return cells(SLUG, EXCLAMATION, parameters)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that these runs answer."""
    seeds = parameters.seeds
    cells = since_submission(tables, SLUG, EXCLAMATION, seeds)
    return grid_claims("fig5", cells, EXCLAMATION, (DEFAULT, ISOLATION, RAS))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Exclamation under four schedulers in six scenarios",
    figure="Figures 4 to 6",
    parameters=PARAMETERS,
    notebook="mfstorm/grid.ipynb",
    metrics=("component_throughput_60s", "steady"),
    runs=runs,
    measure=measure,
    settling=(Settling(("mfstorm-fig5-s6-isolation",), variants=("S6-mf-storm", "S3-isolation")),),
)
