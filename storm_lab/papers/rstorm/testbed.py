"""R-Storm's machines: Emulab hosts with one 3 GHz core, 2 GB and 100 Mbps (section 6.1)."""

from __future__ import annotations

from storm_lab.model import Cluster, Node, Resources, StormVersion
from storm_lab.papers.rstorm.recording import HOSTS, host

VERSION = StormVersion((0, 9, 2))
OFFER = Resources(cpu_points=100.0, memory_mb=20480.0)
"""What a node's configuration tells the scheduler: ten times the memory that the machine has."""


CLOCK_MHZ = 1500.0
"""Clock of the hosts in terms of the cost model's machines.

They have one 3 GHz core of 2004, of a family that does about half as much in a cycle as the cores that came
two years later and that the constants hold for.
"""


def recorded_hosts(core_mhz: float = CLOCK_MHZ) -> Cluster:
    """The six hosts of the recordings.

    Which host stood in which of the two racks was not recorded: one rack, whose latency cannot matter to
    throughput without ackers.
    """
    return Cluster(
        tuple(
            Node(
                id=host(number),
                cores=1,
                core_mhz=core_mhz,
                memory_mb=2048.0,
                nic_mbps=100.0,
                offer=OFFER,
            )
            for number in range(HOSTS)
        )
    )
