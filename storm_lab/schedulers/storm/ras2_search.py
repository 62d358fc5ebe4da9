"""Storm 2.x's resource-aware search: first fit in node order, with backtracking if an executor fits nowhere.

Source: ``BaseResourceAwareStrategy`` and ``SchedulingSearcherState`` of Storm 2.8.8. As there, the nodes are
sorted again if the component is the *same* as before; if it changes, the old order is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from storm_lab.model import ACKER, Executor, Slot, Topology
from storm_lab.model.settings import (
    ACKERS_PER_WORKER,
    ISOLATE_MACHINES,
    ONE_COMPONENT,
    ONE_EXECUTOR,
    STATE_LIMIT,
    flag_of,
    number_of,
)
from storm_lab.schedulers.contract import Candidate, Decision
from storm_lab.schedulers.storm.hash_order import free_slot_order
from storm_lab.schedulers.storm.ras2_orders import NodeOrder, Places, executor_order, strategy_of
from storm_lab.schedulers.storm.ras_state import Ras2State, max_worker_heap_mb

_DEFAULT_STATE_LIMIT = 10_000
_CLUSTER_STATE_LIMIT = 100_000
_SCORE = "rank of the node (lowest wins)"

_Obstacle = tuple[str] | tuple[str, float, float]
"""What prevents the use of a slot: a text, and the figures to format into it when it is shown."""
_PASSED: _Obstacle = ("passed over, as the search came back from a dead end",)


SUCCESS, NOT_ENOUGH_RESOURCES = "SUCCESS", "FAIL_NOT_ENOUGH_RESOURCES"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The outcome of a search, with Storm's name of its status."""

    status: str
    message: str
    decisions: tuple[Decision, ...] = ()


