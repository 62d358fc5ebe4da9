"""Machines by name: common types, and those of the papers' clusters.

A machine type is a `Node` without a name of its own: `numbered` makes as many nodes of it as are wanted. Its
clock counts what its cores do against the cores that the emulator's cost model holds for (2.0 GHz cores of
about 2006); where cores of another family do less in a cycle, the clock says so, not the label. Where they
do more, `Node.work_per_clock` says so, for Storm's own code only: user code's cost is stated for the machine.
What a node offers to resource-aware schedulers is, unless stated, 100 points a core and its memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from storm_lab.model.cluster import DEFAULT_PORTS, Cluster, Node
from storm_lab.model.topology import Resources

FIRST_PORT = DEFAULT_PORTS[0]


@dataclass(frozen=True, slots=True)
class Links:
    """What lies between nodes; None leaves the constant of that name as the emulator's cost model has it.

    One-way latencies in microseconds: through a node's own stack, between nodes of a rack, and what a further
    rack adds. ``uplink_mbps`` is a rack's uplink, 0 without a limit.
    """

    loopback_us: float | None = None
    lan_us: float | None = None
    inter_rack_us: float | None = None
    uplink_mbps: float | None = None

    def given(self) -> dict[str, float]:
        """The constants that are not left alone, by the names of the cost model."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Machines:
    """A cluster with what lies between its nodes."""

    cluster: Cluster
    links: Links = field(default_factory=Links)

    @property
    def core_mhz(self) -> float | None:
        """The clock of all cores, or None where nodes differ."""
        clocks = {node.core_mhz for node in self.cluster.nodes}
        return clocks.pop() if len(clocks) == 1 else None


def ports(slots: int) -> tuple[int, ...]:
    """The ports of so many slots, from Storm's first one on."""
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
    """A machine type; see `Node` for the units."""
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
    """So many nodes of a type, named by ``names`` (a format with one number, as ``node{:02d}``).

    With ``racks`` above 1, equal numbers of neighbours stand in racks ``vlan0``, ``vlan1`` and so on.
    """
    per_rack = -(-count // racks)
    return tuple(
        replace(
            kind,
            id=names.format(1 + number),
            rack=kind.rack if racks == 1 else f"vlan{number // per_rack}",
        )
        for number in range(count)
    )


TSTORM_III = machine(4, 2000.0, 4096.0, 1000.0)
"""T-Storm, section III: a blade of two dual-core 2.0 GHz Xeons; four slots, one a core."""
TSTORM_V_CORES = 4
"""Section V prints "dual 2.0 GHz Xeon" without cores. Section III's blades have two such processors of two
cores, and forty workers on ten nodes are four slots a node, a slot per core: four. `tstorm-gamma-sweep` plays
two as well, the other reading."""
TSTORM_V = machine(TSTORM_V_CORES, 2000.0, 2048.0, 1000.0)
"""T-Storm, section V: a blade of dual 2.0 GHz Xeons with 2 GB."""
# What cores of later families do in a cycle of their nominal clock, against those of 2006 to 2008: the
# generic test (compression) of bm.hardlimit.com, a single thread, SSE build, points for each GHz: Core 2
# E7400 968; Xeon E5645 1013; i5-4440 1461 and i3-6100 1470; Xeon E5-2620 v4 1910, whose turbo is 3.0 GHz.
WESTMERE = 1.05
HASWELL = 1.5
BROADWELL_EP = 1.97
LIVE = 2.0
"""The machine of the recorded live runs, of about 2020; not benchmarked, 1.5 to 2.5."""
NSTORM = replace(machine(16, 2100.0, 128 * 1024.0, 1000.0, work_per_clock=BROADWELL_EP), offer=Node("").offer)
"""N-Storm, section V-A: two eight-core Xeon E5-2620 v4. Its offer is Storm's default: no scheduler asks."""
RSTORM_MHZ = 1430.0
"""Clock of R-Storm's hosts in terms of the cost model's machines.

They have one 3 GHz core of 2004, of a family that does about half as much in a cycle as the cores that came
two years later and that the constants hold for: SPECint 2000, as AnandTech lists it beside its review of the
Xeon 5160 (2006), is 1813 for a Xeon of that family at 3733 MHz and 3057 for a Xeon 5160 at 3000 MHz, which is
0.486 and 1.019 a MHz.
"""
RSTORM = machine(1, RSTORM_MHZ, 2048.0, 100.0, offer=Resources(cpu_points=100.0, memory_mb=20480.0))
"""R-Storm, section 6.1: an Emulab host; its configuration offers ten times the memory that it has."""
RSTORM_BETWEEN_RACKS_US = 2000.0
"""Further one-way latency between R-Storm's racks: half of the printed round trip of 4 ms."""
MFSTORM_MEMORY_MB = 8192.0
"""Not printed; 8 to 16 GB are usual for such desktops, and twelve workers' heaps fit into the smaller."""
MFSTORM: Mapping[str, Node] = {
    name: replace(
        machine(cores, mhz, MFSTORM_MEMORY_MB, 1000.0, slots=3, work_per_clock=HASWELL),
        id=name,
        offer=Node("").offer,
    )
    for name, cores, mhz in (("A", 4, 3400.0), ("B", 4, 3200.0), ("C", 6, 3400.0), ("D", 8, 3400.0))
}
"""MF-Storm, table 3: four desktops. Offers are Storm's defaults, for the paper changes none."""
TWITTER = machine(12, 2400.0, 24576.0, 1000.0, threads_per_core=2, slots=13, work_per_clock=WESTMERE)
"""Storm@Twitter, section 3.3.2: two Xeon E5645, 24 GB. The network is not printed. Thirteen slots are the
fewest that hold fifty workers on four machines."""

MACHINE_TYPES: Mapping[str, Node] = {
    "tstorm-iii": TSTORM_III,
    "tstorm-v": TSTORM_V,
    "nstorm": NSTORM,
    "rstorm": RSTORM,
    **{f"mfstorm-{name.lower()}": node for name, node in MFSTORM.items()},
    "twitter": TWITTER,
    # Providers' data sheets: a virtual CPU is a hardware thread, the clock that of all cores at work, the
    # network the base line, not the burst.
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
"""Machine types by name: the papers' first, then what clouds and offices have."""

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
"""The papers' clusters by name, as their experiments play them unless a parameter says otherwise."""
