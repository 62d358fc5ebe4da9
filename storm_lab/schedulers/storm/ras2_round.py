"""A round of Storm 2.x's resource-aware scheduler: whose turn it is, and who is evicted for whom.

Source: ``ResourceAwareScheduler`` and ``DefaultSchedulingPriorityStrategy`` of Storm 2.8.8.
"""

from __future__ import annotations

import math

from storm_lab.model import Resources, Topology
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.contract import Decision, SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.storm.hash_order import executor_hash, handed_over_order, hash_map_order
from storm_lab.schedulers.storm.ras2_round_robin import RoundRobin
from storm_lab.schedulers.storm.ras2_search import Search
from storm_lab.schedulers.storm.ras2_state import Ras2State
from storm_lab.schedulers.storm.ras2_strategy import strategy_of
from storm_lab.schedulers.storm.ras2_worker import Sums

_MAX_ATTEMPTS = 5


def schedule_round(view: SchedulingView) -> SchedulingResult:
    """Try every topology in order of priority, evicting later ones where that is needed."""
    state = Ras2State(view)
    order = topology_order(view)
    status: dict[str, TopologyStatus] = {}
    decisions: list[Decision] = []
    for topology in order:
        if not state.unassigned(topology):
            status[topology.id] = TopologyStatus(True, "Fully Scheduled")
            continue
        turn = _Turn(state, topology, order)
        status[topology.id] = turn.run()
        state = turn.state
        decisions.extend(turn.decisions)
    return SchedulingResult(state.assignment(), status, tuple(decisions))


def topology_order(view: SchedulingView) -> list[Topology]:
    """All topologies, by simulating users: again and again the one furthest below its guarantee."""
    cpu = math.fsum(node.offer.cpu_points for node in view.cluster.nodes)
    memory = math.fsum(node.offer.total_memory_mb for node in view.cluster.nodes)
    ids = handed_over_order([t.id for t in view.topologies], string_hash, view.version)
    owners = hash_map_order(list(dict.fromkeys(view.topology[i].owner for i in ids)), string_hash)
    users = [_User(owner, view) for owner in owners]
    order: list[Topology] = []
    while users:
        users.sort(key=lambda user: user.score(cpu, memory))
        user = users[0]
        if not user.waiting:
            users.pop(0)
            continue
        topology, (asked_cpu, heap, offheap) = user.take()
        cpu -= asked_cpu
        memory -= offheap + heap
        order.append(topology)
    return order


def requested(view: SchedulingView, topology: Topology) -> Sums:
    """What the topology's executors ask for together, added up in Storm's order."""
    cpu = heap = offheap = 0.0
    for executor in handed_over_order(view.executors[topology.id], executor_hash, view.version):
        demand = view.demand(executor)
        cpu, heap, offheap = cpu + demand.cpu_points, heap + demand.memory_mb, offheap + demand.offheap_mb
    return cpu, heap, offheap


class _User:
    def __init__(self, owner: str, view: SchedulingView) -> None:
        mine = (topology for topology in view.topologies if topology.owner == owner)
        ranked = sorted(mine, key=lambda t: (t.priority, t.launch_time_s, t.id))
        self.waiting = [(t, requested(view, t)) for t in ranked]
        self._guarantee = view.user_pools.get(owner, Resources())
        self._cpu = self._memory = 0.0

    def score(self, cpu: float, memory: float) -> float:
        """How far over its guarantee the user's next topology would bring it, as a share of what is left."""
        if not self.waiting or cpu <= 0 or memory <= 0:
            return float("inf")
        _, (asked_cpu, heap, offheap) = self.waiting[0]
        return max(
            (self._cpu + asked_cpu - self._guarantee.cpu_points) / cpu,
            (self._memory + offheap + heap - self._guarantee.memory_mb) / memory,
        )

    def take(self) -> tuple[Topology, Sums]:
        topology, (cpu, heap, offheap) = self.waiting.pop(0)
        self._cpu += cpu
        self._memory += offheap + heap
        return topology, (cpu, heap, offheap)


