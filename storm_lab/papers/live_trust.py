"""How far the emulator agrees with real Storm: recorded live runs beside the same scenes in the emulator.

It answers no claim of a paper. Nothing is played beforehand: the notebook reads the recorded runs of
``data/live`` and has the emulator play what they played.
"""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, no_runs
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters

SLUG = "live-trust"

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "seeds",
        (1,),
        "one emulation of every sitting per seed",
        low=0,
        high=2**31 - 1,
    ),
)


def measure(tables: None, parameters: Parameters) -> tuple[Measurement, ...]:
    """No claim rests on real Storm."""
    return ()


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="several papers",
    title="The emulator beside real Storm",
    figure="scenes predicted and measured",
    parameters=PARAMETERS,
    notebook="live/trust.ipynb",
    metrics=(),
    runs=no_runs,
    measure=measure,
)
