"""How long a moved executor is absent, by the phases of the two supervisors (N-Storm, figure 4).

The experiment ``algorithms`` answers the figure's claim; this one shows the other phases.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.parameter import Parameter
from storm_lab.papers.algorithms.nstorm import absence_s

SLUG = "nstorm-worst-case"
SCHEDULED_S = 0.5
"""Time of the new assignment in figure 4, within the cycle of T_s = 10 s."""

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "phases_s",
        (0.0, 1.0, 2.5, 5.0, 7.5, 9.5),
        "times at which a supervisor polls, in the cycle of 10 s; figure 4 has 1 s at the old node and 0 s "
        "at the new one, with the assignment at 0.5 s",
        within=(0, 9.99, "s"),
    ),
)


def absences(phases_s: Sequence[float]) -> pd.DataFrame:
    """Seconds during which the moved executor ran nowhere; 0 if the new copy starts before the old one stops.

    By phase of the node that it leaves (rows) and of the node that it moves to (columns).
    """
    return pd.DataFrame(
        [[absence_s(old, new, SCHEDULED_S) for new in phases_s] for old in phases_s],
        index=pd.Index(phases_s, name="old node reads at, s"),
        columns=pd.Index(phases_s, name="new node reads at, s"),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="The worst case of a moved executor, and the other cases",
    figure="Figure 4",
    parameters=PARAMETERS,
    notebook="nstorm/worst_case.ipynb",
)
