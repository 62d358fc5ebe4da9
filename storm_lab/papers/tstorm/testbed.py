"""T-Storm's clusters, and the settings that all experiments of section V share."""

from __future__ import annotations

from storm_lab.model.cluster import Cluster, Node
from storm_lab.model.topology import Resources
from storm_lab.model.version import V0_8_2
from storm_lab.papers.parameter import Parameter

VERSION = V0_8_2

STORM = "storm-default"
"""Variant of the runs under Storm's own scheduler."""


def tstorm_variant(gamma: float) -> str:
    """Variant of T-Storm's runs with this gamma."""
    return f"tstorm-g{gamma:g}"


SECTION_V_NODES = 10


def section_v(nodes: int = SECTION_V_NODES) -> Cluster:
    """Section V: blades of dual 2.0 GHz Xeons, 2 GB, 1 Gbps; nimbus has a machine of its own.

    Cores are not printed there. Section III has two dual cores in the same blades, and 40 workers on 10 nodes
    make 4 slots, the usual one per core: hence 4.
    """
    return Cluster(
        tuple(
            Node(
                id=f"node{number:02d}",
                cores=4,
                core_mhz=2000.0,
                memory_mb=2048.0,
                nic_mbps=1000.0,
                offer=Resources(cpu_points=400.0, memory_mb=2048.0),
            )
            for number in range(1, nodes + 1)
        )
    )


COMMON: tuple[Parameter, ...] = (
    Parameter(
        "seeds",
        (1, 2, 3),
        "one emulation of every setting per seed; the paper prints one run each",
        low=0,
        high=2**31 - 1,
    ),
    Parameter("duration_s", 1000.0, "virtual length of a run (section V)", unit="s", low=60, high=7200),
    Parameter(
        "alpha",
        0.5,
        "weight of the past in the monitors' moving average (section V, table of settings)",
        low=0.0,
        high=0.99,
    ),
    Parameter("monitor_s", 20.0, "period of the load monitors (section V)", unit="s", low=1, high=300),
    Parameter(
        "generation_s", 300.0, "period of the schedule generator (section V)", unit="s", low=20, high=3600
    ),
    Parameter(
        "fetch_s", 10.0, "period at which schedules are fetched (section V)", unit="s", low=1, high=300
    ),
    Parameter(
        "capacity_fraction",
        0.9,
        "share of a node's CPU that Algorithm 1 may fill; the paper allows 'a fraction', without a number",
        low=0.7,
        high=1.0,
    ),
)
"""Parameters of every experiment of section V; ranges from what the paper leaves open."""
