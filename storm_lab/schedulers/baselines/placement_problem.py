"""Placement as an optimisation problem: least traffic between nodes under T-Storm's constraints.

The constraints are those of T-Storm's Algorithm 1: at most one slot per topology and node, CPU within a
share of the node's MHz, and at most ``cap`` executors per node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.graph.traffic import Neighbours, expected_traffic
from storm_lab.schedulers.papers.tstorm import TStormParameters
from storm_lab.schedulers.slot_book import SlotBook

_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """An instance. Executors, topologies and nodes are numbered.

    ``capacity`` and ``load`` in MHz, ``slots`` usable slots per node, ``cap`` executors per node.
    """

    graph: Neighbours
    topology_of: tuple[int, ...]
    load: tuple[float, ...]
    capacity: tuple[float, ...]
    slots: tuple[int, ...]
    cap: int

    @classmethod
    def of(cls, view: SchedulingView, parameters: TStormParameters) -> PlacementProblem:
        """The instance of a view; without measured load, traffic is guessed and CPU load is nil.

        Raises:
            UserError: nothing was measured and a topology has a cycle.
        """
        executors = [e for topology in view.topologies for e in view.executors[topology.id]]
        number = {topology.id: i for i, topology in enumerate(view.topologies)}
        traffic = {
            pair: rate
            for topology in view.topologies
            for pair, rate in expected_traffic(view, topology).items()
        }
        cpu = view.load.cpu_mhz if view.load is not None else {}
        book = SlotBook(view, number)
        slots = tuple(book.free_count(n) for n in range(len(book.nodes)))
        available = sum(count > 0 for count in slots)
        return cls(
            graph=Neighbours.of(executors, traffic),
            topology_of=tuple(number[e.topology] for e in executors),
            load=tuple(cpu.get(e, 0.0) for e in executors),
            capacity=tuple(
                n.capacity_mhz * parameters.capacity_fraction * (1 + _SLACK) for n in view.cluster.nodes
            ),
            slots=slots,
            cap=parameters.executors_per_node(len(executors), available) if available else 0,
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
        """Traffic between nodes in tuples per second, for a complete placement."""
        return self.graph.between(place)

    def lower_bound(self) -> float:
        """No placement has less inter-node traffic: at most ``cap - 1`` others are beside an executor."""
        bound = 0.0
        for row in self.graph.near:
            rates = sorted((rate for _, rate in row), reverse=True)
            bound += sum(rates[max(0, self.cap - 1) :])
        return bound / 2.0
