"""A round of the resource-aware scheduler of Storm 1.0.x: users, priorities and eviction.

Source: ``ResourceAwareScheduler``, ``DefaultSchedulingPriorityStrategy`` and ``DefaultEvictionStrategy`` of
1.0.6.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from storm_lab.model import Resources, Topology
from storm_lab.schedulers.contract import Decision, SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.storm.ras1_state import Ras1State
from storm_lab.schedulers.storm.ras1_strategy import Strategy
from storm_lab.schedulers.storm.ras_state import owners, priority_key

_NO_GUARANTEE = sys.float_info.max
_TIE = 0.0001
_INVALID = "Scheduling Attempted but topology is invalid"
_OVERDRAWN = (
    "Unsuccessful in scheduling - IllegalStateException thrown when attempting to assign executors to nodes. "
    "Please check log for details."
)


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

    # --- order of turns ---

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

    # --- a turn ---

    def take_turn(self, topology: Topology) -> None:
        """Schedule the topology, evicting others as the rules allow; a failed attempt changes nothing."""
        before = (self.state.copy(), set(self.pending), dict(self.status))
        strategy = Strategy(topology)
        while True:
            trial = self.state.copy()
            if len(trial.alive) < len(trial.nodes) or (trial.overdrawn and not before[0].overdrawn):
                # A single blacklisted node makes Storm 1.0's strategy fail, whatever other nodes exist.
                self._give_up(before, topology, _INVALID)
                return
            if not trial.nodes:
                message = "No available nodes to schedule tasks on!"
            elif not topology.spouts:
                self._give_up(before, topology, _INVALID)
                return
            elif strategy.place_all(trial):
                self.decisions.extend(strategy.decisions)
                if not self.state.apply(topology.id, strategy.plan):
                    self._give_up(before, topology, _OVERDRAWN)
                    return
                self.pending.discard(topology.id)
                self.status[topology.id] = TopologyStatus(
                    True, "Running - Fully Scheduled by DefaultResourceAwareStrategy"
                )
                return
            else:
                total = len(self.view.executors[topology.id])
                placed = total - len(self.state.unassigned(topology))
                message = f"{placed}/{total} executors scheduled"
            victim = self._victim(topology)
            if victim is None:
                self._give_up(before, topology, f"Not enough resources to schedule - {message}")
                self.decisions.extend(strategy.decisions)
                return
            self.state.evict(victim.id)
            self.pending.add(victim.id)
            self.status[victim.id] = TopologyStatus(False, "Scheduling Pending")

    def _give_up(
        self,
        before: tuple[Ras1State, set[str], dict[str, TopologyStatus]],
        topology: Topology,
        message: str,
    ) -> None:
        self.state, self.pending, self.status = before
        self.pending.discard(topology.id)
        self.status[topology.id] = TopologyStatus(False, message)

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
