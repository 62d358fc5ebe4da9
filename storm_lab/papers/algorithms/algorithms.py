"""Claims of all five papers that follow from an algorithm alone, measured by running that algorithm.

The ledger lists each under the experiment that it is about, and this one as the one that answers it.
"""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.papers.algorithms import mfstorm, nstorm, rstorm, tstorm, twitter
from storm_lab.papers.algorithms.twitter import PARAMETERS as TWITTER_PARAMETERS

SLUG = "algorithms"

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter(
        "ten repetitions, as printed, each with its own phases of N-Storm's cycles and ids of tuples",
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    ),
    *TWITTER_PARAMETERS,
)


def measure(tables: None, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure every claim; without runs there are no tables."""
    of_three = (*tstorm.measure(), *rstorm.measure(), *nstorm.measure(parameters.seeds))
    return (*twitter.measure(parameters), *of_three, *mfstorm.measure())


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="all five papers",
    title="What follows from the algorithms alone",
    figure="node counts, orders, cycles, checksums",
    parameters=PARAMETERS,
    notebook="algorithms.ipynb",
    measure=measure,
)