class _Turn:
    """One topology's turn: quick check, search, eviction, at most five times. ``state`` is the outcome."""

    def __init__(self, state: Ras2State, topology: Topology, order: list[Topology]) -> None:
        self.state = state
        self.decisions: tuple[Decision, ...] = ()
        self._work = state.copy()
        self._topology = topology
        self._later = order[order.index(topology) + 1 :]
        view = state.view
        self._required = state.request(view.executors[topology.id])
        _, heap, offheap = requested(view, topology)
        self._required_memory = offheap + heap
        self._scheduled = state.request(state.held[topology.id])
        self._scheduled_memory = state.memory_of_workers(topology.id)
        self._available_cpu, self._available_memory = state.available_in_all()
        self._worker_memory = self._available_memory
        self._missing: tuple[float, float, float] | None = None

    def run(self) -> TopologyStatus:
        for _ in range(_MAX_ATTEMPTS):
            self._missing = None
            trial = self._work.copy()
            message = ""
            if self._may_fit():
                result = search_for(trial, self._topology).run()
                if result.success:
                    self.state, self.decisions = trial, result.decisions
                    complete = not trial.unassigned(self._topology)
                    return TopologyStatus(complete, f"Running - {result.message}")
                if not result.lacks_resources:
                    return TopologyStatus(False, f"Status: {result.failure} error message: {result.message}")
                message = result.message
                self.decisions = result.decisions
            elif self._work.view.explain:
                # Storm does not search at all here; these are the reasons a search would have met.
                self.decisions = search_for(trial.copy(), self._topology).refusals()
            # Storm counts what a search that ran out of states had placed as scheduled already.
            self._scheduled = trial.request(trial.held[self._topology.id])
            self._scheduled_memory = trial.memory_of_workers(self._topology.id)
            self._missing = (
                max(0.0, self._required[0] - self._scheduled[0]),
                max(0.0, self._required[1] - self._scheduled[1]),
                self._required_memory - self._scheduled_memory,
            )
            if not self._evict_later_ones():
                return TopologyStatus(False, f"Not enough resources to schedule {self._shortfall()}{message}")
        return TopologyStatus(False, f"Failed to schedule within {_MAX_ATTEMPTS} attempts")

    def _may_fit(self) -> bool:
        if self._available_cpu + self._scheduled[0] < self._required[0]:
            return False
        if self._available_memory + self._scheduled[1] < self._required[1]:
            return False
        if self._worker_memory + self._scheduled_memory < self._required_memory:
            return False
        return self._missing is None or max(self._missing) <= 0

    def _evict_later_ones(self) -> bool:
        """Free later topologies from the end of the order until the request might fit."""
        evicted = False
        for topology in reversed(self._later):
            held = self._work.held[topology.id]
            if not held:
                continue
            cpu, memory = self._work.request(held)
            self._available_cpu += cpu
            self._available_memory += memory
            of_workers = self._work.memory_of_workers(topology.id)
            self._worker_memory += of_workers
            if self._missing is not None:
                self._missing = (
                    max(0.0, self._missing[0] - cpu),
                    max(0.0, self._missing[1] - memory),
                    self._missing[2] - of_workers,
                )
            self._work.evict(topology.id)
            evicted = True
            if self._may_fit():
                break
        return evicted

    def _shortfall(self) -> str:
        assert self._missing is not None
        cpu, _, memory = self._missing
        text = "after evicting lower priority topologies. "
        if memory > 0:
            left = max(0.0, self._available_memory - self._scheduled[1])
            text += f"Additional Memory Required: {memory} MB (Available: {left} MB). "
        if cpu > 0:
            left = max(0.0, self._available_cpu - self._scheduled[0])
            text += f"Additional CPU Required: {cpu}% CPU (Available: {left} % CPU)."
        return text


def search_for(state: Ras2State, topology: Topology) -> Search:
    """An attempt at the topology, in the way that it asks for."""
    return (RoundRobin if strategy_of(topology).goes_round else Search)(state, topology)
