"""T-Storm's clusters, and the settings that all experiments of section V share."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.experiments.online_scheduling import PARAMETERS
from storm_lab.experiments.parameter import Parameter, ParameterValue
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


COMMON: tuple[Parameter, ...] = (
    *PARAMETERS,
    Parameter(
        "cores",
        TSTORM_V_CORES,
        "cores of a node, not printed; four as in section III, one for each of forty slots on ten nodes",
        low=2,
        high=4,
        chosen_on=(
            "tstorm-fig6-gamma-order",
            "tstorm-fig5a-speedup",
        ),
    ),
)
"""Parameters of every experiment of section V; ranges from what the paper leaves open."""


def with_defaults(declared: tuple[Parameter, ...], **defaults: ParameterValue) -> tuple[Parameter, ...]:
    """The same parameters, some of them with other defaults."""
    return tuple(
        replace(parameter, default=defaults[parameter.name]) if parameter.name in defaults else parameter
        for parameter in declared
    )
