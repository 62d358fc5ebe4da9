"""R-Storm as merged into Storm: the strategy of the resource-aware scheduler of 1.0.x.

Executors are dealt out component by component in breadth-first order; each goes to the node at the smallest
distance in (CPU, memory, network) from what it needs and from the node used last. Memory *and* CPU are hard
here.
Source: ``DefaultResourceAwareStrategy`` of Storm 1.0.6.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.cluster import DEFAULT_RACK
from storm_lab.schedulers.contract import Candidate, Decision
from storm_lab.schedulers.demand import max_worker_heap_mb
from storm_lab.schedulers.hash_order import (
    copied_set_order,
    executor_hash,
    handed_over_order,
    hash_map_order,
    named_slot_order,
    stream_hash,
    string_hash,
)
from storm_lab.schedulers.ras_state import RasState

_SAME_RACK = 0.5
_OTHER_RACK = 1.0


def component_ranks(topology: Topology) -> list[str]:
    """Component ids in the order of R-Storm's breadth-first walk, which goes against the streams as well."""
    spouts = hash_map_order([c.id for c in topology.spouts], string_hash)
    bolts = hash_map_order([c.id for c in topology.bolts], string_hash)
    children: dict[str, list[str]] = {component.id: [] for component in topology.components}
    parents: dict[str, list[str]] = {component.id: [] for component in topology.components}
    seen = list(spouts)
    for bolt in bolts:
        streams = list(dict.fromkeys((s.source, s.stream) for s in topology.component(bolt).inputs))
        sources = [source for source, _ in hash_map_order(streams, lambda stream: stream_hash(*stream))]
        for component in (bolt, *sources):
            if component not in seen:
                seen.append(component)
        for source in sources:
            children[source].append(bolt)
            parents[bolt].append(source)
    component_map = hash_map_order(seen, string_hash)
    ranked: list[str] = []
    met: set[str] = set()
    for spout in (c for c in component_map if c in set(spouts)):
        if spout in met:
            continue
        met.add(spout)
        queue = deque([spout])
        while queue:
            component = queue.popleft()
            ranked.append(component)
            for near in (*children[component], *parents[component]):
                if near not in met:
                    met.add(near)
                    queue.append(near)
    return ranked


def interleaved_order(ranks: Sequence[str], unassigned: Sequence[Executor]) -> list[Executor]:
    """First executor of each component in order of rank, then the second of each, and so on."""
    waiting = {component: deque(e for e in unassigned if e.component == component) for component in ranks}
    ordered: list[Executor] = []
    while any(waiting.values()):
        ordered.extend(queue.popleft() for queue in waiting.values() if queue)
    return ordered


