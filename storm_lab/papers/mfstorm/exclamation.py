"""MF-Storm's Exclamation (figures 4 to 6): storm-starter's, whose spouts sleep 100 ms before each emit."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.mfstorm.exclamation_claims import CLAIMS, METRICS, SLUG, measure
from storm_lab.papers.mfstorm.grid import COMMON, cells, exclaim_parameter, sleep_parameter
from storm_lab.papers.mfstorm.starter import EXCLAMATION

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    sleep_parameter(100.0, "sleep of every spout executor before each emit (section on Exclamation)"),
    exclaim_parameter(5.0),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid."""
    return cells(SLUG, EXCLAMATION, parameters)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Exclamation under four schedulers in six scenarios",
    figure="Figures 4 to 6",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="mfstorm/exclamation.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
