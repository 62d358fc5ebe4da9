"""R-Storm as in the paper: tasks in breadth-first order, each to the nearest node in resource space.

Source: R-Storm (Middleware 2015), Algorithms 1 to 4. Memory is a hard constraint and CPU a soft one; network
distance is measured from one reference node. Defaults are the recommended reading; ``docs/schedulers.md`` has
the printed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storm_lab.errors import UserError
from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.traffic import reached_from
from storm_lab.schedulers.keeping import (
    Round,
    SlotBook,
    incomplete_topologies,
    interleaved,
    surviving_assignment,
)
from storm_lab.schedulers.parameters import PolicyParameters, parameter
from storm_lab.schedulers.storm.hash_order import java7_map_order
from storm_lab.schedulers.storm.ras2_orders import neighbours

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class RStormParameters(PolicyParameters):
    """Readings of Algorithm 4 (``docs/schedulers.md`` explains each), and the weights of its distance."""

    cpu: str = parameter("two-tier", choices=("two-tier", "soft", "hard"))
    scale: str = parameter("capacity", choices=("capacity", "unit"))
    network_term: str = parameter("squared", choices=("squared", "plain"))
    memory_rule: str = parameter("at-least", choices=("at-least", "more-than"))
    siblings: str = parameter("java7", choices=("java7", "declared"))  # order of a component's neighbours
    memory_weight: float = parameter(1.0, low=0.0)
    cpu_weight: float = parameter(1.0, low=0.0)
    network_weight: float = parameter(1.0, low=0.0)
    same_rack: float = parameter(0.5, low=0.0)  # network distance from the reference node
    other_rack: float = parameter(1.0, low=0.0)


class RStormScheduler(Scheduler[RStormParameters]):
    """R-Storm with one worker per topology and node. Complete topologies stay where they are."""

    name = "rstorm"
    version = "3"
    Parameters = RStormParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the incomplete topologies, one after the other, each completely or not at all."""
        work = Round(view, surviving_assignment(view))
        todo = set(incomplete_topologies(view))
        nodes = _Nodes(work, self.parameters)
        for topology in view.topologies:
            if topology.id not in todo:
                work.scheduled(topology.id)
                continue
            plan, missing = nodes.plan(topology)
            if missing is None:
                work.placed.update(plan)
                work.scheduled(topology.id, "Scheduled by R-Storm")
            else:
                nodes.release(topology, plan)
                needed = f"a slot and {view.demand(missing).total_memory_mb:g} MB for executor {missing}"
                work.failed(topology.id, f"no node has {needed}; nothing of the topology is placed anew")
        return work.result()


def breadth_first(topology: Topology, siblings: str = "java7") -> list[str]:
    """Algorithm 2: component ids breadth first from the first spout, along streams in both directions.

    ``siblings`` sets the order of a component's neighbours. Components that are not connected with the first
    spout follow in the same way. Raises `UserError` if the topology has no spout.
    """
    if not topology.spouts:
        raise UserError("the topology has no spout to start from", field="topology", value=topology.id)
    declared = [component.id for component in topology.components]
    walked = java7_map_order(declared, string_hash) if siblings == "java7" else declared
    position = {component: i for i, component in enumerate(walked)}
    near = neighbours(topology)
    roots = [*(spout.id for spout in topology.spouts), *declared]
    return reached_from(roots, lambda component: sorted(near[component], key=position.__getitem__))


def task_selection(
    topology: Topology, executors: tuple[Executor, ...], siblings: str = "java7"
) -> list[Executor]:
    """Algorithm 3: order the executors by taking one of each component in turn; ackers come last."""
    of_component: dict[str, list[Executor]] = {c: [] for c in breadth_first(topology, siblings)}
    rest: list[Executor] = []
    for executor in executors:
        of_component.get(executor.component, rest).append(executor)
    return interleaved(of_component.values()) + rest


