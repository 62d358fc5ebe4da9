"""Storm 2.x's round-robin strategy: every executor on the node after the one before, without stepping back.

Source: ``RoundRobinResourceAwareStrategy`` of Storm 2.8.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from storm_lab.model import Executor, Topology
from storm_lab.model.settings import ISOLATE_MACHINES, number_of
from storm_lab.schedulers.storm.ras2_search import Search, SearchResult
from storm_lab.schedulers.storm.ras2_state import Ras2State
from storm_lab.schedulers.storm.ras2_strategy import strategy_of


class RoundRobin(Search):
    """One attempt at one topology. Nodes that other topologies use are not for it."""

    def _place_all(self, order: list[Executor]) -> tuple[int, bool]:
        nodes = self._own_nodes()
        walk: Iterator[str] = iter(())
        for k, executor in enumerate(order):
            if self._states > self._limit:
                return k, False
            if executor in self._bound_ackers:
                continue
            same_component = k == 0 or executor.component == order[k - 1].component
            if same_component:
                walk = iter(nodes)
            while True:
                node = next(walk, None)
                if node is None:
                    return k, False
                slot = self._first_slot(executor, node)
                if slot is not None:
                    self._put(executor, slot)
                    break
        return len(order) - 1, True

    def _first_slot(self, executor, node):
        cpu, heap, offheap = self._state.sums_of(executor)
        left = self._state.available(node)
        if left[0] < cpu or left[1] < heap + offheap:
            return None
        for slot in self._free[node]:
            if self._obstacle(executor, slot) is None:
                return slot
        return None

    def _own_nodes(self):
        most = int(number_of(self._topology.settings, ISOLATE_MACHINES, 0))
        found = []
        for node in self._node_order():
            tenants = {e.topology for s, es in self._state.workers.items() if s.node == node for e in es}
            if tenants <= {self._topology.id}:
                found.append(node)
        return found[:most] if most else found
