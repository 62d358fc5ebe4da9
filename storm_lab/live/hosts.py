"""The machines of a cluster on this machine: namespaces with limits, or plain processes on loopback.

Every node of the `Cluster` becomes a host, and there is one more, `MASTER`, for ZooKeeper and Nimbus.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from storm_lab.errors import UserError
from storm_lab.live.cgroups import PERIOD_US, CpuUse, Group
from storm_lab.live.netns import RUN
from storm_lab.machine.facts import usable_cores
from storm_lab.model.checks import check_number
from storm_lab.model.cluster import Cluster

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

_CPUINFO = Path("/proc/cpuinfo")

HostKind = Literal["auto", "namespaces", "loopback"]

_LEAST_MEMORY_MB = 512
"""Below this a supervisor (about 150 MB), a worker and its log writer do not fit together."""


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a cluster's description becomes hosts.

    ``cpu_scale`` is how much of a node's clock it is given: 1 = a node of one core at 2,000 MHz gets 2,000
    MHz of this machine. None means 1, or as much less for all nodes as it takes to fit on the machine.
    ``pinned`` gives each node as many cores of the machine as it has, and no others, in place of a quota: who
    is held by a quota stands still for most of each period, and finds more waiting for it than it would on a
    core of its own.
    ``weight`` is the cluster's CPU weight beside other programs, of which each has 100.
    ``latency_us`` is added one way between any two hosts, ``rack_latency_us`` further between racks.
    """

    kind: HostKind = "auto"
    cpu_scale: float | None = None
    limit_cpu: bool = True
    pinned: bool = False
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
    period_us: int = PERIOD_US
    """In which they may use so much."""
    visible_cores: int | None = None
    """Cores that its JVMs are told of."""
    own_cores: tuple[int, ...] = ()
    """Numbers of the machine's cores that its processes run on; without, on all."""

    def command(self, program: Sequence[str]) -> list[str]:
        """The command that runs a program on this host: what it starts in its turn is there, too."""
        command = list(program)
        if self.own_cores:
            command = ["taskset", "--cpu-list", ",".join(map(str, self.own_cores)), *command]
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

    def memory_kills(self) -> int:
        """How many of its processes were killed for holding too much memory; 0 where nobody counts."""
        if self.group is None or "memory" not in self.group.controllers:
            return 0
        return self.group.memory_kills()


_ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"'


def cpu_quotas(cluster: Cluster, options: HostOptions) -> dict[str, float]:
    """Cores of this machine that each node may use: its own by their clock, scaled so that all fit."""
    clock = machine_mhz()
    cores = MACHINE_SHARE * (os.cpu_count() or 1)
    wanted = {node.id: node.capacity_mhz / clock for node in cluster.nodes}
    scale = options.cpu_scale if options.cpu_scale is not None else min(1.0, cores / sum(wanted.values()))
    return {name: share * scale for name, share in wanted.items()}


def machine_mhz(cpuinfo: Path = _CPUINFO) -> float:
    """Clock of this machine's cores in MHz, as the kernel tells it; 2,000 where it does not."""
    clocks = sorted(map(float, _told("cpu MHz", cpuinfo)))
    return clocks[len(clocks) // 2] if clocks else 2000.0


def machine_name() -> str:
    """What this machine is called among others: after its processor, as ``amd-epyc``."""
    told = re.sub(r"\(.*?\)|@.*|\b(cpu|processor)\b", " ", processor().lower())
    return "-".join(re.findall(r"[a-z0-9]+", told)) or "machine"


def processor() -> str:
    """The processor's name as the kernel tells it, else the architecture's."""
    return next(iter(_told("model name", _CPUINFO)), platform.machine())


def _told(key: str, cpuinfo: Path) -> list[str]:
    """What the kernel tells of each core by a key."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(key)]


def check_hosts(cluster: Cluster, options: HostOptions) -> None:
    """Refuse a cluster that no machine can realise; `UserError` names field, value and remedy."""
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
    for field in ("latency_us", "rack_latency_us"):
        check_number("a cluster", field, getattr(options, field), high=_MOST_LATENCY_US, unit="us")
    wanted, there = sum(node.cores for node in cluster.nodes), usable_cores()
    if options.pinned and wanted > there:
        message = f"this machine has {there} for nodes of their own cores"
        raise UserError(message, field="cores of all nodes", value=wanted, remedy="pin a smaller cluster")
    for node in cluster.nodes:
        if node.memory_mb < _LEAST_MEMORY_MB:
            raise UserError(
                "too little for a supervisor and a worker",
                field=f"memory_mb of node {node.id}",
                value=node.memory_mb,
                remedy=f"give it at least {_LEAST_MEMORY_MB}",
            )


_MOST_NODES = 200
_MOST_LATENCY_US = 1_000_000
