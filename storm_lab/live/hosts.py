"""The machines of a cluster on this machine: namespaces with limits, or plain processes on loopback.

Every node of the `Cluster` becomes a host, and there is one more, `MASTER`, for ZooKeeper and Nimbus.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from storm_lab.errors import StormLabError, UserError
from storm_lab.live.cgroups import CpuUse, Group, GroupTree, hierarchies
from storm_lab.live.netns import RUN, Link, Network, why_no_namespaces
from storm_lab.live.records import Place, places
from storm_lab.model.cluster import Cluster, Node

MASTER = "master"
"""Name of the host of ZooKeeper and Nimbus."""

MACHINE_SHARE = 0.9
"""Largest part of the machine's cores that a cluster may use: the kernel's own threads need the rest.

Source: on two cores a group without this cap starved kernel workers until ZooKeeper's sessions timed out.
"""

WEIGHT = 1000
"""CPU weight of a cluster, where every other program on the machine has 100 (1 to 10,000).

Ten times is enough to be served first beside a few other programs; a program with a negative nice value has
up to 8,700.
"""

HostKind = Literal["auto", "namespaces", "loopback"]

_LEAST_MEMORY_MB = 512
"""Below this a supervisor (about 150 MB), a worker and its log writer do not fit together."""


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a cluster's description becomes hosts.

    ``cpu_scale`` is how much of a node's clock it is given: 1 = a node of one core at 2,000 MHz gets 2,000
    MHz of this machine. None means 1, or as much less for all nodes as it takes to fit on the machine.
    ``weight`` is the cluster's CPU weight beside other programs, of which each has 100.
    ``latency_us`` is added one way between any two hosts, ``rack_latency_us`` further between racks.
    """

    kind: HostKind = "auto"
    cpu_scale: float | None = None
    limit_cpu: bool = True
    limit_memory: bool = True
    weight: int = WEIGHT
    latency_us: float = 0.0
    rack_latency_us: float = 0.0


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that processes can be started on."""

    name: str
    address: str
    """IPv4 address, known on this machine or inside the cluster's own network only."""
    namespace: str | None = None
    group: Group | None = None
    cores: float | None = None
    """Cores of this machine that its processes may use together; None: as they come."""
    visible_cores: int | None = None
    """Cores that its JVMs are told of."""
    notes: tuple[str, ...] = field(default=())

    def command(self, program: Sequence[str]) -> list[str]:
        """The command that runs a program on this host: what it starts in its turn is there, too."""
        command = list(program)
        if self.namespace is not None:
            command = ["nsenter", f"--net={RUN / self.namespace}", "--", *command]
        if self.group is None:
            return command
        entrances = [str(path) for path in self.group.entrances]
        # The shell enters the groups itself and becomes the program: nothing runs outside for a moment.
        return ["/bin/sh", "-c", _ENTER, "storm-lab", *entrances, "--", *command]

    def cpu_use(self) -> CpuUse | None:
        """What its processes have used so far; None where nobody counts."""
        return None if self.group is None or "cpu" not in self.group.controllers else self.group.cpu_use()


_ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"'


class Hosts(Protocol):
    """All machines of a cluster."""

    unrealised: tuple[str, ...]
    """What of the description this machine could not give, one line each."""

    def host(self, name: str) -> Host:
        """The host of a node, or the one called `MASTER`."""

    def make(self) -> None:
        """Make them. Whatever is made can be found by the token of the cluster's record."""

    def hold_back(self) -> None:
        """Put the CPU quotas into force: starting daemons under them takes minutes."""

    def set_link(self, name: str, up: bool) -> None:
        """Cut a host off from all others, or join it again."""

    def set_path(self, one: str, other: str, open_: bool) -> None:
        """Cut two hosts off from each other, or join them again."""


