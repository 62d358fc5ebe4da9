"""Parts of a cluster that exchange nothing, played one after the other for a stretch of time each.

Nodes that no topology joins have nothing to do with each other: what happens in one such part is the same
whenever the others have their turns. In a cluster of many separate topologies each event would belong to
another part than the one before, and all that it touches would have left the core's cache meanwhile. So there
a *window* of time is played part by part: within a part strictly in order of time, then the next part, and
after the last one the next window. A window never reaches beyond the time that the kernel was told to play
until, so the control plane finds all parts at the same time. What differs from playing all events in order of
time is the numbers of the roots and the order of the log's rows.

Every part has an event heap of its own. That of the part whose turn it is stands where the kernel's heap
stands (``heap.py``); those of the others are parked, each event at the same place of its heap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.state.arrays import event_at, parked_at, part_at, s_at, slot_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.kinds import DEAD, FAR, NEVER
from storm_lab.emulator.state.layout import Kernel, State, records

LEAST_PARTS = 32
"""With fewer parts all is played in order of time; more than any of the papers' clusters has."""

_LARGEST_PART = 512
"""Threads with a queue: so many events are better in `calendar_queue` than in one heap."""

# A window is as wide as a part takes for about so many events: often enough to pay for fetching all that the
# part consists of.
_WINDOW_EVENTS = 256
# The width is fitted to the pace of the events after so many of them at the earliest; until then it is 1 ms.
_FIT_EVENTS = 4096
_FIRST_WINDOW_NS = 1_000_000


@jit
def _park(k: State) -> None:
    """Copy the heap of the present part to its own place."""
    s = s_at(k, 0)
    part = part_at(k, s.part)
    n = s.heap_n
    for i in range(n):
        e = event_at(k, i)
        if slot_at(k, e.source).part != s.part:
            # Parts that were thought to be separate are not.
            s.crossed = 1
        to = parked_at(k, part.first + i)
        to.time = e.time
        to.seq = e.seq
        to.source = e.source
    part.events = n
    part.time = event_at(k, 0).time if n > 0 else NEVER


@jit
def _unpark(k: State, index: int) -> None:
    """Make a part the present one; the heap that stands there is overwritten."""
    s = s_at(k, 0)
    part = part_at(k, index)
    n = part.events
    for i in range(n):
        e = parked_at(k, part.first + i)
        to = event_at(k, i)
        to.time = e.time
        to.seq = e.seq
        to.source = e.source
    s.heap_n = n
    s.part = index


@jit
def turn_to(k: State, index: int) -> None:
    """Between two windows: make the part of which an event is to be changed the present one."""
    if s_at(k, 0).part != index:
        _park(k)
        _unpark(k, index)


@jit
def _open_window(k: State, until: int) -> bool:
    """Begin the next window at the first event of all parts; False when that lies beyond ``until``."""
    s = s_at(k, 0)
    least = NEVER
    for i in range(s.parts):
        least = min(least, part_at(k, i).time)
    if least > until:
        return False
    played = s.events - s.fitted_events
    if played >= _FIT_EVENTS:
        s.window = (s.now - s.fitted_at) * _WINDOW_EVENTS * s.parts // played
        s.fitted_events = s.events
        s.fitted_at = s.now
    s.window_end = min(until, least + s.window)
    s.turn = 0
    s.horizon = NEVER
    return True


@jit
def next_part(k: State, until: int) -> bool:
    """Go on with the next part that has events in this window, or with the next window.

    Returns False when nothing is left until ``until``.
    """
    s = s_at(k, 0)
    _park(k)
    while True:
        if s.turn < 0 and not _open_window(k, until):
            return False
        while s.turn < s.parts:
            index = s.turn
            s.turn = index + 1
            if part_at(k, index).time <= s.window_end:
                _unpark(k, index)
                return True
        s.turn = -1
        s.horizon = -1
        s.now = s.window_end


@inline
def turn_end(k: State, until: int) -> int:
    """Up to when the present part's events are to be played: to begin with none where there are parts."""
    s = s_at(k, 0)
    if s.parts == 0:
        return until
    return s.window_end if s.turn >= 0 else -1


