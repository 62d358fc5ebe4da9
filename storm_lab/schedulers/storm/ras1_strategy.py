"""R-Storm as merged into Storm: the strategy of the resource-aware scheduler of 1.0.x.

Executors are taken one of each component in turn, in breadth-first order of the components. Each goes to the
node at the smallest distance in (CPU, memory, network) from its demand and from the node used last. Both
memory *and* CPU are hard constraints here. Source: ``DefaultResourceAwareStrategy`` of Storm 1.0.6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.cluster import DEFAULT_RACK
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.contract import Candidate, Decision
from storm_lab.schedulers.graph.traffic import reached_from
from storm_lab.schedulers.keeping import interleaved
from storm_lab.schedulers.storm.hash_order import (
    copied_set_order,
    executor_hash,
    handed_over_order,
    hash_map_order,
    named_slot_order,
    stream_hash,
)
from storm_lab.schedulers.storm.ras1_state import Ras1State
from storm_lab.schedulers.storm.ras_state import max_worker_heap_mb

_SAME_RACK = 0.5
_OTHER_RACK = 1.0


def component_ranks(topology: Topology) -> list[str]:
    """Return component ids in R-Storm's breadth-first order, which follows streams in both directions."""
    spouts = hash_map_order([c.id for c in topology.spouts], string_hash)
    bolts = hash_map_order([c.id for c in topology.bolts], string_hash)
    children: dict[str, list[str]] = {component.id: [] for component in topology.components}
    parents: dict[str, list[str]] = {component.id: [] for component in topology.components}
    seen = dict.fromkeys(spouts)
    for bolt in bolts:
        streams = list(dict.fromkeys((s.source, s.stream) for s in topology.component(bolt).inputs))
        sources = [source for source, _ in hash_map_order(streams, lambda stream: stream_hash(*stream))]
        seen |= dict.fromkeys((bolt, *sources))
        for source in sources:
            children[source].append(bolt)
            parents[bolt].append(source)
    roots = [component for component in hash_map_order(list(seen), string_hash) if component in spouts]
    return reached_from(roots, lambda component: (*children[component], *parents[component]))


