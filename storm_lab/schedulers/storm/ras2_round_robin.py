"""Storm 2.x's round-robin strategy: every executor on the node after the one before, without stepping back.

Source: ``RoundRobinResourceAwareStrategy`` of Storm 2.8.3, by its answers, with its quirks: an executor of
the *same* component as the one before begins at the first node again, and a last executor that fits nowhere
counts as scheduled.
"""

from __future__ import annotations

from functools import cached_property

from storm_lab.model import Executor, Slot
from storm_lab.model.settings import ISOLATE_MACHINES, number_of
from storm_lab.schedulers.contract import Candidate
from storm_lab.schedulers.storm.ras2_search import Search


class RoundRobin(Search):
    """One attempt at one topology, on nodes that no other topology uses."""

    def _place_all(self, order: list[Executor]) -> tuple[int, bool]:
        last = len(order) - 1
        ahead: list[str] = []
        for k, executor in enumerate(order):
            if self._states > self._limit:
                return k, False
            if executor in self._bound_ackers:
                continue
            if not ahead or k == 0 or executor.component == order[k - 1].component:
                ahead = list(self._own_nodes)
            slot = None
            while ahead and slot is None:
                slot = self._first_slot(executor, ahead.pop(0))
            if slot is None:
                self._note_dead_end(executor, k)
                return k, k == last
            self._put(executor, slot)
        return last, True

    @cached_property
    def _own_nodes(self) -> list[str]:
        """What it goes around: nodes without another topology, at most ``topology.isolate.machines``."""
        mine = self._topology.id
        shared = {
            slot.node
            for slot, executors in self._state.workers.items()
            if any(executor.topology != mine for executor in executors)
        }
        own = [node for node in self._node_order() if node not in shared]
        most = int(number_of(self._topology.settings, ISOLATE_MACHINES, 0))
        return own[:most] if most else own

    def _first_slot(self, executor: Executor, node: str) -> Slot | None:
        cpu, heap, offheap = self._state.sums_of(executor)
        left_cpu, left_memory = self._state.available(node)
        if left_cpu < cpu or left_memory < heap + offheap:
            return None
        return next((slot for slot in self._free[node] if self._obstacle(executor, slot) is None), None)

    def _candidates(self, executor: Executor) -> tuple[Candidate, ...]:
        # The one whose turn it is gets the executor, so nothing is better or worse.
        return tuple(
            candidate
            if candidate.slot.node in self._own_nodes
            else Candidate(candidate.slot, None, "node is not one that the topology goes around")
            for candidate in super()._candidates(executor)
        )
