"""A round of Storm 2.x's resource-aware scheduler: the order of topologies, and eviction.

Source: ``ResourceAwareScheduler`` and ``DefaultSchedulingPriorityStrategy`` of Storm 2.8.8.
"""

from __future__ import annotations

import math

from storm_lab.model import Resources, Topology
from storm_lab.schedulers.contract import Decision, SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.storm.hash_order import executor_hash, handed_over_order
from storm_lab.schedulers.storm.ras2_search import NOT_ENOUGH_RESOURCES, SUCCESS, search_for
from storm_lab.schedulers.storm.ras_state import Ras2State, Sums, owners, priority_key, total_demand

_MAX_ATTEMPTS = 5

_Amounts = tuple[float, float, float]
"""CPU points, memory in MB, and memory in MB as Storm sums it over workers."""


def schedule_round(view: SchedulingView) -> SchedulingResult:
    """Try every topology in order of priority, evicting later ones if necessary."""
    state, order = Ras2State(view), topology_order(view)
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
    """Order all topologies by a simulation that repeatedly takes the user furthest below its guarantee."""
    cpu = math.fsum(node.offer.cpu_points for node in view.cluster.nodes)
    memory = math.fsum(node.offer.total_memory_mb for node in view.cluster.nodes)
    users = [_User(owner, view) for owner in owners(view)]
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
    """Return the total demand of the topology's executors, summed in Storm's order."""
    return total_demand(view, handed_over_order(view.executors[topology.id], executor_hash, view.version))


class _User:
    def __init__(self, owner: str, view: SchedulingView) -> None:
        mine = (topology for topology in view.topologies if topology.owner == owner)
        self.waiting = [(t, requested(view, t)) for t in sorted(mine, key=priority_key)]
        self._guarantee = view.user_pools.get(owner, Resources())
        self._cpu = self._memory = 0.0

    def score(self, cpu: float, memory: float) -> float:
        """Return how far the user's next topology would exceed its guarantee, as a share of what is left."""
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
    """One topology's turn: quick check, search, eviction, at most five times. ``state`` is the outcome.

    What is required, scheduled, available and missing is counted in `_Amounts`.
    """

    def __init__(self, state: Ras2State, topology: Topology, order: list[Topology]) -> None:
        self.state = state
        self.decisions: tuple[Decision, ...] = ()
        self._work = state.copy()
        self._topology = topology
        self._later = order[order.index(topology) + 1 :]
        _, heap, offheap = requested(state.view, topology)
        self._required = (*state.request(state.view.executors[topology.id]), offheap + heap)
        self._scheduled = _scheduled_amounts(state, topology)
        cpu, memory = state.available_in_all()
        self._available = (cpu, memory, memory)
        self._missing: _Amounts | None = None

    def run(self) -> TopologyStatus:
        for _ in range(_MAX_ATTEMPTS):
            self._missing = None
            trial = self._work.copy()
            message = ""
            if self._may_fit():
                result = search_for(trial, self._topology).run()
                if result.status == SUCCESS:
                    self.state, self.decisions = trial, result.decisions
                    complete = not trial.unassigned(self._topology)
                    return TopologyStatus(complete, f"Running - {result.message}")
                if result.status != NOT_ENOUGH_RESOURCES:
                    return TopologyStatus(False, f"Status: {result.status} error message: {result.message}")
                message = result.message
                self.decisions = result.decisions
            elif self._work.view.explain:
                # Storm does not search at all here; these are the reasons that a search would find.
                self.decisions = search_for(trial.copy(), self._topology).refusals()
            # If a search ran out of states, Storm counts the executors that it had placed as scheduled.
            self._scheduled = _scheduled_amounts(trial, self._topology)
            self._missing = _difference(self._required, self._scheduled)
            if not self._evict_later_ones():
                return TopologyStatus(False, f"Not enough resources to schedule {self._shortfall()}{message}")
        return TopologyStatus(False, f"Failed to schedule within {_MAX_ATTEMPTS} attempts")

    def _may_fit(self) -> bool:
        amounts = zip(self._available, self._scheduled, self._required, strict=True)
        if any(available + scheduled < required for available, scheduled, required in amounts):
            return False
        return self._missing is None or max(self._missing) <= 0

    def _evict_later_ones(self) -> bool:
        """Evict later topologies, from the end of the order, until the request might fit."""
        evicted = False
        for topology in reversed(self._later):
            if not self._work.slot_of[topology.id]:
                continue
            cpu, memory, of_workers = freed = _scheduled_amounts(self._work, topology)
            left_cpu, left_memory, left_of_workers = self._available
            self._available = (left_cpu + cpu, left_memory + memory, left_of_workers + of_workers)
            if self._missing is not None:
                self._missing = _difference(self._missing, freed)
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
            left = max(0.0, self._available[1] - self._scheduled[1])
            text += f"Additional Memory Required: {memory} MB (Available: {left} MB). "
        if cpu > 0:
            left = max(0.0, self._available[0] - self._scheduled[0])
            text += f"Additional CPU Required: {cpu}% CPU (Available: {left} % CPU)."
        return text


def _scheduled_amounts(state: Ras2State, topology: Topology) -> _Amounts:
    """Return the amounts of the topology's placed executors."""
    return (*state.request(state.slot_of[topology.id]), state.memory_of_workers(topology.id))


def _difference(amounts: _Amounts, others: _Amounts) -> _Amounts:
    """Return the difference of the amounts; the first two are at least 0."""
    return (max(0.0, amounts[0] - others[0]), max(0.0, amounts[1] - others[1]), amounts[2] - others[2])
