"""The resource-aware scheduler of Storm 1.0.x: a round with users, priorities and eviction; and its strategy.

The strategy is R-Storm as merged into Storm. Executors are taken one of each component in turn, in
breadth-first order of the components. Each goes to the node at the smallest distance in (CPU, memory,
network) from its demand and from the node used last. Both memory *and* CPU are hard constraints here. Source:
``ResourceAwareScheduler``, ``DefaultSchedulingPriorityStrategy``, ``DefaultEvictionStrategy`` and
``DefaultResourceAwareStrategy`` of 1.0.6.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from storm_lab.model import Executor, Resources, Slot, Topology
from storm_lab.model.cluster import DEFAULT_RACK
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.contract import (
    Candidate,
    Decision,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
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
from storm_lab.schedulers.storm.ras_state import Ras1State, max_worker_heap_mb, owners, priority_key

_SAME_RACK, _OTHER_RACK = 0.5, 1.0
"""Distance in the network from the node used last."""
_SCORE = "distance to demand and last node (lowest wins)"
_NO_GUARANTEE = sys.float_info.max
_TIE = 0.0001
_INVALID = "Scheduling Attempted but topology is invalid"
_OVERDRAWN = (
    "Unsuccessful in scheduling - IllegalStateException thrown when attempting to assign executors to nodes. "
    "Please check log for details."
)


def component_ranks(topology: Topology) -> list[str]:
    """Return component ids in R-Storm's breadth-first order, which follows streams in both directions."""
    spouts = hash_map_order([c.id for c in topology.spouts], string_hash)
    children: dict[str, list[str]] = {component.id: [] for component in topology.components}
    parents: dict[str, list[str]] = {component.id: [] for component in topology.components}
    seen = dict.fromkeys(spouts)
    for bolt in hash_map_order([c.id for c in topology.bolts], string_hash):
        streams = list(dict.fromkeys((s.source, s.stream) for s in topology.component(bolt).inputs))
        ordered = hash_map_order(streams, lambda stream: stream_hash(*stream))
        parents[bolt] = [source for source, _ in ordered]
        seen |= dict.fromkeys((bolt, *parents[bolt]))
        for source in parents[bolt]:
            children[source].append(bolt)
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
        placed, executors = state.slot_of[self._topology.id], state.view.executors[self._topology.id]
        ordered = handed_over_order(executors, executor_hash, state.view.version)
        unassigned = [e for e in ordered if e not in placed]
        of_rank = [[e for e in unassigned if e.component == c] for c in component_ranks(self._topology)]
        for executor in interleaved(of_rank):
            self._place(executor)
        for executor in [e for e in copied_set_order(unassigned, executor_hash) if e not in placed]:
            self._place(executor)
        return placed.keys() >= set(unassigned)

    def _place(self, executor: Executor) -> None:
        eligible, distance = self._distances(executor)
        slot = self._nearest_slot(executor, eligible, distance)
        if self._state.view.explain:
            candidates = tuple(self._candidates(executor, eligible, distance))
            self.decisions.append(Decision(executor, slot, candidates, _SCORE))
        if slot is not None:
            self._state.place(executor, slot)
            self.plan.setdefault(slot, []).append(executor)
            position = self._position[slot.node]
            self._cpu[position], self._memory[position] = self._state.left[slot.node]
            self._reference = slot.node

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
        left = self._state.left
        available = [sum(left[node][1] + left[node][0] for node in nodes) for nodes in self._racks.values()]
        if not any(available):
            return np.ones(len(self._rack), dtype=bool)
        return self._rack == available.index(max(available))

    def _heap_left(self, slot: Slot, executor: Executor) -> float:
        """Return the worker's heap in MB left after adding the executor; negative if it does not fit."""
        demand = self._state.view.demand
        used = sum(demand(e).total_memory_mb for e in self._state.workers.get(slot, ()))
        return self._max_heap - used - demand(executor).total_memory_mb

    def _candidates(
        self, executor: Executor, eligible: NDArray[np.bool_], distance: NDArray[np.float64]
    ) -> Iterator[Candidate]:
        for position, node in enumerate(self._nodes):
            for slot in self._free[node]:
                reason = None
                if not eligible[position]:
                    reason = "node lacks memory or CPU, or is outside the first rack"
                elif self._heap_left(slot, executor) < 0:
                    reason = f"worker heap would exceed {self._max_heap:g} MB"
                yield Candidate(slot, float(distance[position]), reason)


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


def schedule_round(view: SchedulingView) -> SchedulingResult:
    """Let the most important topology of the neediest user take its turn until none is pending."""
    this_round = _Round(view)
    while (topology := this_round.next_topology()) is not None:
        this_round.take_turn(topology)
    return SchedulingResult(this_round.state.assignment(), this_round.status, tuple(this_round.decisions))


