"""Traffic between executors as sparse lists, measured or estimated from the topology.

Executors are numbered. Only pairs with traffic are stored, so memory and time grow with the number of such
pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from storm_lab.errors import UserError
from storm_lab.model import ACKER, Executor, Grouping, Slot, Topology
from storm_lab.model.grouped import grouped
from storm_lab.schedulers.contract import SchedulingView

Pairs = Mapping[tuple[Executor, Executor], float]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Undirected traffic between numbered executors.

    ``near[i]`` has the tuples per second in both directions together by ``j``, ascending.
    """

    executors: tuple[Executor, ...]
    near: tuple[dict[int, float], ...]

    @classmethod
    def of(cls, executors: Sequence[Executor], traffic: Pairs) -> Neighbours:
        """Collect the traffic among ``executors``, without other pairs and self-loops."""
        index = {executor: i for i, executor in enumerate(executors)}
        sums: list[dict[int, float]] = [{} for _ in executors]
        for (source, target), rate in traffic.items():
            i, j = index.get(source), index.get(target)
            if i is None or j is None or i == j or rate == 0:
                continue
            sums[i][j] = sums[i].get(j, 0.0) + rate
            sums[j][i] = sums[j].get(i, 0.0) + rate
        return cls(tuple(executors), tuple(dict(sorted(row.items())) for row in sums))

    def total(self, i: int) -> float:
        """Return all traffic of executor ``i``, in and out."""
        return sum(self.near[i].values())


def inter_node_traffic(slots: Mapping[Executor, Slot], traffic: Pairs) -> float:
    """Return the tuples per second between nodes; executors without a slot are ignored."""
    crossing = (
        rate
        for (source, target), rate in traffic.items()
        if source in slots and target in slots and slots[source].node != slots[target].node
    )
    return sum(crossing, 0.0)


def expected_traffic(view: SchedulingView, topology: Topology) -> Pairs:
    """Return the traffic that the topology sends: measured, or else estimated (`UserError` on a cycle)."""
    if view.load is None:
        return estimated_traffic(topology, view.executors[topology.id])
    return view.traffic_of(topology.id)


def component_order(topology: Topology) -> list[str]:
    """Return the component ids with sources before consumers, otherwise in order of declaration.

    A `UserError` names the components of a cycle of streams.
    """
    waiting = {c.id: {s.source for s in c.inputs} for c in topology.components}
    ordered: list[str] = []
    while waiting:
        ready = next((c for c, sources in waiting.items() if not sources & waiting.keys()), None)
        if ready is None:
            message = f"has a cycle where an acyclic one is needed: {_cycle_text(waiting)}"
            raise UserError(f"topology {topology.id!r} {message}", field="topology", value=topology.id)
        ordered.append(ready)
        del waiting[ready]
    return ordered


def reached_from(roots: Iterable[str], near: Callable[[str], Iterable[str]]) -> list[str]:
    """Return what the roots reach, breadth first, one root after the other; ``near`` gives neighbours."""
    reached: set[str] = set()
    order: list[str] = []
    for root in roots:
        waiting = deque([root])
        while waiting:
            if (component := waiting.popleft()) not in reached:
                reached.add(component)
                order.append(component)
                waiting.extend(near(component))
    return order


def _cycle_text(waiting: Mapping[str, set[str]]) -> str:
    path = [next(iter(waiting))]
    while path[-1] not in path[:-1]:
        path.append(min(waiting[path[-1]] & waiting.keys()))
    cycle = path[path.index(path[-1]) :]
    return " <- ".join(cycle)


def estimated_traffic(
    topology: Topology, executors: Sequence[Executor]
) -> dict[tuple[Executor, Executor], float]:
    """Estimate the traffic from the topology alone, for cold starts; `UserError` if it has a cycle.

    Every spout executor emits one tuple per second, every bolt emits on each stream what it receives, and
    groupings distribute tuples evenly (global: all to the first executor). Acker traffic is left out.
    """
    members = grouped((e for e in executors if e.component != ACKER), lambda e: e.component)
    rate: dict[Executor, float] = {e: 0.0 for group in members.values() for e in group}
    pairs: dict[tuple[Executor, Executor], float] = {}
    for component_id in component_order(topology):
        component = topology.component(component_id)
        targets = members.get(component_id, [])
        if component.is_spout:
            rate.update(dict.fromkeys(targets, 1.0))
        for subscription in component.inputs:
            for source in members.get(subscription.source, []):
                for target, share in _shares(targets, subscription.grouping):
                    flow = rate[source] * share
                    pairs[source, target] = pairs.get((source, target), 0.0) + flow
                    rate[target] += flow
    return pairs


def _shares(targets: Sequence[Executor], grouping: Grouping) -> list[tuple[Executor, float]]:
    if not targets:
        return []
    if grouping is Grouping.ALL:
        return [(target, 1.0) for target in targets]
    if grouping is Grouping.GLOBAL:
        return [(targets[0], 1.0)]
    return [(target, 1.0 / len(targets)) for target in targets]
