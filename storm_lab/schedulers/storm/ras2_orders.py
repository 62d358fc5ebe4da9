"""The orders of executors and of nodes in Storm 2.x's resource-aware search, and its strategies.

Source: ``ExecSorterByConnectionCount`` and ``NodeSorterHostProximity`` of Storm 2.8.8. The strategies follow
the answers of ``org.apache.storm.scheduler.resource.strategies.scheduling`` of 2.8.3. Generic resources are
not built; without them, the default and the generic strategy differ only in name.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from storm_lab.errors import UserError, check_known
from storm_lab.model import Executor, Topology
from storm_lab.model.cluster import DEFAULT_RACK
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import string_hash
from storm_lab.model.settings import BY_PROXIMITY, STRATEGY, flag_of
from storm_lab.schedulers.storm.hash_order import hash_map_order
from storm_lab.schedulers.storm.ras_state import Ras2State

_CACHE_SIZE = 1 << 10
"""Number of orders that are cached; a search that steps back meets the same few hundred offers repeatedly."""


Rank = tuple[Literal["average", "least"], ...]


def neighbours(topology: Topology) -> dict[str, set[str]]:
    """Return, by component id, the ids of the components that it exchanges tuples with."""
    near: dict[str, set[str]] = {component.id: set() for component in topology.components}
    for component in topology.components:
        for subscription in component.inputs:
            near[component.id].add(subscription.source)
            near[subscription.source].add(component.id)
    return near


def executor_order(state: Ras2State, topology: Topology) -> list[Executor]:
    """Return unassigned executors in 2.x's order: busiest component first, with its neighbours; ackers last.

    How busy a component is depends on the number of pairs of its executors, unassigned or not, with those of
    its neighbours.
    """
    size = Counter(executor.component for executor in state.view.executors[topology.id])
    unassigned = state.unassigned(topology)
    near = neighbours(topology)

    def connections(component: str) -> int:
        return sum(size[other] * size[component] for other in near[component])

    waiting = {c: deque(e for e in unassigned if e.component == c) for c in near}
    ordered: list[Executor] = []
    for component in sorted(near, key=lambda c: (-connections(c), c)):
        # 2.x starts with the neighbour of fewest connections; 1.1 and 1.2 with the one of most.
        group = [component, *sorted(near[component], key=lambda c: (size[c] * size[component], c))]
        while any(waiting[c] for c in group):
            for c in group:
                if waiting[c]:
                    ordered.append(waiting[c].popleft())
    return ordered + [acker for acker in unassigned if acker.component not in near]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the search places a topology's executors.

    ``rank`` names the criteria for two places with equally many executors of the topology. Each is a share,
    in per cent, of what is available on all places of a level: the average over CPU and memory, or the least
    of the two; the larger share comes first. ``resorts_nodes`` says whether the nodes are sorted again during
    the search. With ``round_robin``, each executor continues at the node after the last one used, not at the
    first node.
    """

    name: str
    rank: Rank = ("average", "least")
    resorts_nodes: bool = True
    round_robin: bool = False


_STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("DefaultResourceAwareStrategy"),
        Strategy("GenericResourceAwareStrategy"),
        Strategy("DefaultResourceAwareStrategyOld", ("least", "average"), resorts_nodes=False),
        Strategy("GenericResourceAwareStrategyOld", ("average",)),
        Strategy("RoundRobinResourceAwareStrategy", resorts_nodes=False, round_robin=True),
    )
}
_DEFAULT = "DefaultResourceAwareStrategy"


def strategy_of(topology: Topology) -> Strategy:
    """Return the strategy that the topology asks for, or Storm's default.

    Raises `UserError` if the strategy, or the order of executors that the topology asks for, is not built.
    """
    name = str(topology.settings.get(STRATEGY, _DEFAULT)).rsplit(".", 1)[-1]
    owner = f"topology {topology.id!r} asks for a strategy that is not supported: storm_lab"
    check_known("strategy", name, _STRATEGIES, owner, field=STRATEGY)
    if flag_of(topology.settings, BY_PROXIMITY):
        message = f"topology {topology.id!r} asks for an executor order that is not supported"
        raise UserError(message, field=BY_PROXIMITY, value=True, remedy="leave it out")
    return _STRATEGIES[name]