class Strategy:
    """R-Storm's node choice for one topology; the node used last is remembered over several attempts."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._max_heap = max_worker_heap_mb(topology)
        self._reference: str | None = None
        self.decisions: list[Decision] = []

    def place_all(self, state: RasState) -> bool:
        """Place all unassigned executors into ``state``; False (and a spoilt state) if some had no place."""
        self.decisions = []
        self._state = state
        self._racks = racks_of(state)
        self._rack_of = {node: rack for rack, nodes in self._racks.items() for node in nodes}
        # A slot counts as free, and a worker's heap as empty, until the finished plan is applied.
        self._free = {
            node: named_slot_order(state.free_slots(state.nodes[node]))
            for nodes in self._racks.values()
            for node in nodes
        }
        executors = handed_over_order(
            state.view.executors[self._topology.id], executor_hash, state.view.version
        )
        unassigned = [e for e in executors if e not in state.held[self._topology.id]]
        for executor in interleaved_order(component_ranks(self._topology), unassigned):
            self._place(executor)
        left = [e for e in copied_set_order(unassigned, executor_hash) if not self._is_placed(e)]
        for executor in left:
            self._place(executor)
        return all(map(self._is_placed, unassigned))

    def _is_placed(self, executor: Executor) -> bool:
        return executor in self._state.held[self._topology.id]

    def _place(self, executor: Executor) -> None:
        distances = self._distances(executor)
        # Of two nodes at the same distance only the later one survives in Storm's sorted map.
        by_distance = {distance: node for node, distance in distances.items()}
        choice = None
        for distance in sorted(by_distance):
            choice = next(
                (
                    slot
                    for slot in self._free[by_distance[distance]]
                    if self._heap_left(slot, executor) >= 0.0
                ),
                None,
            )
            if choice is not None:
                break
        if self._state.view.explain:
            self._explain(executor, distances, choice)
        if choice is not None:
            self._state.place(executor, choice)
            self._reference = choice.node

    def _distances(self, executor: Executor) -> dict[str, float]:
        """Distance of each node that has a free slot, the memory and the CPU."""
        demand = self._state.view.demand(executor)
        found: dict[str, float] = {}
        for node in self._candidate_nodes():
            cpu, memory = self._state.available_cpu(node), self._state.available_memory(node)
            if not self._free[node] or memory < demand.total_memory_mb or cpu < demand.cpu_points:
                continue
            by_cpu = (demand.cpu_points - cpu) / (cpu + 1.0)
            by_memory = (demand.total_memory_mb - memory) / (memory + 1.0)
            by_network = self._network_distance(node)
            found[node] = math.sqrt(by_cpu * by_cpu + by_memory * by_memory + by_network * by_network)
        return found

    def _candidate_nodes(self) -> list[str]:
        if self._reference is None:
            best, most = None, 0.0
            for rack, nodes in self._racks.items():
                available = 0.0
                for node in nodes:
                    available += self._state.available_memory(node) + self._state.available_cpu(node)
                if available > most:
                    best, most = rack, available
            if best is not None:
                return self._racks[best]
        return [node for nodes in self._racks.values() for node in nodes]

    def _network_distance(self, node: str) -> float:
        if self._reference is None or node == self._reference:
            return 0.0
        return _SAME_RACK if self._rack_of[node] == self._rack_of.get(self._reference) else _OTHER_RACK

    def _heap_left(self, slot: Slot, executor: Executor) -> float:
        """Heap of the slot's worker in MB after the executor has come; negative if it does not fit."""
        demand = self._state.view.demand
        inside = self._state.workers.get(slot, ())
        used = sum(demand(e).total_memory_mb for e in inside)
        return self._max_heap - used - demand(executor).total_memory_mb

    def _explain(self, executor: Executor, distances: dict[str, float], choice: Slot | None) -> None:
        candidates = []
        for node, slots in self._free.items():
            for slot in slots:
                if node not in distances:
                    reason: str | None = "node lacks memory or CPU, or is outside the first rack"
                elif self._heap_left(slot, executor) < 0:
                    reason = f"worker heap would exceed {self._max_heap:g} MB"
                else:
                    reason = None
                candidates.append(Candidate(slot, distances.get(node), reason))
        self.decisions.append(
            Decision(executor, choice, tuple(candidates), "distance to demand and last node (lowest wins)")
        )


def racks_of(state: RasState) -> dict[str, list[str]]:
    """Rack to node ids, both in the order in which Storm 1.0 walks them: one node per host name."""
    node_of_host: dict[str, str] = {}
    rack_of_host: dict[str, str] = {}
    for node_id in hash_map_order(list(state.nodes), string_hash):
        node = state.nodes[node_id]
        node_of_host.setdefault(node.host or node.id, node_id)
        rack_of_host[node.host or node.id] = node.rack or DEFAULT_RACK
    racks: dict[str, list[str]] = {}
    for host in hash_map_order(list(node_of_host), string_hash):
        nodes = racks.setdefault(rack_of_host[host], [])
        if node_of_host[host] in state.alive:
            nodes.append(node_of_host[host])
    return {rack: racks[rack] for rack in hash_map_order(list(racks), string_hash)}
