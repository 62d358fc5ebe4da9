"""The schedulers of Aniello, Baldoni and Querzoni (DEBS 2013), as described by T-Storm and R-Storm.

Offline, load is ignored: the components are put in a linear order with sources before consumers, executors of
a component go to the slots with most executors that it reads from, and slots to nodes round robin.

Online, pairs of executors with most traffic come first, within load limits. Executors go to workers, and then
workers to nodes. In both phases, a pair goes to the least loaded place or to one that it already has,
whichever leaves the least traffic between places. Everything is placed from scratch; which slot of its node a
worker gets is left open, so here it stays where most of its executors are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from storm_lab.model import ACKER, Executor, MeasuredLoad, Slot, Topology
from storm_lab.model.grouped import grouped
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.cuts import Adjacency, merged
from storm_lab.schedulers.graph.traffic import Neighbours, component_order
from storm_lab.schedulers.keeping import Round, SlotBook, incomplete_topologies, interleaved
from storm_lab.schedulers.parameters import PolicyParameters, parameter


@dataclass(frozen=True, slots=True)
class AnielloOfflineParameters(PolicyParameters):
    """When empty slots must be used, and how unequal slots may be; ``docs/schedulers.md`` explains both."""

    alpha: float = parameter(0.0, low=0.0, high=1.0)
    beta: float = parameter(0.5, low=0.0, high=1.0)


class AnielloOfflineScheduler(Scheduler[AnielloOfflineParameters]):
    """Places executors by the shape of the topology alone."""

    name = "aniello-offline"
    version = "1"
    Parameters = AnielloOfflineParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place incomplete topologies from scratch; the others stay. `UserError` if one has a cycle."""
        work = Round.of_complete(view)
        for topology_id in incomplete_topologies(view):
            placed = self._placed(work, view.topology[topology_id])
            work.placed.update(placed)
            if placed:
                work.scheduled(topology_id, "Scheduled by the shape of the topology")
            else:
                work.failed(topology_id, "no free slot in the cluster")
        return work.result()

    def _placed(self, work: Round, topology: Topology) -> dict[Executor, Slot]:
        """Return a slot for every executor of the topology; nothing if no slot is free."""
        executors, journal = work.view.executors[topology.id], work.journal
        ordered = [*component_order(topology), ACKER]
        slots = _spread(work.view, work.placed)[: min(topology.workers, len(executors))]
        if not slots:
            return {}
        even = math.ceil(len(executors) / len(slots))
        limit = even + math.ceil(self.parameters.beta * (len(executors) - even))
        empty_from = math.floor(self.parameters.alpha * len(ordered))
        inside: list[Counter[str]] = [Counter() for _ in slots]
        placed: dict[Executor, Slot] = {}
        left = len(executors)
        for position, component in enumerate(ordered):
            sources = [s.source for s in topology.component(component).inputs] if component != ACKER else []
            for executor in (e for e in executors if e.component == component):
                empty = [i for i, there in enumerate(inside) if not there]
                # Every slot must be used: fill empty ones from the given position on, or when no more
                # executors are left than empty slots.
                must_open = bool(empty) and (position >= empty_from > 0 or left <= len(empty))
                pool = empty if must_open else [i for i, there in enumerate(inside) if there.total() < limit]
                ties = {i: sum(inside[i][source] for source in sources) for i in pool}
                pick = min(pool, key=lambda i: (-ties[i], inside[i].total(), i))
                inside[pick][component] += 1
                left -= 1
                placed[executor] = slots[pick]
                if journal.wanted:
                    why_not = "an empty slot must be used" if must_open else f"limit of {limit} executors"
                    candidates = [
                        Candidate(slot, float(ties[i])) if i in ties
                        else Candidate(slot, None, why_not)
                        for i, slot in enumerate(slots)
                    ]  # fmt: skip
                    journal.record(
                        executor, slots[pick], candidates, score_name="source executors there (highest wins)"
                    )
        return placed