class _Nodes:
    """Algorithm 4 on vectors of the resources that the executors placed so far leave on the nodes."""

    def __init__(self, work: Round, parameters: RStormParameters) -> None:
        view = self._view = work.view
        self._placed, self._journal, self._p = work.placed, work.journal, parameters
        self._book = SlotBook(view, [])
        offers = [node.offer for node in view.cluster.nodes]
        self._cpu_offer = np.array([offer.cpu_points for offer in offers])
        self._memory_offer = np.array([offer.total_memory_mb for offer in offers])
        self._cpu, self._memory = self._cpu_offer.copy(), self._memory_offer.copy()
        racks = {rack: i for i, rack in enumerate(view.cluster.racks)}
        self._rack = np.array([racks[node.rack] for node in view.cluster.nodes], dtype=np.int64)
        self._reference: int | None = None
        for executor, slot in self._placed.items():
            self._book.reserve(slot, executor)
            self._use(executor, slot, 1.0)

    def _use(self, executor: Executor, slot: Slot, sign: float) -> None:
        node, demand = self._book.index[slot.node], self._view.demand(executor)
        self._cpu[node] -= sign * demand.cpu_points
        self._memory[node] -= sign * demand.total_memory_mb

    def release(self, topology: Topology, plan: dict[Executor, Slot]) -> None:
        """Undo the tentative placements of a topology that failed."""
        for executor, slot in plan.items():
            self._use(executor, slot, -1.0)
        held = {slot for executor, slot in self._placed.items() if executor.topology == topology.id}
        for slot in dict.fromkeys(plan.values()):
            if slot not in held:
                self._book.release(topology.id, self._book.index[slot.node])

    def plan(self, topology: Topology) -> tuple[dict[Executor, Slot], Executor | None]:
        """Algorithm 1: choose a slot for each executor in turn; also return the first one without a slot.

        The reference node is unset at first, or is the node that already holds most of the topology.
        """
        on = [self._book.index[s.node] for e, s in self._placed.items() if e.topology == topology.id]
        self._reference = max(sorted(set(on)), key=on.count) if on else None
        usable = set(self._view.usable_slots)
        has_slot = [self._book.peek(topology.id, n) in usable for n in range(len(self._book.nodes))]
        self._has_slot = np.array(has_slot, dtype=bool)
        plan: dict[Executor, Slot] = {}
        for executor in task_selection(topology, self._view.executors[topology.id], self._p.siblings):
            if executor not in self._placed:
                slot = self._select(executor)
                if slot is None:
                    return plan, executor
                plan[executor] = slot
        return plan, None

    def _select(self, executor: Executor) -> Slot | None:
        """Choose the executor's slot and take its resources; return None if no node has the memory."""
        demand = self._view.demand(executor)
        if self._p.memory_rule == "more-than":
            has_memory = self._memory > demand.total_memory_mb
        else:
            has_memory = self._memory >= demand.total_memory_mb
        has_cpu = self._cpu >= demand.cpu_points
        eligible = self._has_slot & has_memory
        if self._p.cpu == "hard" or (self._p.cpu == "two-tier" and (eligible & has_cpu).any()):
            eligible &= has_cpu
        first = self._reference is None
        if self._reference is None:
            self._reference = self._richest_node()
        distance = self._distance(demand.cpu_points, demand.total_memory_mb)
        slot = None
        if first and eligible[self._reference]:
            slot = self._book.take(executor.topology, self._reference)
        elif eligible.any():
            least = float(distance[eligible].min())
            nearest = np.flatnonzero(eligible & (distance <= least + _TIE * max(1.0, least)))
            slot = self._book.take(executor.topology, int(nearest[0]))
        if self._journal.wanted:
            note = "first task of the topology: goes to the reference node" if first and slot else ""
            candidates = self._candidates(executor, has_memory, has_cpu, eligible, distance)
            self._journal.record(executor, slot, candidates, score_name="distance (lowest wins)", note=note)
        if slot is not None:
            self._use(executor, slot, 1.0)
        return slot

    def _richest_node(self) -> int:
        """Return the node with most resources in the rack with most; the first one of equals."""
        usable = self._has_slot
        share = self._share(self._cpu, self._cpu_offer.max())
        share += self._share(self._memory, self._memory_offer.max())
        share = np.where(usable, np.maximum(share, 0.0), -np.inf)
        per_rack = np.bincount(self._rack, weights=np.where(usable, share, 0.0))
        per_rack[[r for r in range(len(per_rack)) if not usable[self._rack == r].any()]] = -np.inf
        return int(np.where(self._rack == per_rack.argmax(), share, -np.inf).argmax())

    @staticmethod
    def _share(available: Vector, whole: float | Vector) -> Vector:
        return np.asarray(available / np.where(np.asarray(whole) > 0, whole, 1.0))

    def _distance(self, cpu_points: float, memory_mb: float) -> Vector:
        cpu, memory = cpu_points - self._cpu, memory_mb - self._memory
        if self._p.scale == "capacity":
            cpu, memory = self._share(cpu, self._cpu_offer), self._share(memory, self._memory_offer)
        network = np.zeros(len(cpu))
        if self._reference is not None:
            same_rack = self._rack == self._rack[self._reference]
            network = np.where(same_rack, self._p.same_rack, self._p.other_rack)
            network[self._reference] = 0.0
        if self._p.network_term == "squared":
            network = network * network
        squares = self._p.memory_weight * memory * memory + self._p.cpu_weight * cpu * cpu
        return np.asarray(np.sqrt(squares + self._p.network_weight * network))

    def _candidates(
        self, executor: Executor, has_memory: Mask, has_cpu: Mask, eligible: Mask, distance: Vector
    ) -> Iterator[Candidate]:
        for n in np.flatnonzero(self._has_slot).tolist():
            slot = self._book.peek(executor.topology, n)
            assert slot is not None
            reason = None
            if not has_memory[n]:
                reason = f"memory: {self._memory[n]:g} MB left"
            elif not eligible[n] and not has_cpu[n]:
                reason = f"CPU: {self._cpu[n]:g} points left, and another node has enough"
            yield Candidate(slot, float(distance[n]), reason)
