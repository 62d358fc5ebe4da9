"""The two orders of Storm 2.x's resource-aware search: executors, and nodes rack by rack.

Source: ``ExecSorterByConnectionCount`` and ``NodeSorterHostProximity`` (COMMON) of Storm 2.8.8.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from storm_lab.model import ACKER, Executor, Topology
from storm_lab.model.cluster import DEFAULT_RACK
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.hash_order import hash_map_order
from storm_lab.schedulers.ras2_state import Ras2State


def neighbours(topology: Topology) -> dict[str, set[str]]:
    """Component id to the ids of the components it exchanges tuples with."""
    near: dict[str, set[str]] = {component.id: set() for component in topology.components}
    for component in topology.components:
        for subscription in component.inputs:
            near[component.id].add(subscription.source)
            near[subscription.source].add(component.id)
    return near


def executor_order(
    topology: Topology, executors: Sequence[Executor], unassigned: Sequence[Executor]
) -> list[Executor]:
    """Unassigned executors as 2.x takes them: busiest component first, with its neighbours; ackers last.

    Args:
        topology: the topology.
        executors: all its executors; their number per component is what "busy" counts.
        unassigned: those to be ordered.
    """
    size = Counter(executor.component for executor in executors)
    near = neighbours(topology)

    def connections(component: str) -> int:
        return sum(size[other] * size[component] for other in near[component])

    waiting: dict[str, deque[Executor]] = {component: deque() for component in near}
    for executor in unassigned:
        if executor.component in waiting:
            waiting[executor.component].append(executor)
    ordered: list[Executor] = []
    for component in sorted(near, key=lambda c: (-connections(c), c)):
        # 2.x deals to the neighbour with the fewest connections first; 1.1 and 1.2 to the one with the most.
        group = [component, *sorted(near[component], key=lambda c: (size[c] * size[component], c))]
        while any(waiting[c] for c in group):
            for c in group:
                if waiting[c]:
                    ordered.append(waiting[c].popleft())
    taken = set(ordered)
    rest = [executor for executor in unassigned if executor not in taken]
    system = [executor for executor in rest if executor.component != ACKER]
    ackers = [executor for executor in rest if executor.component == ACKER]
    return ordered + system + ackers


class NodeOrder:
    """Nodes in the order in which one executor tries them.

    Racks are ranked at once, the hosts of a rack and the nodes of a host when the walk first gets there, and
    then
    kept: a walk repeated later sees old ranks. Better is: more executors of the topology there, then a larger
    average share of what is available around, then a larger minimum share, then the smaller name.
    """

    def __init__(self, state: Ras2State, topology_id: str, places: Places) -> None:
        self._state = state
        self._places = places
        nodes = Counter(slot.node for slot in state.held[topology_id].values())
        self._on_node = nodes
        self._on_host: Counter[str] = Counter()
        self._on_rack: Counter[str] = Counter()
        for node_id, count in nodes.items():
            if node_id in places.host_of:
                self._on_host[places.host_of[node_id]] += count
                self._on_rack[places.rack_of[node_id]] += count
        self._racks = self._ranked(
            {rack: [n for host in hosts for n in places.nodes[host]] for rack, hosts in places.hosts.items()},
            self._on_rack,
        )
        self._hosts: dict[str, list[str]] = {}
        self._nodes: dict[str, list[str]] = {}

    def __iter__(self) -> Iterator[str]:
        for rack in self._racks:
            if rack not in self._hosts:
                members = {host: self._places.nodes[host] for host in self._places.hosts[rack]}
                self._hosts[rack] = self._ranked(members, self._on_host)
            for host in self._hosts[rack]:
                if host not in self._nodes:
                    alone = {node: [node] for node in self._places.nodes[host]}
                    self._nodes[host] = self._ranked(alone, self._on_node)
                yield from self._nodes[host]

    def _ranked(self, members: dict[str, list[str]], executors_there: Counter[str]) -> list[str]:
        if len(members) == 1:
            return list(members)
        cpu = {place: sum(map(self._state.available_cpu, nodes)) for place, nodes in members.items()}
        memory = {place: sum(map(self._state.available_memory, nodes)) for place, nodes in members.items()}
        all_cpu, all_memory = sum(cpu.values()), sum(memory.values())

        def key(place: str) -> tuple[float, float, float, str]:
            shares = []
            if all_memory:
                shares.append(memory[place] / all_memory)
            if all_cpu:
                shares.append(cpu[place] / all_cpu)
            average = sum(shares) * 100.0 / len(shares) if shares else 100.0
            return (
                -executors_there[place],
                -average,
                -min(1.0, *shares) * 100.0 if shares else -100.0,
                place,
            )

        return sorted(members, key=key)


class Places:
    """Which live nodes are on which host, and which hosts in which rack; in Storm's order of adding up."""

    def __init__(self, state: Ras2State) -> None:
        self.host_of: dict[str, str] = {}
        self.rack_of: dict[str, str] = {}
        self.nodes: dict[str, list[str]] = {}
        self.hosts: dict[str, list[str]] = {}
        for node_id in hash_map_order(list(state.nodes), string_hash):
            if node_id not in state.alive:
                continue
            node = state.alive[node_id]
            host, rack = node.host or node.id, node.rack or DEFAULT_RACK
            self.host_of[node.id], self.rack_of[node.id] = host, rack
            self.nodes.setdefault(host, []).append(node.id)
            hosts = self.hosts.setdefault(rack, [])
            if host not in hosts:
                hosts.append(host)
        self.hosts = {
            rack: hash_map_order(self.hosts[rack], string_hash)
            for rack in hash_map_order(list(self.hosts), string_hash)
        }