def _spread(view: SchedulingView, placed: dict[Executor, Slot]) -> list[Slot]:
    """Return the free slots, one of each node in turn; nodes with fewer workers come first."""
    used = set(placed.values())
    workers = Counter(slot.node for slot in used)
    groups = grouped((slot for slot in view.usable_slots if slot not in used), lambda slot: slot.node)
    return interleaved(groups[node] for node in sorted(groups, key=lambda n: workers[n]))


@dataclass(frozen=True, slots=True)
class AnielloOnlineParameters(PolicyParameters):
    """Limits of the online scheduler."""

    spread: float = parameter(0.5, low=0.0)  # how far a worker's load may exceed the even share
    capacity_fraction: float = parameter(0.9, low=0.01, high=1.0)  # share of a node's MHz that may be used


class AnielloOnlineScheduler(Scheduler[AnielloOnlineParameters]):
    """Greedy pairing by measured traffic; until something is measured, the offline scheduler."""

    name = "aniello-online"
    version = "2"
    Parameters = AnielloOnlineParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place every executor from scratch; `UserError` if nothing was measured and a topology is cyclic."""
        if view.load is None:
            return AnielloOfflineScheduler().schedule(view)
        work = Round(view)
        executors = [e for topology in view.topologies for e in view.executors[topology.id]]
        near = Neighbours.of(executors, view.load.traffic).near
        worker_of = self._worker_of(view, view.load)
        of_worker = grouped(range(len(executors)), worker_of.__getitem__)
        workers = [of_worker[w] for w in range(len(of_worker))]
        book = SlotBook(view)
        slots = book.free_counts()
        if sum(slots) < len(workers):
            few = f"{sum(slots)} slots are too few for one worker per topology ({len(workers)})"
            return work.without_change(few)
        load = [view.load.cpu_mhz.get(executor, 0.0) for executor in executors]
        worker_load = [sum(load[i] for i in members) for members in workers]
        capacity = [node.capacity_mhz * self.parameters.capacity_fraction for node in view.cluster.nodes]
        node_of = _Pairing(merged(near, worker_of, len(workers)), worker_load, capacity, slots).run()
        inside = [[executors[i] for i in members] for members in workers]
        slot_of = [
            book.take_new(own[0].topology, node, own) for own, node in zip(inside, node_of, strict=True)
        ]
        for slot, members in zip(slot_of, workers, strict=True):
            for i in members:
                executor = executors[i]
                work.placed[executor] = slot
                candidates = (
                    Candidate(other, float(sum(r for j, r in near[i].items() if worker_of[j] == v)))
                    for v, other in enumerate(slot_of)
                    if inside[v][0].topology == executor.topology
                )
                score_name = "traffic with the worker's executors, tuples/s (highest is best)"
                work.journal.record(executor, slot, candidates, score_name=score_name)
        for topology in view.topologies:
            work.scheduled(topology.id, "Scheduled by pairs that exchange most")
        return work.result()

    def _worker_of(self, view: SchedulingView, load: MeasuredLoad) -> list[int]:
        """Do phase one: return the number of each executor's worker; no worker is empty."""
        budget = len(view.usable_slots)
        worker_of: list[int] = []
        workers = 0
        for position, topology in enumerate(view.topologies):
            executors = view.executors[topology.id]
            # Leave at least one slot for each later topology.
            allowed = max(1, budget - (len(view.topologies) - position - 1))
            count = min(topology.workers, len(executors), allowed)
            budget -= count
            local = Neighbours.of(executors, view.traffic_of(topology.id))
            mhz = [load.cpu_mhz.get(executor, 0.0) for executor in executors]
            if not any(mhz):
                mhz = [1.0] * len(executors)
            limit = sum(mhz) / count * (1.0 + self.parameters.spread) + max(mhz)
            places = _Pairing(local.near, mhz, [limit] * count).run()
            number = {place: n for n, place in enumerate(sorted(set(places)), start=workers)}
            worker_of += [number[place] for place in places]
            workers += len(number)
        return worker_of