class Search:
    """One attempt at one topology. It changes ``state``, so give it a copy."""

    def __init__(self, state: Ras2State, topology: Topology) -> None:
        self._state, self._topology = state, topology
        self._strategy = strategy_of(topology)
        self._places = Places(state)
        self._max_heap = max_worker_heap_mb(topology)
        self._one_executor = flag_of(topology.settings, ONE_EXECUTOR)
        self._one_component = flag_of(topology.settings, ONE_COMPONENT)
        self._ackers_per_worker = int(number_of(topology.settings, ACKERS_PER_WORKER, 1))
        limit = number_of(topology.settings, STATE_LIMIT, _DEFAULT_STATE_LIMIT)
        self._limit = int(min(limit, _CLUSTER_STATE_LIMIT))
        # Slots that are free now stay candidates although the search fills them. The topology's own old slots
        # are no candidates.
        self._free = {i: free_slot_order(state.free_slots(node)) for i, node in state.alive.items()}
        self._states = self._steps_back = 0
        self._bound: dict[Slot, tuple[Executor, list[Executor]]] = {}
        """By worker, the executor with which ackers joined it, and these ackers."""
        self._bound_ackers: set[Executor] = set()
        self._turns: dict[Executor, tuple[Sequence[str], Collection[Slot]]] = {}
        """By executor, in the order of placing: the order of the nodes, and the slots passed over."""
        self._deepest = -1
        self._dead_end: tuple[Decision, ...] = ()

    def run(self) -> SearchResult:
        """Place all unassigned executors, or return why that is impossible."""
        unassigned = self._state.unassigned(self._topology)
        if not unassigned:
            return SearchResult(SUCCESS, f"Fully Scheduled by {self._strategy.name}")
        if not self._state.nodes:
            return SearchResult(NOT_ENOUGH_RESOURCES, "No available nodes to schedule tasks on!")
        if not self._topology.spouts:
            return SearchResult("FAIL_INVALID_TOPOLOGY", "Cannot find a Spout!")
        if len(unassigned) >= self._limit:
            count = f"Unassignerd Executor count ({len(unassigned)})"
            return SearchResult("FAIL_OTHER", f"{count} is greater than searchable state count {self._limit}")
        order = executor_order(self._state, self._topology)
        self._waiting_ackers = deque(e for e in order if e.component == ACKER)
        reached, success = self._place_all(order)
        effort = f"{self._states} states traversed in N ms, backtracked {self._steps_back} times"
        if success:
            placed = [executor for executor in order if executor in self._state.slot_of[executor.topology]]
            decisions = self._explanations(placed) if self._state.view.explain and placed else self._dead_end
            message = f"Fully Scheduled by {self._strategy.name} ({effort})"
            return SearchResult(SUCCESS, message, decisions)
        effort += f", {reached} of {len(order)} executors scheduled"
        message = f"Cannot schedule by {self._strategy.name} ({effort})"
        return SearchResult(NOT_ENOUGH_RESOURCES, message, self._dead_end)

    def _place_all(self, order: list[Executor]) -> tuple[int, bool]:
        """Place the executors in order; return the index reached and whether the last one has a slot."""
        tried = [-1] * len(order)  # per executor: index of the last candidate slot tried
        nodes: NodeOrder | None = None
        k = 0
        while k < len(order):
            if self._states > self._limit:
                return k, False
            executor = order[k]
            if executor in self._bound_ackers:
                k += 1
                continue
            same_component = k == 0 or executor.component == order[k - 1].component
            skip = 0
            if nodes is None or (self._strategy.resorts_nodes and same_component):
                nodes = self._node_order()
                skip = tried[k] + 1
            slot = self._first_fit(executor, nodes, tried, k, skip)
            if self._state.view.explain:
                whole = nodes.whole()
                self._turns[executor] = whole, set(islice(self._with_room(executor, whole), skip))
            if slot is not None:
                self._put(executor, slot)
                k += 1
                continue
            nodes = None
            self._note_dead_end(executor, k)
            if k == 0:
                # Storm takes the end of the loop for success, even if a single executor has no slot.
                return 0, len(order) == 1
            tried[k] = -1
            k -= 1
            while k > 0 and order[k] in self._bound_ackers:
                k -= 1
            self._undo(order[k])
        return len(order) - 1, True

    def _node_order(self) -> NodeOrder:
        return NodeOrder(self._state, self._topology.id, self._places, self._strategy.rank)

    def _first_fit(
        self, executor: Executor, nodes: NodeOrder, tried: list[int], k: int, skip: int
    ) -> Slot | None:
        for slot in islice(self._with_room(executor, nodes), skip, None):
            tried[k] += 1
            if self._obstacle(executor, slot) is None:
                return slot
        return None

    def _with_room(self, executor: Executor, nodes: Iterable[str]) -> Iterator[Slot]:
        """Yield the free slots of the nodes that have the executor's own CPU and memory left."""
        available = self._state.available
        cpu, heap, offheap = self._state.sums_of((executor,))
        memory = heap + offheap
        for node_id in nodes:
            left = available(node_id)
            if left[0] >= cpu and left[1] >= memory:
                yield from self._free[node_id]

    def _obstacle(self, executor: Executor, slot: Slot) -> _Obstacle | None:
        """Return the constraint that rules out the slot for the executor, or None if it fits."""
        state = self._state
        left_cpu, left_memory = state.available(slot.node)
        cpu, heap, offheap = state.sums_of((executor,))
        if left_cpu < cpu:
            return "node has {:g} CPU points, needs {:g}", left_cpu, cpu
        if left_memory < heap + offheap:
            return "node has {:g} MB, needs {:g}", left_memory, heap + offheap
        if self._one_executor or self._one_component:
            inside = state.workers.get(slot, ())
            if inside and self._one_executor:
                return ("one executor per worker",)
            if any(other.component != executor.component for other in inside):
                return ("one component per worker",)
        cpu, memory, worker_heap = state.added_by(executor, slot)
        if cpu > left_cpu:
            return "worker would take {:g} CPU points more, node has {:g}", cpu, left_cpu
        if memory > left_memory:
            return "worker would take {:g} MB more, node has {:g}", memory, left_memory
        if worker_heap > self._max_heap:
            return "worker heap would be {:g} of {:g} MB", worker_heap, self._max_heap
        return None

    def _put(self, executor: Executor, slot: Slot) -> None:
        self._states += 1
        self._state.place(executor, slot)
        for _ in range(self._ackers_to_bind(executor, slot)):
            if self._obstacle(self._waiting_ackers[0], slot) is not None:
                return
            acker = self._waiting_ackers.popleft()
            self._state.place(acker, slot)
            self._bound.setdefault(slot, (executor, []))[1].append(acker)
            self._bound_ackers.add(acker)

    def _ackers_to_bind(self, executor: Executor, slot: Slot) -> int:
        """Return how many ackers join the executor in a worker that has no bound ackers yet."""
        apart = self._one_executor or self._one_component or executor.component == ACKER
        if apart or slot in self._bound or not self._waiting_ackers:
            return 0
        demand = self._state.view.demand
        space = self._max_heap - demand(executor).memory_mb
        acker_heap = demand(self._waiting_ackers[0]).memory_mb
        fitting = int(space // acker_heap) if acker_heap else len(self._waiting_ackers)
        return min(fitting, len(self._waiting_ackers), self._ackers_per_worker)

    def _undo(self, executor: Executor) -> None:
        self._steps_back += 1
        self._turns.pop(executor, None)
        slot = self._state.slot_of[executor.topology][executor]
        self._state.remove(executor)
        if slot in self._bound and self._bound[slot][0] == executor:
            for acker in reversed(self._bound.pop(slot)[1]):
                self._state.remove(acker)
                self._bound_ackers.remove(acker)
                self._waiting_ackers.appendleft(acker)

    def refusals(self) -> tuple[Decision, ...]:
        """Return the reasons from one pass over the executors without backtracking; no executor is placed."""
        found = []
        for executor in executor_order(self._state, self._topology):
            candidates = self._candidates(executor, self._node_order())
            fitting = [c for c in candidates if c.ruled_out_by is None]
            note = "fits nowhere: " + self._lacking(executor)
            if fitting:
                slot = min(fitting, key=lambda c: c.score or 0.0).slot
                self._state.place(executor, slot)
                note = f"would fit into {slot}, but all or nothing is placed"
            found.append(Decision(executor, None, candidates, _SCORE, note))
        return tuple(found)

    def _lacking(self, executor: Executor) -> str:
        """Return which node lacks what for the executor, in one line."""
        demand, lacking = self._state.view.demand(executor), []
        for node_id, slots in self._free.items():
            cpu, memory = self._state.available(node_id)
            if not slots:
                lacking.append(f"{node_id} has no free slot")
            elif cpu < demand.cpu_points:
                lacking.append(f"{node_id} has {cpu:g} of {demand.cpu_points:g} CPU points")
            elif memory < demand.total_memory_mb:
                lacking.append(f"{node_id} has {memory:g} of {demand.total_memory_mb:g} MB")
            else:
                lacking.append(f"{node_id} has no worker with the heap")
        return "; ".join(lacking) or "there is no node"

    def _note_dead_end(self, executor: Executor, k: int) -> None:
        """Keep the candidates of the executor at which the search got furthest and failed."""
        if not self._state.view.explain:
            return
        turn = self._turns.pop(executor)
        if k > self._deepest:
            self._deepest = k
            candidates, note = self._candidates(executor, *turn), "the furthest the search got"
            self._dead_end = (Decision(executor, None, candidates, _SCORE, note),)

    def _candidates(
        self, executor: Executor, nodes: Iterable[str], passed: Collection[Slot] = ()
    ) -> tuple[Candidate, ...]:
        found = []
        for rank, node_id in enumerate(nodes):
            for slot in self._free[node_id]:
                obstacle = _PASSED if slot in passed else self._obstacle(executor, slot)
                if obstacle is None:
                    found.append(Candidate(slot, float(rank)))
                else:
                    text, *figures = obstacle
                    found.append(Candidate(slot, None, text.format(*figures)))
        return tuple(found)

    def _explanations(self, placed: list[Executor]) -> tuple[Decision, ...]:
        """Replay the plan and record each executor's candidates: final choices, without dead ends."""
        plan = {executor: self._state.slot_of[executor.topology][executor] for executor in placed}
        for executor in placed:
            self._state.remove(executor)
        decisions = []
        for executor, turn in self._turns.items():
            slot = plan[executor]
            decisions.append(Decision(executor, slot, self._candidates(executor, *turn), _SCORE))
            self._state.place(executor, slot)
            leader, ackers = self._bound.get(slot, (None, []))
            for acker in ackers if leader == executor else ():
                decisions.append(Decision(acker, slot, note="acker bound to its worker"))
                self._state.place(acker, slot)
        return tuple(decisions)


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
