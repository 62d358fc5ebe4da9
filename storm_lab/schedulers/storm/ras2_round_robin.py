"""Storm 2.x's round robin, and the search that a topology's strategy asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.settings import ISOLATE_MACHINES, number_of
from storm_lab.schedulers.contract import Candidate
from storm_lab.schedulers.storm.ras2_orders import strategy_of
from storm_lab.schedulers.storm.ras2_search import Search
from storm_lab.schedulers.storm.ras_state import Ras2State


class RoundRobin(Search):
    """Storm's round robin: every executor on the node after the previous one, without backtracking.

    It uses only nodes without other topologies. Source: the answers of ``RoundRobinResourceAwareStrategy`` of
    Storm 2.8.3, with its quirks: an executor of the *same* component as the previous one starts at the first
    node again, and a last executor that fits nowhere counts as scheduled.
    """

    def _place_all(self, order: list[Executor]) -> tuple[int, bool]:
        last = len(order) - 1
        remaining: list[str] = []
        for k, executor in enumerate(order):
            if self._states > self._limit:
                return k, False
            if executor in self._bound_ackers:
                continue
            if not remaining or k == 0 or executor.component == order[k - 1].component:
                remaining = list(self._own_nodes)
            slot = None
            if self._state.view.explain:
                self._turns[executor] = tuple(remaining), ()
            while remaining and slot is None:
                free = self._free[remaining.pop(0)]
                slot = next((each for each in free if self._obstacle(executor, each) is None), None)
            if slot is None:
                self._note_dead_end(executor, k)
                return k, k == last
            self._put(executor, slot)
        return last, True

    @cached_property
    def _own_nodes(self) -> list[str]:
        """Nodes to use: those without another topology, at most ``topology.isolate.machines``."""
        mine = self._topology.id
        shared = {
            slot.node
            for slot, executors in self._state.workers.items()
            if any(executor.topology != mine for executor in executors)
        }
        own = [node for node in self._node_order() if node not in shared]
        most = int(number_of(self._topology.settings, ISOLATE_MACHINES, 0))
        return own[:most] if most else own

    def _candidates(
        self, executor: Executor, nodes: Iterable[str], passed: Collection[Slot] = ()
    ) -> tuple[Candidate, ...]:
        # Own nodes that had their turn are left out.
        own = self._own_nodes
        shown = [n for n in nodes if n in own] + [n for n in self._free if n not in own]
        return tuple(
            candidate
            if candidate.slot.node in own
            else Candidate(candidate.slot, None, "node is not one of the topology's own nodes")
            for candidate in super()._candidates(executor, shown, passed)
        )


def search_for(state: Ras2State, topology: Topology) -> Search:
    """Return an attempt at the topology with the strategy that it asks for."""
    return (RoundRobin if strategy_of(topology).round_robin else Search)(state, topology)
