"""How far the emulator can be trusted: a notebook compares it with recorded runs of real Storm.

`storm_lab.runs.live_trust` makes the comparison. The experiment has no claims, because no paper makes any,
and no runs of its own: the emulator plays the sittings of the recorded runs when the notebook is executed.
"""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.parameter import seed_parameter

SLUG = "live-trust"


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="real Storm",
    title="How far to trust the emulator",
    figure="scenes of 0.9.2, 0.9.7, 1.2.4 and 2.8.3 on four machines",
    parameters=(seed_parameter("one emulation of every sitting per seed", (1, 2, 3)),),
    notebook="live/trust.ipynb",
    reads=("data/live",),
)
