"""What the network-bound runs say about the claims of R-Storm's figure 8.

Kept apart from the runs themselves: a change here needs no new emulation.
"""

from __future__ import annotations

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measured, measurement
from storm_lab.papers.rstorm.layouts import MICRO
from storm_lab.papers.rstorm.sinks import SinkTables, gains, rates_of

CLAIMS = (
    "rstorm-fig8a-linear",
    "rstorm-fig8b-diamond",
    "rstorm-fig8c-star",
    "rstorm-headline-thr",
)
METRICS = ("component_throughput_10s", "steady_traffic_share", "steady_cpu", "steady")
"""The metric tables that the notebook and `measure` read."""

PRINTED = {"linear": 50.0, "diamond": 30.0, "star": 47.0}
"""Gains that figure 8 and section 6.3.1 print, in percent."""


def measure(tables: SinkTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The gains of the three panels, and their range. The window of one root tuple was chosen for them."""
    seeds, from_s = tuple(dict.fromkeys(parameters.integers("seeds"))), parameters.number("from_s")
    found = {
        topology: gains(
            *(rates_of(tables, topology, f"{topology}-{s}", seeds, from_s) for s in ("rstorm", "default"))
        )
        for topology in MICRO
    }
    how = f"100 * (R-Storm / default - 1), mean tuples per 10 s at the output bolts from {from_s:g} s on"
    panels = tuple(
        measurement(f"rstorm-fig8{panel}-{topology}", found[topology], unit="%", how=how, basis=Basis.FITTED)
        for panel, topology in zip("abc", MICRO, strict=True)
    )
    values = tuple(measured(found[topology], label=topology) for topology in MICRO)
    return (*panels, Measurement("rstorm-headline-thr", values, "%", how, Basis.FITTED))
