"""R-Storm's machines: Emulab hosts with one 3 GHz core, 2 GB and 100 Mbps (section 6.1)."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.cost import CostModel
from storm_lab.experiments.parameter import Parameter, seed_parameter
from storm_lab.model import Cluster, Resources, StormVersion
from storm_lab.model.machines import RSTORM, RSTORM_BETWEEN_RACKS_US, RSTORM_MHZ, numbered
from storm_lab.papers.rstorm.recording import HOSTS, host
from storm_lab.papers.rstorm.usercode import CHARACTER_US

VERSION = StormVersion((0, 9, 2))
OFFER = RSTORM.offer
"""What a node's configuration offers to the scheduler: ten times the machine's memory."""

MACHINES = 12
"""Workers of the single-topology runs (section 6.1)."""
RACKS = 2
"""VLANs, each with half of the machines (section 6.1)."""
CLOCK = Parameter(
    "clock_mhz",
    RSTORM_MHZ,
    "clock of the hosts, converted to the machines for which the cost model's constants hold: the printed "
    "3 GHz belong to a family that does 0.48 of their work per cycle, by SPECint 2000",
    within=(1000, 3000, "MHz"),
)
CHARACTER = Parameter(
    "character_us",
    CHARACTER_US,
    "CPU to walk over a character in bolts that shorten lines, in a loop as in the authors' public code; up "
    "to 2 if each step makes a new text",
    within=(0.0, 2.0, "us"),
)
WORKERS = Parameter(
    "workers",
    MACHINES,
    "workers requested from the default scheduler; not printed, 12 in most of the authors' files",
    within=(1, 48),
)
SEEDS = seed_parameter("one emulation of every setting per seed; the paper has single runs of 15 minutes")


def recorded_hosts(core_mhz: float = RSTORM_MHZ) -> Cluster:
    """The six hosts of the recordings, in one rack: without ackers, latency between racks changes nothing."""
    return Cluster(tuple(replace(RSTORM, id=host(number), core_mhz=core_mhz) for number in range(HOSTS)))


def emulab(machines: int = MACHINES, *, core_mhz: float = RSTORM_MHZ, offer: Resources = OFFER) -> Cluster:
    """Worker machines in two racks of equal size; the master has a separate machine."""
    host = replace(RSTORM, core_mhz=core_mhz, offer=offer)
    return Cluster(numbered(host, "pc{:02d}", machines, racks=RACKS))


def emulab_costs() -> CostModel:
    """The shared constants, but with the printed latency between racks, and code compiled from the start.

    With cold code, Linear's rates rise for 100 to 130 s here, and for 100 to 150 s in the recordings, whose
    means begin at 300 s. The short runs played here reach these rates only with compiled code.
    """
    return replace(CostModel(), inter_rack_us=RSTORM_BETWEEN_RACKS_US, warm_up_factor=1.0)
