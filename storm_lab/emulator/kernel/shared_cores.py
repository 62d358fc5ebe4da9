"""Nodes that are containers or virtual machines on one machine, and share its cores.

The machine's scheduler lets nodes that want CPU take turns, as Linux does with control groups of equal
weight: ``docs/emulator.md`` ("Quotas and shared machines") says which node gives up a core, and when. A free
core goes to the node that has the fewest of those that want more.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import bursts, cpu, polling
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

# Length of a turn where threads run at once and have no slice.
_SHORT_TURN = 100_000


@inline
def _wants(k: State, node: int) -> int:
    """Return how many cores a node's threads could use now: none while its quota is used up.

    A thread that was woken and is not awake yet wants one. Threads that poll beside busy ones could use one
    more.
    """
    p = rows.node(k, node)
    n = cpu.runnable(k, node) + (1 if p.wake_head >= 0 else 0)
    return 0 if p.throttled != 0 or n == 0 else min(n + min(p.poll_load, 1), p.cores)


@inline
def _turn(k: State) -> int:
    """Return how long a node keeps a core that others want, in ns."""
    c = rows.cost(k, 0)
    return max(c.turn, c.slice, _SHORT_TURN)


@inline
def _grant(k: State, node: int, cores: int) -> None:
    """Assign a node ``cores`` cores from now on; :func:`_apply_grant` has to follow."""
    p = rows.node(k, node)
    s = rows.s(k, 0)
    now = s.now
    p.last_change = s.seq
    s.seq += 1
    if cores > p.granted:
        p.turn_from = now
    p.granted = cores
    p.short_since = now if _wants(k, node) > cores else kinds.NEVER


@jit
def _neediest(k: State) -> int:
    """Return the node with the fewest cores that wants another, at a tie the longest unchanged; -1: none."""
    first = -1
    for node in range(rows.s(k, 0).nodes):
        p = rows.node(k, node)
        if p.short_since != kinds.NEVER:
            f = rows.node(k, max(first, 0))
            if first < 0 or (p.granted, p.last_change) < (f.granted, f.last_change):
                first = node
    return first


@jit
def _giver(k: State, needy: int) -> int:
    """Return the node that gives up a core to node ``needy``; -1: none does yet."""
    s = rows.s(k, 0)
    least = rows.node(k, needy).granted
    # A node that has just given up a core does not get another one's in exchange.
    ended = s.now - _turn(k) if rows.node(k, needy).short_since < s.now else -1
    giver = -1
    for node in range(s.nodes):
        p = rows.node(k, node)
        if p.granted > least + 1:
            return node
        its_turn = giver < 0 or p.last_change < rows.node(k, giver).last_change
        if p.granted == least + 1 and p.turn_from <= ended and its_turn:
            giver = node
    return giver


@jit
def _take_back(k: State) -> int:
    """Take from each node the cores that it can no longer use; returns how many cores are free."""
    s = rows.s(k, 0)
    free = s.machine_cores
    for node in range(s.nodes):
        p = rows.node(k, node)
        want = _wants(k, node)
        if p.granted > want:
            _grant(k, node, want)
        free -= p.granted
        if want <= p.granted:
            p.short_since = kinds.NEVER
        elif p.short_since == kinds.NEVER:
            p.short_since = s.now
    return free


@jit
def _left_to_threads(k: State) -> int:
    """Return what periodic work, and polls of nodes that are idle, leave of the machine, in 1/1024 core."""
    s = rows.s(k, 0)
    left = s.machine_capacity
    for node in range(s.nodes):
        p = rows.node(k, node)
        left -= cpu.periodic_work(k, node)
        if cpu.runnable(k, node) == 0 and p.throttled == 0:
            left -= p.poll_load
    return max(left, s.machine_capacity // 2)


@jit
def _apply_grant(k: State, node: int, core: int, least: int) -> None:
    """Apply a grant: ``core`` is a core's capacity, in 1/1024, ``least`` what a node in need has."""
    p = rows.node(k, node)
    ends = max(p.turn_from + _turn(k), rows.s(k, 0).now + 1) if p.granted > least else kinds.NEVER
    # If all threads are idle, those that poll do so at once and briefly.
    max_free = p.granted * core if cpu.runnable(k, node) > 0 else rows.s(k, 0).machine_capacity
    if p.max_free != max_free or p.turn_ends != ends:
        cpu.advance(k, node)
        p.max_free, p.turn_ends = max_free, ends
        cpu.update_free(k, node)
        bursts.reschedule(k, node)
    elif p.run_queue_length > 0 and p.active < p.granted:
        bursts.reschedule(k, node)


@jit
def share_machine(k: State) -> None:
    """Divide the machine's cores again after an event, which may have changed what its nodes want."""
    s = rows.s(k, 0)
    polling.share_interrupts(k)
    # Give free cores to nodes that want more, and move cores from nodes whose turn is over.
    free = _take_back(k)
    least = s.machine_cores
    while True:
        node = _neediest(k)
        if node < 0:
            break
        if free > 0:
            free -= 1
        else:
            giver = _giver(k, node)
            if giver < 0:
                least = rows.node(k, node).granted
                break
            _grant(k, giver, rows.node(k, giver).granted - 1)
        _grant(k, node, rows.node(k, node).granted + 1)
    core = min(1024, _left_to_threads(k) // max(1, s.machine_cores - free))
    for node in range(s.nodes):
        _apply_grant(k, node, core, least)
    want = 0
    for node in range(s.nodes):
        if rows.node(k, node).throttled == 0:
            want += cpu.runnable(k, node)
    for node in range(s.nodes):
        p = rows.node(k, node)
        others = want - (cpu.runnable(k, node) if p.throttled == 0 else 0)
        # Threads on cores that this node cannot have take nothing from it.
        competitors = max(0, others - max(0, s.machine_cores - p.cores))
        fewer = competitors < p.competitors
        before = cpu.contending(k, node)
        p.competitors = competitors
        if before >= p.cores > cpu.contending(k, node):
            p.core_free_since = s.now
        if fewer and p.wake_head >= 0:
            bursts.reschedule(k, node)
