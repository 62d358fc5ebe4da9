"""Count the events that the kernel plays, by kind.

The events are counted from outside: an observer sees the next event before it is played. Counting thus costs
the kernel nothing when it is not used.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.state.kinds import ACKER_BOLT, BOLT, MAIN, SPOUT, THREAD_NAMES
from storm_lab.emulator.state.layout import Kernel

_MAIN_NAMES = {SPOUT: "spout", BOLT: "bolt", ACKER_BOLT: "acker"}


@dataclass(frozen=True, slots=True)
class EventCount:
    """Number of events of each kind in a window, and of ``roots`` emitted and ``hops`` begun in it.

    A hop is the transfer of a message, including acker messages, from one executor to another.
    """

    kinds: dict[str, int]
    roots: int
    hops: int

    def table(self) -> dict[str, dict[str, float]]:
        """Return events per root tuple and per hop, for each kind and in total; most frequent first."""
        rows = sorted(self.kinds.items(), key=lambda row: (-row[1], row[0]))
        rows.append(("all", sum(self.kinds.values())))
        return {kind: {"per_root": count / self.roots, "per_hop": count / self.hops} for kind, count in rows}


def next_kind(k: Kernel) -> str:
    """Return what happens at the first event in a kernel's heap."""
    s = k.s[0]
    source, nodes = int(k.event["source"][0]), int(s.nodes)
    if source < nodes:
        thread = int(k.burst["thread"][source * int(s.burst_width)])
        return f"{_name(k.thread[thread])} burst ends"
    if source < 2 * nodes:
        return f"{_name(k.thread[int(k.node['wake_head'][source - nodes])])} wakes"
    channels = int(s.channels)
    if source < 2 * nodes + channels:
        # The last channels are the nodes' receiving network cards.
        return "message leaves a busy card" if source - 2 * nodes >= channels - nodes else "message arrives"
    if source < int(s.timers):
        return "spout reads a line"
    thread, periodic = divmod(source - int(s.timers), 2)
    name = _name(k.thread[thread])
    return f"{name} period" if periodic else f"{name} sleep or wait ends"


def _name(thread: Any) -> str:
    kind = int(thread["kind"])
    return _MAIN_NAMES[int(thread["role"])] if kind == MAIN else THREAD_NAMES[kind]


def count_events(plane: DataPlane, until_ns: int) -> EventCount:
    """Play until a given time and count the events on the way."""
    kinds: Counter[str] = Counter()
    plane.sample()
    roots = int(plane.kernel.s[0].roots_emitted)
    plane.observe(lambda k: kinds.update((next_kind(k),)))
    try:
        plane.run_until(until_ns)
    finally:
        plane.observe(None)
    emitted = int(plane.kernel.s[0].roots_emitted) - roots
    return EventCount(dict(kinds), emitted, sum(plane.sample().traffic.values()))
