"""R-Storm: machines used by the CPU-bound layouts of figure 9, and memory never promised twice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from storm_lab.model import Cluster, Component, Node, Resources, Subscription, Topology
from storm_lab.model.version import V0_9_3
from storm_lab.papers.measurement import Basis, Measurement, single
from storm_lab.papers.rstorm.testbed import OFFER
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.measures import PlacementMeasures
from storm_lab.schedulers.measures import measure as measure_placement
from storm_lab.schedulers.rstorm import RStormScheduler

CLAIMS = (
    "rstorm-fig9a-nodes",
    "rstorm-fig9b-nodes",
    "rstorm-fig9c-nodes",
    "rstorm-no-hard-violation",
)

LAYOUTS = ("linear", "diamond", "star")
MACHINES = 12
MEMORY_MB = 150.0
"""Asked for by each task; not printed, from the authors' public code."""
REAL_MB = 2048.0
"""What a machine has; its configuration offers ten times that, so that memory binds nowhere."""
DEMANDS_MB = (150.0, 500.0, 900.0)
"""Demands of a task for which memory is checked: the larger ones bind before CPU does."""


def emulab(memory_mb: float = OFFER.memory_mb) -> Cluster:
    """Twelve machines in two racks of six, each offering one core and so much memory."""
    offer = replace(OFFER, memory_mb=memory_mb)
    return Cluster(
        tuple(
            Node(f"pc{number + 1:02d}", rack=f"vlan{number // 6}", cores=1, core_mhz=3000.0, offer=offer)
            for number in range(MACHINES)
        )
    )


def _component(name: str, tasks: int, cpu_points: float, *sources: str) -> Component:
    return Component(
        name,
        tasks,
        inputs=tuple(Subscription(source) for source in sources),
        resources=Resources(cpu_points=cpu_points, memory_mb=MEMORY_MB),
    )


_COMPONENTS = {
    "linear": (
        _component("spout", 4, 50),
        _component("bolt1", 6, 20, "spout"),
        _component("bolt2", 6, 20, "bolt1"),
        _component("bolt3", 6, 20, "bolt2"),
    ),
    "diamond": (
        _component("spout", 2, 50),
        _component("bolt1", 4, 20, "spout"),
        _component("bolt2", 4, 20, "spout"),
        _component("bolt3", 4, 20, "spout"),
        _component("bolt4", 4, 30, "spout"),
        _component("output", 6, 30, "bolt1", "bolt2", "bolt3", "bolt4"),
    ),
    "star": (
        _component("spout1", 2, 50),
        _component("spout2", 2, 50),
        _component("centre", 6, 20, "spout1", "spout2"),
        _component("output1", 6, 20, "centre"),
        _component("output2", 6, 20, "centre"),
    ),
}


def layout(name: str, memory_mb: float = MEMORY_MB) -> Topology:
    """A CPU-bound layout with the demands of the authors' public code: 560, 640 and 560 points in all."""
    components = tuple(
        replace(component, resources=replace(component.resources, memory_mb=memory_mb))
        for component in _COMPONENTS[name]
        if component.resources is not None
    )
    return Topology(name, components, workers=MACHINES, ackers=0)


@cache
def placed(name: str, memory_mb: float = MEMORY_MB, offered_mb: float = OFFER.memory_mb) -> PlacementMeasures:
    """Figures of R-Storm's placement of a layout on the idle machines."""
    view = SchedulingView((layout(name, memory_mb),), emulab(offered_mb), V0_9_3)
    return measure_placement(view, RStormScheduler().schedule(view).assignment)


def measure() -> tuple[Measurement, ...]:
    """The node counts of figure 9, and the machines whose memory is promised twice."""
    counts = tuple(
        single(
            f"rstorm-fig9{panel}-nodes",
            placed(name).nodes,
            unit="machines",
            how=f"machines that R-Storm uses for the {name} layout on twelve of 100 points",
            basis=Basis.ARITHMETIC,
        )
        for panel, name in zip("abc", LAYOUTS, strict=True)
    )
    return (
        *counts,
        single(
            "rstorm-no-hard-violation",
            sum(placed(name, demand, REAL_MB).nodes_over_memory for name in LAYOUTS for demand in DEMANDS_MB),
            unit="machines",
            how="machines of 2 GB whose tasks ask for more, sum over three layouts and tasks of 150-900 MB",
            basis=Basis.ARITHMETIC,
        ),
    )