class Parts:
    """Which nodes have to do with each other, and a kernel divided accordingly.

    Where a topology's worker has run stays joined to it: messages may still be under way to there. All else
    that an event touches belongs to a topology or a node: queues, sources, servers, channels.
    """

    def __init__(self, nodes: int, topologies: int) -> None:
        self._nodes = nodes
        # A forest: nodes, then topologies.
        self._parent = list(range(nodes + topologies))
        self._changed = False

    def _root(self, i: int) -> int:
        parent = self._parent
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join(self, node: int, topology: int) -> None:
        """A worker of a topology starts on a node."""
        self._parent[self._root(node)] = self._root(self._nodes + topology)

    def table(self) -> NDArray[np.int64]:
        """Part of each node, then of each topology, from 1 on; 0 for those that nothing has joined."""
        roots = np.array([self._root(i) for i in range(len(self._parent))])
        _, part, sizes = np.unique(roots, return_inverse=True, return_counts=True)
        joined = sizes > 1
        number = np.where(joined, np.cumsum(joined), 0)
        return number[part]

    def merge(self, k: Kernel) -> None:
        """Workers, threads or links are about to change: until :meth:`divide` the cluster is one part."""
        self._changed = True
        s = k.s[0]
        if s.parts == 0:
            return
        # Of the present part the kernel's own heap is the valid one.
        k.part["events"][s.part] = 0
        counts = k.part["events"]
        before = np.cumsum(counts) - counts
        parked = np.arange(counts.sum()) + np.repeat(k.part["first"] - before, counts)
        events = np.concatenate([k.event[: s.heap_n], k.parked[parked]])
        events = events[np.lexsort((events["seq"], events["time"]))]
        k.event[: len(events)] = events
        k.slot["place"][events["source"]] = np.arange(len(events))
        s.heap_n = len(events)
        s.parts = s.part = 0
        s.turn = -1
        s.horizon = NEVER

    def divide(self, k: Kernel) -> Kernel:
        """The kernel with an event heap for each part, if it has so many that this pays; else as it is."""
        if not self._changed:
            return k
        self._changed = False
        table = self.table()
        parts = int(table.max())
        # A rack's uplink joins all that is in it.
        if parts < LEAST_PARTS or k.cost[0].uplink_ps_per_byte > 0:
            return k
        queues = (k.thread["capacity"] > 0) & (k.thread["state"] != DEAD)
        if np.bincount(table[k.thread["node"][queues]]).max() > _LARGEST_PART:
            return k
        of_source = self._of_event_sources(k, table)
        k.slot["part"][: len(of_source)] = of_source
        places = np.bincount(of_source, minlength=parts + 1)
        part = records("part", parts + 1)
        part["first"] = np.cumsum(places) - places
        events = _all_events(k)
        own = of_source[events["source"]]
        order = np.lexsort((events["seq"], events["time"], own))
        events, own = events[order], own[order]
        counts = np.bincount(own, minlength=parts + 1)
        part["events"] = counts
        # Events in order of time are a heap.
        place = np.arange(len(events)) - (np.cumsum(counts) - counts)[own]
        k.slot["place"][events["source"]] = place
        parked = records("parked", len(of_source))
        parked[part["first"][own] + place] = events
        part["time"] = np.where(counts > 0, parked["time"][np.minimum(part["first"], len(parked) - 1)], NEVER)
        s = k.s[0]
        s.parts = parts + 1
        s.part = 0
        s.horizon = -1
        s.heap_n = counts[0]
        k.event[: s.heap_n] = parked[: s.heap_n]
        s.window = s.window or _FIRST_WINDOW_NS
        return k._replace(part=part, parked=parked)

    def _of_event_sources(self, k: Kernel, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Part of each event source, in the order of ``heap.py``."""
        own = int(k.s[0].first_spare)
        node = np.maximum(k.channel["start"], k.channel["node"])
        # Every node has the same number of channels; one that no link has been given yet is node 0's.
        node[:own] = np.arange(own) // (own // self._nodes)
        of_node = table[: self._nodes]
        return np.concatenate(
            [
                of_node,
                of_node,
                of_node[np.maximum(node, 0)],
                table[self._nodes + k.component["topology"][k.source["component"]]],
                of_node[np.repeat(k.thread["node"], 2)],
            ]
        )


def _all_events(k: Kernel) -> NDArray[np.void]:
    """The events of the heap and of the buckets, which are empty afterwards."""
    s = k.s[0]
    far = np.flatnonzero(k.slot["place"] == FAR)
    events = records("event", int(s.heap_n) + len(far))
    events[: s.heap_n] = k.event[: s.heap_n]
    for name, values in (("time", k.slot["time"][far]), ("seq", k.slot["seq"][far]), ("source", far)):
        events[name][s.heap_n :] = values
    k.bucket[:] = -1
    s.far_n = 0
    return events
