"""R-Storm: machines used by the CPU-bound layouts of figure 9, and a check for memory promised twice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.readings import calculated
from storm_lab.papers.rstorm.layouts import MEMORY_MB, MICRO, layout
from storm_lab.papers.rstorm.testbed import OFFER, VERSION, emulab
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.measures import PlacementMeasures
from storm_lab.schedulers.measures import measure as measure_placement
from storm_lab.schedulers.papers.rstorm import RStormScheduler

LAYOUTS = MICRO
REAL_MB = 2048.0
"""Memory of a machine. Its configuration offers ten times that, so that memory never limits a placement."""
DEMANDS_MB = (150.0, 500.0, 900.0)
"""Memory demands of a task in the memory check; the larger ones limit a placement before CPU does."""


@cache
def placed(name: str, memory_mb: float = MEMORY_MB, offered_mb: float = OFFER.memory_mb) -> PlacementMeasures:
    """Measures of R-Storm's placement of a layout on idle machines."""
    offer = replace(OFFER, memory_mb=offered_mb)
    topology = layout(name, memory_mb=memory_mb).topology
    view = SchedulingView((topology,), emulab(offer=offer), VERSION)
    return measure_placement(view, RStormScheduler().schedule(view).assignment)


def measure() -> tuple[Measurement, ...]:
    """Measure the node counts of figure 9 and the number of machines whose memory is promised twice."""
    counts = []
    for panel, name in zip("abc", LAYOUTS, strict=True):
        how = f"machines that R-Storm uses for the {name} layout on twelve of 100 points"
        counts.append(calculated(f"rstorm-fig9{panel}-nodes", placed(name).nodes, how=how))
    over = sum(placed(name, demand, REAL_MB).nodes_over_memory for name in LAYOUTS for demand in DEMANDS_MB)
    promised = "machines of 2 GB whose tasks ask for more, sum over three layouts and tasks of 150-900 MB"
    return (
        *counts,
        calculated("rstorm-no-hard-violation", over, how=promised),
    )
