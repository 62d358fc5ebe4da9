"""Claims of all five papers that follow from an algorithm alone, measured by that algorithm.

Each of them stands in the ledger under the experiment that it is about, with this one as the one that
answers it.
"""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, no_runs
from storm_lab.experiments.parameter import Parameter
from storm_lab.papers.algorithms.algorithms_claims import CLAIMS, measure
from storm_lab.papers.algorithms.twitter import PARAMETERS as TWITTER_PARAMETERS

SLUG = "algorithms"

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "seeds",
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        "of the phases of N-Storm's cycles (ten repetitions, as printed) and of the ids that are acked",
        low=0,
        high=2**31 - 1,
    ),
    *TWITTER_PARAMETERS,
)

EXPERIMENT = Experiment(
    slug=SLUG,
    paper="all five papers",
    title="What follows from the algorithms alone",
    figure="node counts, orders, cycles, checksums",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="algorithms.ipynb",
    metrics=(),
    runs=no_runs,
    measure=measure,
)