class Strategy:
    """R-Storm's choice of nodes for one topology; the node used last is kept over several attempts."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._max_heap = max_worker_heap_mb(topology)
        self._reference: str | None = None
        self.decisions: list[Decision] = []
        self.plan: dict[Slot, list[Executor]] = {}

    def place_all(self, state: Ras1State) -> bool:
        """Place all unassigned executors into ``state``; return False, with a spoilt state, if that fails.

        Afterwards, ``plan`` holds the new workers, with their executors in the order of placing.
        """
        self.decisions, self.plan = [], {}
        self._state = state
        self._racks = racks_of(state)
        self._nodes = [node for nodes in self._racks.values() for node in nodes]
        self._position = {node: i for i, node in enumerate(self._nodes)}
        self._rack = np.repeat(np.arange(len(self._racks)), [len(nodes) for nodes in self._racks.values()])
        self._cpu = np.array([state.left[node][0] for node in self._nodes])
        self._memory = np.array([state.left[node][1] for node in self._nodes])
        # Until the finished plan is applied, a slot counts as free and a worker's heap as empty.
        self._free = {node: named_slot_order(state.free_slots(state.nodes[node])) for node in self._nodes}
        self._has_slot = np.array([bool(self._free[node]) for node in self._nodes], dtype=bool)
        executors = handed_over_order(
            state.view.executors[self._topology.id], executor_hash, state.view.version
        )
        unassigned = [e for e in executors if e not in state.slot_of[self._topology.id]]
        of_rank = [[e for e in unassigned if e.component == c] for c in component_ranks(self._topology)]
        for executor in interleaved(of_rank):
            self._place(executor)
        left = [e for e in copied_set_order(unassigned, executor_hash) if not self._is_placed(e)]
        for executor in left:
            self._place(executor)
        return all(map(self._is_placed, unassigned))

    def _is_placed(self, executor: Executor) -> bool:
        return executor in self._state.slot_of[self._topology.id]

    def _place(self, executor: Executor) -> None:
        eligible, distance = self._distances(executor)
        choice = self._nearest_slot(executor, eligible, distance)
        if self._state.view.explain:
            self._explain(executor, eligible, distance, choice)
        if choice is not None:
            self._state.place(executor, choice)
            self.plan.setdefault(choice, []).append(executor)
            position = self._position[choice.node]
            self._cpu[position], self._memory[position] = self._state.left[choice.node]
            self._reference = choice.node

    def _nearest_slot(
        self, executor: Executor, eligible: NDArray[np.bool_], distance: NDArray[np.float64]
    ) -> Slot | None:
        """Return the first slot with enough heap on the nearest node that has one."""
        near_first = np.flatnonzero(eligible)
        near_first = near_first[np.argsort(distance[near_first], kind="stable")]
        for rank, position in enumerate(near_first):
            # Of nodes at the same distance, only the last remains in Storm's sorted map.
            if rank + 1 < len(near_first) and distance[near_first[rank + 1]] == distance[position]:
                continue
            for slot in self._free[self._nodes[position]]:
                if self._heap_left(slot, executor) >= 0.0:
                    return slot
        return None

    def _distances(self, executor: Executor) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which nodes have a free slot, the memory and the CPU; and the distance of every node."""
        demand = self._state.view.demand(executor)
        cpu, memory = self._cpu, self._memory
        eligible = self._has_slot & (memory >= demand.total_memory_mb) & (cpu >= demand.cpu_points)
        by_cpu = (demand.cpu_points - cpu) / (cpu + 1.0)
        by_memory = (demand.total_memory_mb - memory) / (memory + 1.0)
        by_network = np.zeros(len(cpu))
        if self._reference is None:
            eligible &= self._in_best_rack()
        elif self._reference in self._position:
            reference = self._position[self._reference]
            by_network = np.where(self._rack == self._rack[reference], _SAME_RACK, _OTHER_RACK)
            by_network[reference] = 0.0
        else:
            by_network += _OTHER_RACK
        return eligible, np.sqrt(by_cpu * by_cpu + by_memory * by_memory + by_network * by_network)

    def _in_best_rack(self) -> NDArray[np.bool_]:
        """Mark the nodes of the first rack with most memory and CPU available; all if nothing is left."""
        best, most = None, 0.0
        for number, nodes in enumerate(self._racks.values()):
            available = 0.0
            for node in nodes:
                cpu, memory = self._state.left[node]
                available += memory + cpu
            if available > most:
                best, most = number, available
        return np.ones(len(self._rack), dtype=bool) if best is None else self._rack == best

    def _heap_left(self, slot: Slot, executor: Executor) -> float:
        """Return the worker's heap in MB left after adding the executor; negative if it does not fit."""
        demand = self._state.view.demand
        inside = self._state.workers.get(slot, ())
        used = sum(demand(e).total_memory_mb for e in inside)
        return self._max_heap - used - demand(executor).total_memory_mb

    def _explain(
        self,
        executor: Executor,
        eligible: NDArray[np.bool_],
        distance: NDArray[np.float64],
        choice: Slot | None,
    ) -> None:
        candidates = []
        for position, node in enumerate(self._nodes):
            for slot in self._free[node]:
                reason = None
                if not eligible[position]:
                    reason = "node lacks memory or CPU, or is outside the first rack"
                elif self._heap_left(slot, executor) < 0:
                    reason = f"worker heap would exceed {self._max_heap:g} MB"
                candidates.append(Candidate(slot, float(distance[position]), reason))
        self.decisions.append(
            Decision(executor, choice, tuple(candidates), "distance to demand and last node (lowest wins)")
        )


def racks_of(state: Ras1State) -> dict[str, list[str]]:
    """Return node ids by rack, both in Storm 1.0's iteration order, with one node per host name."""
    ordered = [state.nodes[i] for i in hash_map_order(list(state.nodes), string_hash)]
    node_of_host = {node.host_name: node.id for node in reversed(ordered)}
    rack_of_host = {node.host_name: node.rack or DEFAULT_RACK for node in ordered}
    hosts = dict.fromkeys(node.host_name for node in state.nodes.values())
    racks = grouped(hash_map_order(list(hosts), string_hash), rack_of_host.__getitem__)
    return {
        rack: [node_of_host[host] for host in racks[rack] if node_of_host[host] in state.alive]
        for rack in hash_map_order(list(racks), string_hash)
    }