class NodeOrder:
    """The order in which one executor tries the nodes.

    Racks are ranked immediately. The hosts of a rack and the nodes of a host are ranked when an iteration
    first reaches them. Ranks are then kept, so a later iteration uses old ranks. A place is better if it has
    more executors of the topology, then by the shares that ``rank`` names, then by the smaller name.
    """

    def __init__(self, state: Ras2State, topology_id: str, places: Places, rank: Rank) -> None:
        self._state = state
        self._places = places
        self._rank = rank
        self._on_node = Counter(slot.node for slot in state.slot_of[topology_id].values())
        self._racks = self._ranked(places.nodes_of_rack, places.in_rack)
        self._hosts: dict[str, Iterable[str]] = {}
        self._nodes: dict[str, Iterable[str]] = {}

    def __iter__(self) -> Iterator[str]:
        for rack in self._racks:
            if rack not in self._hosts:
                self._hosts[rack] = self._ranked(self._places.nodes_of_host[rack], self._places.on_host)
            for host in self._hosts[rack]:
                if host not in self._nodes:
                    nodes = {i: [i] for i in self._places.on_host[host]}
                    self._nodes[host] = self._ranked(nodes, nodes)
                yield from self._nodes[host]

    def whole(self) -> tuple[str, ...]:
        """Return the complete order as of now, without keeping the ranks that this takes."""
        ahead = copy(self)
        ahead._hosts, ahead._nodes = dict(self._hosts), dict(self._nodes)
        return tuple(ahead)

    def _ranked(self, members: Mapping[str, list[str]], inside: Mapping[str, list[str]]) -> Iterable[str]:
        """Return the places in order of preference.

        The resources of the ``members`` of each are added up in the given order; the executors of the
        topology count that are on the nodes ``inside``.
        """
        if len(members) == 1:
            return members
        offers = []
        for place, nodes in members.items():
            left = [self._state.available(node) for node in nodes]
            cpu, memory = sum(own for own, _ in left), sum(own for _, own in left)
            offers.append((place, sum(self._on_node[i] for i in inside[place]), cpu, memory))
        return _best_first(tuple(offers), self._rank)


@lru_cache(_CACHE_SIZE)
def _best_first(offers: tuple[tuple[str, int, float, float], ...], rank: Rank) -> tuple[str, ...]:
    """Return the places in order of preference.

    ``offers`` has for each place its name, the topology's executors there, and the available CPU points and
    memory in MB; in the order of summation.
    """
    all_cpu, all_memory = sum(cpu for *_, cpu, _ in offers), sum(memory for *_, memory in offers)
    ranks: list[tuple[int, tuple[float, ...], str]] = []
    for place, executors, cpu, memory in offers:
        cpu_share = cpu / all_cpu if all_cpu else 1.0
        memory_share = memory / all_memory if all_memory else 1.0
        if all_cpu and all_memory:
            average = (memory_share + cpu_share) * 100.0 / 2
        else:
            average = (cpu_share if all_cpu else memory_share) * 100.0
        least = min(1.0, memory_share, cpu_share) * 100.0
        shares = {"average": average, "least": least}
        ranks.append((-executors, tuple(-shares[name] for name in rank), place))
    return tuple(place for _, _, place in sorted(ranks))


class Places:
    """The live nodes of each host and the hosts of each rack, in the order of Storm's summation."""

    def __init__(self, state: Ras2State) -> None:
        ids = [i for i in hash_map_order(list(state.nodes), string_hash) if i in state.alive]
        host_of = {i: state.alive[i].host_name for i in ids}
        self.on_host: dict[str, list[str]] = grouped(ids, host_of.__getitem__)
        """For each host, its nodes."""
        self.in_rack: dict[str, list[str]] = grouped(ids, lambda i: state.alive[i].rack or DEFAULT_RACK)
        """For each rack, the nodes that are in this rack."""
        self.nodes_of_host: dict[str, dict[str, list[str]]] = {}
        """For each rack its hosts, and for each host all its nodes."""
        for rack in hash_map_order(list(self.in_rack), string_hash):
            hosts = dict.fromkeys(map(host_of.__getitem__, self.in_rack[rack]))
            ordered = hash_map_order(list(hosts), string_hash)
            self.nodes_of_host[rack] = {host: self.on_host[host] for host in ordered}
        self.nodes_of_rack: dict[str, list[str]] = {
            rack: [node for nodes in hosts.values() for node in nodes]
            for rack, hosts in self.nodes_of_host.items()
        }
        """For each rack, all nodes of its hosts, even those that are in other racks."""
