"""Named machine types and the clusters of the papers.

A machine type is a `Node` without an id; `numbered` makes as many nodes of it as wanted. Its clock is
relative to the cores that the emulator's cost model holds for (2.0 GHz cores of about 2006). Cores of a
family that does less work per cycle get a lower clock than their label says. For cores that do more,
`Node.work_per_clock` says so, but for Storm's own code only: the cost of user code is given for the machine.
Unless stated otherwise, a node offers resource-aware schedulers 100 points per core and its memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from storm_lab.model.cluster import DEFAULT_PORTS, Cluster, Node
from storm_lab.model.topology import Resources

FIRST_PORT = DEFAULT_PORTS[0]


@dataclass(frozen=True, slots=True)
class Links:
    """The network between nodes. None keeps the constant of that name of the emulator's cost model.

    One-way latencies in microseconds are ``loopback_us`` within a node, ``lan_us`` between nodes of a rack,
    and ``inter_rack_us`` in addition to another rack. ``uplink_mbps`` is that of a rack, 0 for no limit.
    """

    loopback_us: float | None = None
    lan_us: float | None = None
    inter_rack_us: float | None = None
    uplink_mbps: float | None = None

    def given(self) -> dict[str, float]:
        """The constants that are set, by their names in the cost model."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Machines:
    """A cluster and the network between its nodes."""

    cluster: Cluster
    links: Links = field(default_factory=Links)

    @property
    def core_mhz(self) -> float | None:
        """The clock of all cores, or None if nodes differ."""
        clocks = {node.core_mhz for node in self.cluster.nodes}
        return clocks.pop() if len(clocks) == 1 else None


def ports(slots: int) -> tuple[int, ...]:
    """Return the ports of that many slots, starting at Storm's first port."""
    return tuple(range(FIRST_PORT, FIRST_PORT + slots))


def machine(
    cores: int,
    mhz: float,
    memory_mb: float,
    nic_mbps: float,
    *,
    threads_per_core: int = 1,
    slots: int = len(DEFAULT_PORTS),
    offer: Resources | None = None,
    work_per_clock: float = 1.0,
) -> Node:
    """Make a machine type; see `Node` for the units."""
    return Node(
        id="",
        ports=ports(slots),
        cores=cores,
        core_mhz=mhz,
        threads_per_core=threads_per_core,
        memory_mb=memory_mb,
        nic_mbps=nic_mbps,
        work_per_clock=work_per_clock,
        offer=offer or Resources(cpu_points=100.0 * cores, memory_mb=memory_mb),
    )