class _Pairing:
    """Assignment of items to places, pair by pair in order of traffic, with running sums per item and place.

    ``near`` has the rates of each item by neighbour, ``load`` its load. An item must not bring a place
    above ``limit``. ``room``, if given, is the largest number of items of a place.
    """

    def __init__(
        self, near: Adjacency, load: Sequence[float], limit: Sequence[float], room: Sequence[int] = ()
    ) -> None:
        self._near, self._load, self._limit = near, load, limit
        places = len(limit)
        self._room = room or [len(load)] * places
        self._used = [0.0] * places
        self._count = [0] * places
        self._place = [-1] * len(load)
        self._with: list[dict[int, float]] = [{} for _ in load]

    def run(self) -> list[int]:
        """Return the place of every item."""
        pairs = [(-rate, i, j) for i, row in enumerate(self._near) for j, rate in row.items() if i < j]
        pairs.sort()
        for lost, i, j in pairs:
            self._put_pair(i, j, -lost)
        for item, place in enumerate(self._place):
            if place < 0:
                self._move(item, self._least_loaded(item))
        return self._place

    def _put_pair(self, i: int, j: int, rate: float) -> None:
        if self._place[i] >= 0 and self._place[i] == self._place[j]:
            return
        homes = [self._place[i], self._place[j]]
        least = self._least_loaded(i)
        options = list(dict.fromkeys(p for p in (*homes, least) if p >= 0))
        ranked: list[tuple[float, float, int, int]] = []
        for a, b in product(options, repeat=2):
            if self._possible(i, j, a, b):
                kept = self._with[i].get(a, 0.0) + self._with[j].get(b, 0.0)
                # The sums count the traffic between i and j for both at their present places; count it once,
                # at the new ones.
                kept -= rate * ((homes[1] == a) + (homes[0] == b))
                kept += rate * (a == b)
                ranked.append((-kept, self._used[a] + self._used[b], a, b))
        if ranked:
            _, _, a, b = min(ranked)
            self._move(i, a)
            self._move(j, b)
            return
        for item in (i, j):
            if self._place[item] < 0:
                self._move(item, self._least_loaded(item))

    def _possible(self, i: int, j: int, a: int, b: int) -> bool:
        """Return whether both items may move to these places from their present ones."""
        for item, place, other, other_place in ((i, a, j, b), (j, b, i, a)):
            used, count = self._used[place], self._count[place]
            for one in (item, other):
                if self._place[one] == place:
                    used, count = used - self._load[one], count - 1
            if other_place == place:
                used, count = used + self._load[other], count + 1
            stays = self._place[item] == place and other_place != place
            if not stays and (count + 1 > self._room[place] or not self._fits(item, place, used)):
                return False
        return True

    def _fits(self, item: int, place: int, used: float) -> bool:
        return used + self._load[item] <= self._limit[place]

    def _least_loaded(self, item: int) -> int:
        """Return the least loaded place that fits the item; if none fits, the least loaded one with room.

        If no place has room, the item already has one, which is returned.
        """
        free = (place for place, count in enumerate(self._count) if count < self._room[place])
        return min(
            free,
            key=lambda p: (not self._fits(item, p, self._used[p]), self._used[p], self._count[p]),
            default=self._place[item],
        )

    def _move(self, item: int, place: int) -> None:
        old = self._place[item]
        if old == place:
            return
        if old >= 0:
            self._used[old] -= self._load[item]
            self._count[old] -= 1
        self._used[place] += self._load[item]
        self._count[place] += 1
        self._place[item] = place
        for other, rate in self._near[item].items():
            if old >= 0:
                self._with[other][old] -= rate
            self._with[other][place] = self._with[other].get(place, 0.0) + rate
