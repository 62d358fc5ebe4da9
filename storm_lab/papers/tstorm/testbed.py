"""T-Storm's clusters, and the settings that all experiments of section V share."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.cost import CostModel
from storm_lab.experiments.online_scheduling import PARAMETERS
from storm_lab.experiments.parameter import Parameter, Parameters, number_text
from storm_lab.model.cluster import Cluster
from storm_lab.model.machines import TSTORM_V, TSTORM_V_CORES, numbered
from storm_lab.model.version import V0_8_2

VERSION = V0_8_2

STORM = "storm-default"
"""Variant of the runs under Storm's own scheduler."""


def tstorm_variant(gamma: float) -> str:
    """Variant of T-Storm's runs with this gamma."""
    return f"tstorm-g{number_text(gamma)}"


SECTION_V_NODES = 10


def blades(cores: int = TSTORM_V_CORES) -> Cluster:
    """Section V: blades of dual 2.0 GHz Xeons (cores not printed), 2 GB, 1 Gbps; Nimbus is on another."""
    blade = replace(TSTORM_V, cores=cores, offer=replace(TSTORM_V.offer, cpu_points=100.0 * cores))
    return Cluster(numbered(blade, "node{:02d}", SECTION_V_NODES))


SERVICE_CV = Parameter(
    "service_cv",
    CostModel().service_cv,
    "variation of service times: coefficient of variation of a call of user code; not printed, by default "
    "that of a trivial bolt on a plain JVM",
    within=(0.0, 1.5),
)
RESIDENT = Parameter(
    "resident_mb",
    CostModel().resident_mb,
    "memory that a worker process takes of its 2 GB blade; workers that exceed it are slowed down; not "
    "printed, by default that of real workers with nearly empty heaps; 600 to 700 if heaps of 768 MB are "
    "half to two thirds full",
    within=(50, 2400, "MB"),
)
FULLER_HEAPS = {"resident_mb": 640.0}
"""Heaps of 768 MB that are more than half full, beside the 200 MB of a worker. Four workers per node, as in
the Throughput Test under Storm, then lack almost a third of their memory; two, as in the others, fit.
"""
FULLER_HEAPS_NAME = "workers with heaps more than half full (640 MB)"
PROCESS_PENALTY = Parameter(
    "process_penalty",
    CostModel().process_penalty,
    "how much more CPU code needs if another worker process shares its core's caches; by default as measured "
    "with live Storm on a current processor. On R-Storm's recorded hosts, whose Xeons are as old as the "
    "blades, a second process takes 0.2 to 0.5 of what the first has, and in a model of them a message costs "
    "2.3 times as much",
    within=(0.0, 1.0),
)
WARM_UP_CALLS = Parameter(
    "warm_up_calls",
    CostModel().warm_up_calls,
    "calls after which half of the extra cost of cold code is gone; not printed, by default that of a plain "
    "modern JVM",
    within=(200, 15000, "calls"),
)
"""A parameter of the Throughput Test alone, whose figure prints when runs become stable."""
TWO_CORES = {"cores": 2, "process_penalty": 1.0}
"""Blades with two single-core processors, whose caches a second worker process takes away: the other meaning
of "dual 2.0 GHz Xeon". Figure 5(c) contradicts it: two such nodes cannot carry spouts that sleep 5 ms.
"""
TWO_CORES_NAME = "two cores a blade, code twice as dear beside another process"


def costs_of(parameters: Parameters) -> CostModel:
    """The shared costs with the constants that a run's parameters set."""
    known = (SERVICE_CV.name, RESIDENT.name, PROCESS_PENALTY.name, WARM_UP_CALLS.name)
    return replace(CostModel(), **{name: parameters.number(name) for name in known if name in parameters})


CORES = Parameter(
    "cores",
    TSTORM_V_CORES,
    "cores of a node, not printed; four as in section III: one for each of forty slots on ten nodes, and "
    "two such nodes can carry the Throughput Test, as in figure 5(c)",
    within=(2, 4),
    chosen_on=("tstorm-fig6-gamma-order", "tstorm-fig5a-speedup"),
)
COMMON: tuple[Parameter, ...] = (*PARAMETERS, SERVICE_CV, RESIDENT, PROCESS_PENALTY, CORES)
"""Parameters of every experiment of section V; their ranges cover what the paper leaves open."""