def numbered(kind: Node, names: str, count: int, *, racks: int = 1) -> tuple[Node, ...]:
    """Make ``count`` nodes of a type, named by ``names`` (a format with one number, such as ``node{:02d}``).

    With ``racks`` above 1, the nodes are spread in order over the racks ``vlan0``, ``vlan1`` and so on, the
    same number in each.
    """
    per_rack = -(-count // racks)
    racked = [kind.rack if racks == 1 else f"vlan{number // per_rack}" for number in range(count)]
    return tuple(
        replace(kind, id=names.format(number), rack=rack) for number, rack in enumerate(racked, start=1)
    )


TSTORM_III = machine(4, 2000.0, 4096.0, 1000.0)
"""T-Storm, section III: a blade of two dual-core 2.0 GHz Xeons, with four slots, one per core."""
TSTORM_V_CORES = 4
"""Section V says "dual 2.0 GHz Xeon" without the number of cores. Section III's blades have two such
processors of two cores each, and forty workers on ten nodes are four slots per node, one per core: hence four
cores. `tstorm-gamma-sweep` also plays the other reading, two cores.
"""
TSTORM_V = machine(TSTORM_V_CORES, 2000.0, 2048.0, 1000.0)
"""T-Storm, section V: a blade of dual 2.0 GHz Xeons with 2 GB."""
# Work per cycle of the nominal clock for cores of later families, relative to those of 2006 to 2008. Source:
# the generic test (compression) of bm.hardlimit.com, single thread, SSE build, in points per GHz: Core 2
# E7400 968; Xeon E5645 1013; i5-4440 1461 and i3-6100 1470; Xeon E5-2620 v4 1910, whose turbo is 3.0 GHz.
WESTMERE = 1.05
HASWELL = 1.5
BROADWELL_EP = 1.97
LIVE = 2.0
"""The machine of the recorded live runs, of about 2020. Not benchmarked; the range is 1.5 to 2.5."""
NSTORM = replace(
    machine(16, 2100.0, 128 * 1024.0, 1000.0, threads_per_core=2, work_per_clock=BROADWELL_EP),
    offer=Node("").offer,
)
"""N-Storm, section V-A: two eight-core Xeon E5-2620 v4. Offers Storm's default, which no scheduler reads."""
RSTORM_MHZ = 1430.0
"""Clock of R-Storm's hosts, which have one 3 GHz core of 2004, in terms of the cost model's machines.

SPECint 2000, as AnandTech lists it with its review of the Xeon 5160 (2006), is 1813 for a Xeon of that family
at 3733 MHz and 3057 for a Xeon 5160, of the family of the constants, at 3000 MHz: 0.486 and 1.019 per MHz.
"""
RSTORM = machine(1, RSTORM_MHZ, 2048.0, 100.0, offer=Resources(cpu_points=100.0, memory_mb=20480.0))
"""R-Storm, section 6.1: an Emulab host. Its configuration offers ten times its memory."""
RSTORM_BETWEEN_RACKS_US = 2000.0
"""Extra one-way latency between R-Storm's racks: half of the round trip of 4 ms that the paper states."""
MFSTORM_MEMORY_MB = 8192.0
"""Not stated in the paper. 8 to 16 GB are usual for such desktops; twelve workers' heaps fit into 8 GB."""
MFSTORM: Mapping[str, Node] = {
    name: replace(
        machine(cores, mhz, MFSTORM_MEMORY_MB, 1000.0, slots=3, work_per_clock=HASWELL),
        id=name,
        offer=Node("").offer,
    )
    for name, cores, mhz in (("A", 4, 3400.0), ("B", 4, 3200.0), ("C", 6, 3400.0), ("D", 8, 3400.0))
}
"""MF-Storm, table 3: four desktops. Offers are Storm's defaults, because the paper changes none."""
TWITTER = machine(12, 2400.0, 24576.0, 1000.0, threads_per_core=2, slots=13, work_per_clock=WESTMERE)
"""Storm@Twitter, section 3.3.2: two Xeon E5645, 24 GB. The network is not stated. Thirteen is the smallest
number of slots per machine with which four machines hold fifty workers.
"""

MACHINE_TYPES: Mapping[str, Node] = {
    "tstorm-iii": TSTORM_III,
    "tstorm-v": TSTORM_V,
    "nstorm": NSTORM,
    "rstorm": RSTORM,
    **{f"mfstorm-{name.lower()}": node for name, node in MFSTORM.items()},
    "twitter": TWITTER,
    # From the providers' data sheets: a virtual CPU is a hardware thread, the clock is that with all cores
    # busy, and the network speed is the baseline, not the burst.
    "m5.large": machine(1, 3100.0, 8192.0, 750.0, threads_per_core=2),
    "m5.xlarge": machine(2, 3100.0, 16384.0, 1250.0, threads_per_core=2),
    "m5.2xlarge": machine(4, 3100.0, 32768.0, 2500.0, threads_per_core=2),
    "m5.4xlarge": machine(8, 3100.0, 65536.0, 5000.0, threads_per_core=2),
    "c5.xlarge": machine(2, 3400.0, 8192.0, 1250.0, threads_per_core=2),
    "c5.2xlarge": machine(4, 3400.0, 16384.0, 2500.0, threads_per_core=2),
    "n2-standard-4": machine(2, 2800.0, 16384.0, 10000.0, threads_per_core=2),
    "n2-standard-8": machine(4, 2800.0, 32768.0, 16000.0, threads_per_core=2),
    "d4s-v3": machine(2, 2400.0, 16384.0, 2000.0, threads_per_core=2),
    "d8s-v3": machine(4, 2400.0, 32768.0, 4000.0, threads_per_core=2),
    "raspberry-pi-4": machine(4, 1500.0, 4096.0, 1000.0),
    "desktop": machine(8, 3600.0, 32768.0, 1000.0, threads_per_core=2),
    "server-16-cores": machine(16, 2600.0, 65536.0, 10000.0, threads_per_core=2),
}
"""Machine types by name: first those of the papers, then common cloud, desktop and server machines."""

TESTBEDS: Mapping[str, Machines] = {
    "tstorm-section-iii": Machines(Cluster(numbered(TSTORM_III, "node{}", 5))),
    "tstorm-section-v": Machines(Cluster(numbered(TSTORM_V, "node{:02d}", 10))),
    "nstorm": Machines(Cluster(numbered(NSTORM, "server{}", 2))),
    "rstorm": Machines(
        Cluster(numbered(RSTORM, "pc{:02d}", 12, racks=2)), Links(inter_rack_us=RSTORM_BETWEEN_RACKS_US)
    ),
    "mfstorm": Machines(Cluster(tuple(MFSTORM.values()))),
    "twitter": Machines(Cluster(numbered(TWITTER, "machine{:02d}", 4))),
}
"""The papers' clusters by name, as their experiments use them unless a parameter says otherwise."""
