"""Nodes that are containers or virtual machines on one machine, and share its cores.

The machine's scheduler gives each node that wants CPU the same part of its cores, and what one of them cannot
use to the others, as Linux does with control groups of equal weight. A thread that wakes waits for a core as
long as threads of any node take them.
"""

from __future__ import annotations

from storm_lab.emulator.kernel.cpu import advance, leave_cores, reschedule
from storm_lab.emulator.kernel.quota import own_work, runnable, wanting
from storm_lab.emulator.state.arrays import node_at, s_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def _demand(k: State, node: int) -> int:
    """What a node's threads could use, of 1024 a core: nothing while its quota is used up."""
    p = node_at(k, node)
    return 0 if p.held != 0 else min(runnable(k, node), p.cores) * 1024


@jit
def _level(k: State) -> int:
    """The most that each node gets of the machine's cores now, of 1024 a core."""
    s = s_at(k, 0)
    there = s.shared
    wanting = 0
    for node in range(s.nodes):
        p = node_at(k, node)
        there -= own_work(k, node)
        if _demand(k, node) > 0:
            wanting += 1
        elif p.held == 0:
            there -= p.polling
    # What workers do for themselves is counted in full, and leaves something.
    there = max(there, s.shared // 2)
    level = there // max(wanting, 1)
    while wanting > 0:
        left = there
        wanting = 0
        for node in range(s.nodes):
            if _demand(k, node) <= level:
                left -= _demand(k, node)
            else:
                wanting += 1
        if wanting == 0 or left // wanting <= level:
            break
        level = left // wanting
    return there if wanting == 0 else level


@jit
def share_machine(k: State) -> None:
    """Divide the machine's cores anew after an event: what its nodes want may have changed."""
    s = s_at(k, 0)
    level = _level(k)
    want = 0
    for node in range(s.nodes):
        if node_at(k, node).held == 0:
            want += runnable(k, node)
    cores = (s.shared + 1023) >> 10
    for node in range(s.nodes):
        p = node_at(k, node)
        others = want - (runnable(k, node) if p.held == 0 else 0)
        # Of cores that the node cannot have they take nothing from it.
        beside = max(0, others - max(0, cores - p.cores))
        fewer = beside < p.beside
        before = wanting(k, node)
        p.beside = beside
        if before >= p.cores > wanting(k, node):
            p.rested_at = s.now
        if p.most != level:
            advance(k, node)
            p.most = level
            leave_cores(k, node)
            reschedule(k, node)
        elif fewer and p.wake_head >= 0:
            reschedule(k, node)