class NamespaceHosts:
    """Hosts as network namespaces, in control groups where there are any."""

    def __init__(self, place: Place, cluster: Cluster, options: HostOptions) -> None:
        self._place = place
        self._cluster = cluster
        self._options = options
        self._network = Network(place.record.token)
        self._hosts: dict[str, Host] = {}
        self.unrealised: tuple[str, ...] = ()

    def host(self, name: str) -> Host:
        return self._hosts[name]

    def make(self) -> None:
        token = self._place.record.token
        tree = GroupTree(token, hierarchies())
        self._place.note(hosts="namespaces", cgroups=tuple(map(str, tree.folders)))
        missing: dict[str, None] = {}
        with_groups = bool(tree.controllers)
        if with_groups:
            try:
                whole = tree.make()
            except OSError as error:
                with_groups = False
                missing[f"CPU and memory of nodes (control groups cannot be made: {error.strerror})"] = None
        else:
            missing["CPU and memory of nodes (no control groups that this process may make)"] = None
        quotas = cpu_quotas(self._cluster, self._options) if with_groups and self._options.limit_cpu else {}
        if with_groups and "cpu" in tree.controllers:
            whole.limit_cpu(MACHINE_SHARE * (os.cpu_count() or 1))
            whole.weigh(self._options.weight)
        self._network.make()
        rack = self._cluster.nodes[0].rack
        for index, (name, node) in enumerate(
            [(MASTER, None), *((node.id, node) for node in self._cluster.nodes)]
        ):
            group = tree.make_host(f"host{index}") if with_groups else None
            address = f"10.77.{index // 250}.{index % 250 + 1}"
            namespace = self._network.add_host(rack if node is None else node.rack, f"{address}/16")
            link = Link(self._options.latency_us, 0.0 if node is None else node.nic_mbps)
            missing |= dict.fromkeys(self._network.shape_host(namespace, link))
            if node is not None and group is not None and self._options.limit_memory:
                missing |= dict.fromkeys(_limit_memory(group, node))
            if node is not None and with_groups and "cpu" not in tree.controllers:
                missing["CPU of nodes (no control group for it)"] = None
            self._hosts[name] = Host(
                name,
                address,
                namespace,
                group,
                quotas.get(name),
                None if node is None or not self._options.limit_cpu else node.cores * node.threads_per_core,
            )
        for name in self._cluster.racks:
            missing |= dict.fromkeys(self._network.shape_rack(name, Link(self._options.rack_latency_us)))
        self.unrealised = tuple(missing)

    def hold_back(self) -> None:
        for host in self._hosts.values():
            if host.cores is not None and host.group is not None and "cpu" in host.group.controllers:
                host.group.limit_cpu(host.cores)

    def set_link(self, name: str, up: bool) -> None:
        namespace = self._hosts[name].namespace
        assert namespace is not None
        self._network.set_link(namespace, up)

    def set_path(self, one: str, other: str, open_: bool) -> None:
        for here, there in ((one, other), (other, one)):
            namespace = self._hosts[here].namespace
            assert namespace is not None
            self._network.set_path(namespace, self._hosts[there].address, open_)


class LoopbackHosts:
    """Hosts as nothing but addresses: 127.77.x.y, x of the cluster, y of the host."""

    def __init__(self, place: Place, cluster: Cluster, why: str | None = None) -> None:
        self._place = place
        self._hosts: dict[str, Host] = {}
        self._cluster = cluster
        reason = f"network namespaces cannot be made: {why}" if why else "as it was asked for"
        self.unrealised: tuple[str, ...] = (
            f"CPU, memory and links of nodes (plain processes on loopback, {reason})",
        )

    def host(self, name: str) -> Host:
        return self._hosts[name]

    def make(self) -> None:
        mine = self._place.record.token
        taken = {
            net for place in places() if place.record.token != mine and (net := _net(place.record.title))
        }
        net = next(number for number in range(1, 255) if number not in taken)
        self._place.note(hosts="loopback", title=f"127.77.{net}.")
        names = [MASTER, *(node.id for node in self._cluster.nodes)]
        self._hosts = {name: Host(name, f"127.77.{net}.{index + 1}") for index, name in enumerate(names)}

    def hold_back(self) -> None:
        return None

    def set_link(self, name: str, up: bool) -> None:
        raise self._no_links(name)

    def set_path(self, one: str, other: str, open_: bool) -> None:
        raise self._no_links(one)

    def _no_links(self, name: str) -> UserError:
        return UserError(
            "plain processes on loopback have no link to cut",
            field="node",
            value=name,
            remedy="run as a user who may make network namespaces (root)",
        )