class _Round:
    def __init__(self, view: SchedulingView) -> None:
        self.view = view
        self.state = Ras1State(view)
        self.decisions: list[Decision] = []
        self.status: dict[str, TopologyStatus] = {}
        self.pending = {topology.id for topology in view.topologies if self.state.unassigned(topology)}
        for topology in view.topologies:
            if topology.id not in self.pending:
                self.status[topology.id] = TopologyStatus(True, "Fully Scheduled")
        self.owners = owners(view)

    def next_topology(self) -> Topology | None:
        """Return the most important pending topology of the user that uses least of its guarantee."""
        best: str | None = None
        least = float("inf")
        for owner in self.owners:
            if not self._topologies(owner, self.pending):
                continue
            use = self.average_use(owner)
            if use < least or (
                best is not None and abs(least - use) < _TIE and self._share(owner) > self._share(best)
            ):
                best, least = owner, use
        return None if best is None else self._topologies(best, self.pending)[0]

    def _topologies(self, owner: str, among: Iterable[str]) -> list[Topology]:
        mine = (self.view.topology[i] for i in among if self.view.topology[i].owner == owner)
        return sorted(mine, key=priority_key)

    def _running(self, owner: str) -> list[Topology]:
        return self._topologies(owner, (i for i, status in self.status.items() if status.scheduled))

    def _guarantee(self, owner: str) -> Resources:
        return self.view.user_pools.get(owner, Resources())

    def _share(self, owner: str) -> float:
        """Return the user's guarantee as a share of the cluster."""
        cpu = sum(node.offer.cpu_points for node in self.state.nodes.values())
        memory = sum(node.offer.total_memory_mb for node in self.state.nodes.values())
        guarantee = self._guarantee(owner)
        return (
            (guarantee.cpu_points / cpu if cpu else 0.0) + (guarantee.memory_mb / memory if memory else 0.0)
        ) / 2.0

    def _use(self, owner: str) -> tuple[float, float]:
        """Return the demand of the user's running topologies as shares of its guaranteed CPU and memory."""
        cpu = memory = 0.0
        for topology in self._running(owner):
            asked = self.state.request(self.view.executors[topology.id])
            cpu, memory = cpu + asked[0], memory + asked[1]
        guarantee = self._guarantee(owner)
        return (
            cpu / guarantee.cpu_points if guarantee.cpu_points else _NO_GUARANTEE,
            memory / guarantee.memory_mb if guarantee.memory_mb else _NO_GUARANTEE,
        )

    def average_use(self, owner: str) -> float:
        """Return the mean of the CPU and memory shares in use; huge for a user without a guarantee."""
        cpu, memory = self._use(owner)
        return cpu / 2.0 + memory / 2.0

    def take_turn(self, topology: Topology) -> None:
        """Schedule the topology, evicting others as the rules allow; a failed attempt changes nothing."""
        before = (self.state.copy(), set(self.pending), dict(self.status))
        failure = self._place(topology, before[0].overdrawn)
        if failure:
            self.state, self.pending, self.status = before
        self.pending.discard(topology.id)
        message = failure or "Running - Fully Scheduled by DefaultResourceAwareStrategy"
        self.status[topology.id] = TopologyStatus(not failure, message)

    def _place(self, topology: Topology, overdrawn: bool) -> str:
        """Place the topology, evicting others; return why that failed, or an empty text."""
        strategy = Strategy(topology)
        while True:
            trial = self.state.copy()
            # A single blacklisted node makes Storm 1.0's strategy fail, whatever other nodes exist.
            if len(trial.alive) < len(trial.nodes) or (trial.overdrawn and not overdrawn):
                return _INVALID
            message = "No available nodes to schedule tasks on!"
            if trial.nodes:
                if not topology.spouts:
                    return _INVALID
                if strategy.place_all(trial):
                    self.decisions.extend(strategy.decisions)
                    return "" if self.state.apply(topology.id, strategy.plan) else _OVERDRAWN
                total = len(self.view.executors[topology.id])
                placed = total - len(self.state.unassigned(topology))
                message = f"{placed}/{total} executors scheduled"
            victim = self._victim(topology)
            if victim is None:
                self.decisions.extend(strategy.decisions)
                return f"Not enough resources to schedule - {message}"
            self.state.evict(victim.id)
            self.pending.add(victim.id)
            self.status[victim.id] = TopologyStatus(False, "Scheduling Pending")

    def _victim(self, topology: Topology) -> Topology | None:
        """Return the running topology to evict for this one, if the rules allow one."""
        guarantee = self._guarantee(topology.owner)
        if not guarantee.cpu_points or not guarantee.memory_mb:
            return None
        cpu, memory = self.state.request(self.view.executors[topology.id])
        cpu_need, memory_need = cpu / guarantee.cpu_points, memory / guarantee.memory_mb
        cpu_use, memory_use = self._use(topology.owner)
        greediest = self._user_furthest_over()
        if greediest is not None:
            within = 1.0 - cpu_use >= cpu_need and 1.0 - memory_use >= memory_need
            excess = self.average_use(greediest) - 1.0
            if within or excess > (cpu_need + memory_need) / 2.0 + (self.average_use(topology.owner) - 1.0):
                return self._running(greediest)[-1]
        own = self._running(topology.owner)
        return next((other for other in own if other.priority > topology.priority), None)

    def _user_furthest_over(self) -> str | None:
        """Return the user with running topologies that is furthest over its guarantee, if any."""
        worst, most = None, 0.0
        for owner in self.owners:
            over = self.average_use(owner) - 1.0
            if over > most and self._running(owner):
                worst, most = owner, over
        return worst
