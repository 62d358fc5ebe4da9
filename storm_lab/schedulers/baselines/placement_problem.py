"""Placement as an optimisation problem under T-Storm's constraints, and a local search for little traffic.

The constraints are those of T-Storm's Algorithm 1: at most one slot per topology and node, CPU within a share
of the node's MHz, and at most ``cap`` executors per node. The search starts from a greedy placement and moves
or swaps single executors while that saves traffic.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.graph.cuts import cut_weight
from storm_lab.schedulers.graph.traffic import Neighbours, expected_traffic
from storm_lab.schedulers.keeping import SlotBook
from storm_lab.schedulers.papers.tstorm import PackingParameters

_SLACK = 1e-9
_LEAST_GAIN = 1e-9
_MAX_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """A placement problem. Executors, topologies and nodes are numbered.

    ``capacity`` and ``load`` are in MHz, ``slots`` is the number of usable slots per node, and ``cap`` is the
    largest number of executors per node.
    """

    graph: Neighbours
    topology_of: tuple[int, ...]
    load: tuple[float, ...]
    capacity: tuple[float, ...]
    slots: tuple[int, ...]
    cap: int

    @classmethod
    def of(cls, view: SchedulingView, parameters: PackingParameters) -> PlacementProblem:
        """Make the problem of a view.

        Without measurements, traffic is estimated (`UserError` on a cycle) and CPU load is zero.
        """
        executors = [e for topology in view.topologies for e in view.executors[topology.id]]
        number = {topology.id: i for i, topology in enumerate(view.topologies)}
        of_topology = (expected_traffic(view, topology).items() for topology in view.topologies)
        traffic = dict(chain.from_iterable(of_topology))
        cpu = view.load.cpu_mhz if view.load is not None else {}
        slots, fraction = tuple(SlotBook(view).free_counts()), parameters.capacity_fraction
        return cls(
            graph=Neighbours.of(executors, traffic),
            topology_of=tuple(number[e.topology] for e in executors),
            load=tuple(cpu.get(e, 0.0) for e in executors),
            capacity=tuple(n.capacity_mhz * fraction * (1 + _SLACK) for n in view.cluster.nodes),
            slots=slots,
            cap=parameters.executors_per_node(len(executors), sum(count > 0 for count in slots)),
        )

    @property
    def executors(self) -> int:
        """Number of executors."""
        return len(self.load)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.slots)

    def cost(self, place: Sequence[int]) -> float:
        """Return the traffic between nodes, in tuples per second, of a complete placement."""
        return cut_weight(self.graph.near, place)

    def lower_bound(self) -> float:
        """Return a lower bound of the cost: an executor shares its node with at most ``cap - 1`` others."""
        bound = 0.0
        for row in self.graph.near:
            rates = sorted(row.values(), reverse=True)
            bound += sum(rates[max(0, self.cap - 1) :])
        return bound / 2.0


class LocalSearch:
    """One placement of a problem, improved in place. It keeps the traffic of each executor with each node."""

    def __init__(self, problem: PlacementProblem) -> None:
        self._p = problem
        self.place = [-1] * problem.executors
        self._load = [0.0] * problem.nodes
        self._members: list[set[int]] = [set() for _ in range(problem.nodes)]
        self._of_topology: list[dict[int, int]] = [{} for _ in range(problem.nodes)]
        self._with: list[dict[int, float]] = [{} for _ in range(problem.executors)]

    def start_greedily(self, order: Sequence[int]) -> bool:
        """Place executors in this order, each where it has most traffic; return False if one fits nowhere."""
        for i in order:
            fitting = [n for n in range(self._p.nodes) if self._fits(i, n)]
            if not fitting:
                return False
            self._enter(i, max(fitting, key=lambda n: (self._with[i].get(n, 0.0), len(self._members[n]), -n)))
        return True

    def improve(self, draw: random.Random) -> float:
        """Move and swap until nothing helps; return the traffic between nodes in tuples per second."""
        order = list(range(self._p.executors))
        for _ in range(_MAX_ROUNDS):
            draw.shuffle(order)
            if not sum(self._move_or_swap(i) for i in order):
                break
        return self._p.cost(self.place)

    def _move_or_swap(self, i: int) -> bool:
        home = self.place[i]
        here = self._with[i].get(home, 0.0)
        for there, node in sorted(((t, n) for n, t in self._with[i].items() if n != home), reverse=True):
            if there > here + _LEAST_GAIN and self._fits(i, node):
                self._leave(i)
                self._enter(i, node)
                return True
            partner = self._swap_partner(i, home, node, there - here)
            if partner is not None:
                self._leave(i)
                self._leave(partner)
                self._enter(i, node)
                self._enter(partner, home)
                return True
        return False

    def _swap_partner(self, i: int, home: int, node: int, gain: float) -> int | None:
        """Return the executor on ``node`` with which a swap saves most traffic and keeps all constraints."""
        rate_with = self._p.graph.near[i]
        best, best_gain = None, _LEAST_GAIN
        for j in sorted(self._members[node]):
            own = self._with[j]
            total = gain + own.get(home, 0.0) - own.get(node, 0.0) - 2.0 * rate_with.get(j, 0.0)
            if total > best_gain and self._swap_fits(i, home, j, node):
                best, best_gain = j, total
        return best

    def _swap_fits(self, i: int, home: int, j: int, node: int) -> bool:
        p = self._p
        if self._load[node] - p.load[j] + p.load[i] > p.capacity[node]:
            return False
        if self._load[home] - p.load[i] + p.load[j] > p.capacity[home]:
            return False
        a, b = p.topology_of[i], p.topology_of[j]
        return a == b or (self._slot_after_swap(home, a, b) and self._slot_after_swap(node, b, a))

    def _slot_after_swap(self, node: int, leaving: int, coming: int) -> bool:
        workers = set(self._of_topology[node])
        if self._of_topology[node][leaving] == 1:
            workers.discard(leaving)
        return len(workers | {coming}) <= self._p.slots[node]

    def _fits(self, i: int, node: int) -> bool:
        p = self._p
        there = self._of_topology[node]
        return (
            len(self._members[node]) < p.cap
            and self._load[node] + p.load[i] <= p.capacity[node]
            and (p.topology_of[i] in there or len(there) < p.slots[node])
        )

    def _enter(self, i: int, node: int) -> None:
        self.place[i] = node
        self._members[node].add(i)
        self._account(i, node, 1)

    def _leave(self, i: int) -> None:
        self._members[self.place[i]].discard(i)
        self._account(i, self.place[i], -1)
        self.place[i] = -1

    def _account(self, i: int, node: int, sign: int) -> None:
        self._load[node] += sign * self._p.load[i]
        there, topology = self._of_topology[node], self._p.topology_of[i]
        there[topology] = there.get(topology, 0) + sign
        if there[topology] == 0:
            del there[topology]
        for j, rate in self._p.graph.near[i].items():
            self._with[j][node] = self._with[j].get(node, 0.0) + sign * rate


def search(problem: PlacementProblem, draw: random.Random, restarts: int) -> tuple[list[int], float] | None:
    """Return the best placement over several starts and its traffic; None if no start was feasible.

    The first start places executors in order of traffic; ``restarts`` further ones use random orders.
    """
    by_traffic = sorted(range(problem.executors), key=lambda i: -problem.graph.total(i))
    best: tuple[list[int], float] | None = None
    for number in range(restarts + 1):
        attempt = LocalSearch(problem)
        if not attempt.start_greedily(draw.sample(by_traffic, len(by_traffic)) if number else by_traffic):
            continue
        cost = attempt.improve(draw)
        if best is None or cost < best[1] - _LEAST_GAIN:
            best = (attempt.place, cost)
    return best