def make_hosts(place: Place, cluster: Cluster, options: HostOptions) -> Hosts:
    """The hosts that this machine and the user's wish allow; not made yet.

    Raises:
        UserError: namespaces are asked for and cannot be made.
    """
    if options.kind == "loopback":
        return LoopbackHosts(place, cluster)
    why = why_no_namespaces()
    if why is None:
        return NamespaceHosts(place, cluster, options)
    if options.kind == "namespaces":
        raise UserError(
            f"network namespaces cannot be made: {why}",
            field="hosts",
            value=options.kind,
            remedy="run as root, or choose loopback",
        )
    return LoopbackHosts(place, cluster, why)


def cpu_quotas(
    cluster: Cluster, options: HostOptions, machine_cores: float | None = None
) -> dict[str, float]:
    """Cores of this machine that each node may use: its cores by its clock, scaled so that all fit."""
    clock = machine_mhz()
    cores = MACHINE_SHARE * (machine_cores or os.cpu_count() or 1)
    wanted = {node.id: node.cores * node.core_mhz / clock for node in cluster.nodes}
    scale = options.cpu_scale if options.cpu_scale is not None else min(1.0, cores / sum(wanted.values()))
    return {name: share * scale for name, share in wanted.items()}


def machine_mhz(cpuinfo: Path = Path("/proc/cpuinfo")) -> float:
    """Clock of this machine's cores in MHz, as the kernel tells it; 2,000 where it does not."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return _UNKNOWN_MHZ
    clocks = sorted(float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz"))
    return clocks[len(clocks) // 2] if clocks else _UNKNOWN_MHZ


_UNKNOWN_MHZ = 2000.0


def check_hosts(cluster: Cluster, options: HostOptions) -> None:
    """Refuse a cluster that no machine can realise.

    Raises:
        UserError: names the field, the value and the remedy.
    """
    if not cluster.nodes:
        raise UserError("has no node", field="cluster", remedy="give it at least one")
    if MASTER in (node.id for node in cluster.nodes):
        raise UserError("is the host of Nimbus", field="node", value=MASTER, remedy="name it otherwise")
    if len(cluster.nodes) > _MOST_NODES:
        raise UserError(f"at most {_MOST_NODES} nodes", field="cluster", value=len(cluster.nodes))
    if options.cpu_scale is not None and not options.cpu_scale > 0:
        raise UserError("must be above 0", field="cpu_scale", value=options.cpu_scale)
    if not 1 <= options.weight <= 10_000:
        raise UserError("must be 1 to 10,000", field="weight", value=options.weight)
    for node in cluster.nodes:
        if options.limit_memory and node.memory_mb < _LEAST_MEMORY_MB:
            raise UserError(
                "too little for a supervisor and a worker",
                field=f"memory_mb of node {node.id}",
                value=node.memory_mb,
                remedy=f"give it at least {_LEAST_MEMORY_MB}",
            )


_MOST_NODES = 200


def _limit_memory(group: Group, node: Node) -> tuple[str, ...]:
    if "memory" not in group.controllers:
        return ("memory of nodes (no control group for it)",)
    try:
        group.limit_memory(node.memory_mb)
    except OSError as error:
        raise StormLabError(f"memory limit of node {node.id}: {error.strerror}") from error
    return ()


def _net(title: str) -> int | None:
    parts = title.split(".")
    return int(parts[2]) if title.startswith("127.77.") and len(parts) > 2 and parts[2].isdigit() else None
