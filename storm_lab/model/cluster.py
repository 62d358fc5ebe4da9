"""Clusters: nodes (supervisors) with slots, in racks.

The emulator plays a node's physical figures (cores, clock, memory). Resource-aware schedulers read its
*offer*, as set in the node's configuration. The two may differ: R-Storm's nodes offer ten times their memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from storm_lab.errors import UserError
from storm_lab.model.checks import check_distinct, check_id, check_kinds, check_number, check_whole
from storm_lab.model.topology import Resources

DEFAULT_PORTS = (6700, 6701, 6702, 6703)
DEFAULT_RACK = "/default-rack"
DEFAULT_OFFER = Resources(cpu_points=400.0, memory_mb=4096.0)
"""What a supervisor offers unless its configuration says otherwise (Storm 2.x)."""
MAX_CORES = 4096


class Slot(NamedTuple):
    """A place for one worker process: a port of a node."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that runs a supervisor.

    ``cores`` is the number of physical cores, ``core_mhz`` their clock and ``threads_per_core`` the number of
    hardware threads. ``memory_mb`` is the RAM; ``nic_mbps`` is the speed of the network card in each
    direction, in megabits per second.

    ``work_per_clock`` is how much of Storm's own code a core executes in a cycle, relative to the cores of
    about 2006 for which the cost model holds. The cost of user code is given for the machine itself.

    With ``cpu_quota``, the node's processes may use CPU time of that many cores in each ``quota_period_ms``
    and then stop until the next one, like those of a container (Linux's ``cpu.max``). None means no limit.

    Raises:
        UserError: a figure is not a number or out of range, or a port occurs twice. It names node and field.
    """

    id: str
    host: str = ""
    rack: str = DEFAULT_RACK
    ports: tuple[int, ...] = DEFAULT_PORTS
    cores: int = 4
    core_mhz: float = 2000.0
    threads_per_core: int = 1
    memory_mb: float = 4096.0
    nic_mbps: float = 1000.0
    work_per_clock: float = 1.0
    cpu_quota: float | None = None
    quota_period_ms: float = 100.0
    offer: Resources = DEFAULT_OFFER

    def __post_init__(self) -> None:
        owner = f"node {self.id!r}"
        check_kinds(owner, self)
        for port in self.ports:
            check_whole(owner, "port", port, low=0, high=65535)
        check_distinct(owner, "port", self.ports)
        check_whole(owner, "cores", self.cores, low=1, high=MAX_CORES)
        check_whole(owner, "threads_per_core", self.threads_per_core, low=1, high=16)
        check_number(owner, "core_mhz", self.core_mhz, low=1.0, high=1e5, unit="MHz")
        check_number(owner, "memory_mb", self.memory_mb, low=1.0, high=1e9, unit="MB")
        check_number(owner, "nic_mbps", self.nic_mbps, low=0.001, high=1e7, unit="Mbit/s")
        check_number(owner, "work_per_clock", self.work_per_clock, low=0.1, high=10.0)
        check_number(owner, "quota_period_ms", self.quota_period_ms, low=1.0, high=1000.0, unit="ms")
        if self.cpu_quota is not None:
            check_number(owner, "cpu_quota", self.cpu_quota, low=0.01, high=self.cores, unit="cores")

    @property
    def host_name(self) -> str:
        """Name of its host: `host`, or its id if none was given."""
        return self.host or self.id

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The node's slots, in the order in which its ports are declared."""
        return tuple(Slot(self.id, port) for port in self.ports)

    @property
    def capacity_mhz(self) -> float:
        """CPU capacity of the whole node in MHz, as T-Storm's load monitor counts it."""
        return (self.cpu_quota or self.cores) * self.core_mhz


@dataclass(frozen=True, slots=True)
class Cluster:
    """The worker nodes, as Nimbus sees them.

    With ``shared_cores``, all nodes are containers or virtual machines on one machine and share that many of
    its cores. None means that each node is a machine of its own.

    Raises:
        UserError: two nodes have the same id, or one has none; ``shared_cores`` is out of range; or nodes
            that share cores have more than one thread per core. It names the field.
    """

    nodes: tuple[Node, ...]
    shared_cores: float | None = None

    def __post_init__(self) -> None:
        check_kinds("the cluster", self)
        if (shared := self.shared_cores) is not None:
            check_number("the cluster", "shared_cores", shared, low=0.1, high=MAX_CORES, unit="cores")
            for node in self.nodes:
                if (threads := node.threads_per_core) != 1:
                    message = f"nodes that share cores must have one thread per core, unlike {node.id!r}"
                    remedy = "count each thread as a core"
                    raise UserError(message, field="threads_per_core", value=threads, remedy=remedy)
        # A node without an id is a machine type, which cannot be part of a cluster.
        for node in self.nodes:
            check_id("a node of a cluster", node.id)
        check_distinct("the cluster", "node", [node.id for node in self.nodes])

    def node(self, node_id: str) -> Node:
        """Return the node with that id; raise `KeyError` if there is none."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(f"the cluster has no node {node_id!r}")

    @property
    def racks(self) -> tuple[str, ...]:
        """Rack names in order of first appearance."""
        return tuple(dict.fromkeys(node.rack for node in self.nodes))

    def slots(self) -> Iterator[Slot]:
        """All slots, node by node."""
        for node in self.nodes:
            yield from node.slots


def check_slots(cluster: Cluster) -> None:
    """Raise `UserError` for a cluster that can run nothing: it has no node, or no node has a port."""
    if not any(node.ports for node in cluster.nodes):
        remedy = "give at least one node a port"
        raise UserError("the cluster has no slots", field="cluster", remedy=remedy)
