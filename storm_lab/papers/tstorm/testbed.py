"""T-Storm's clusters, and the settings that all experiments of section V share."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.cost import CostModel
from storm_lab.experiments.online_scheduling import PARAMETERS
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.model.cluster import Cluster
from storm_lab.model.machines import TSTORM_V, TSTORM_V_CORES, numbered
from storm_lab.model.version import V0_8_2

VERSION = V0_8_2

STORM = "storm-default"
"""Variant of the runs under Storm's own scheduler."""


def tstorm_variant(gamma: float) -> str:
    """Variant of T-Storm's runs with this gamma."""
    return f"tstorm-g{gamma:g}"


SECTION_V_NODES = 10


def blades(nodes: int = SECTION_V_NODES, cores: int = TSTORM_V_CORES) -> Cluster:
    """Section V: blades of dual 2.0 GHz Xeons, 2 GB, 1 Gbps; nimbus has a machine of its own.

    How many cores a blade has is not printed there.
    """
    blade = replace(TSTORM_V, cores=cores, offer=replace(TSTORM_V.offer, cpu_points=100.0 * cores))
    return Cluster(numbered(blade, "node{:02d}", nodes))


SERVICE_CV = Parameter(
    "service_cv",
    CostModel().service_cv,
    "spread of service times: coefficient of variation of a call of user code; not printed, by default that "
    "of a trivial bolt on a plain JVM",
    low=0.0,
    high=1.5,
)
RESIDENT = Parameter(
    "resident_mb",
    CostModel().resident_mb,
    "memory that a worker process takes of its 2 GB blade, which slows down what exceeds it; not printed, by "
    "default that of real workers whose heaps are mostly empty; 918 with a full heap of 768 MB",
    unit="MB",
    low=50,
    high=2400,
)
FULL_HEAPS = {"resident_mb": 918.0}
"""Full heaps: four workers of a node then ask for nearly twice its memory."""
FULL_HEAPS_NAME = "workers with full heaps (918 MB)"


def costs_of(parameters: Parameters, cost: CostModel | None = None) -> CostModel:
    """The shared costs with those constants that a run's parameters set.

    ``cost`` stands in for the shared ones.
    """
    known = [p.name for p in (SERVICE_CV, RESIDENT) if p.name in parameters]
    return replace(cost or CostModel(), **{name: parameters.number(name) for name in known})


COMMON: tuple[Parameter, ...] = (
    *PARAMETERS,
    SERVICE_CV,
    RESIDENT,
    Parameter(
        "cores",
        TSTORM_V_CORES,
        "cores of a node, not printed; four as in section III, one for each of forty slots on ten nodes",
        low=2,
        high=4,
        chosen_on=("tstorm-fig6-gamma-order", "tstorm-fig5a-speedup"),
    ),
)
"""Parameters of every experiment of section V; ranges from what the paper leaves open."""
