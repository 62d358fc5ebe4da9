"""Nodes that are containers or virtual machines on one machine, and share its cores.

The machine's scheduler lets nodes that want CPU take turns, as Linux does with control groups of equal
weight. A free core goes to the node that has the fewest of those that want more. If none is free, a node
gives one up at once to a node that has at least two fewer, and at the end of its turn to one that has one
fewer. So a node that a quota holds to a part of the machine mostly has all of it for a while, and none for
longer; what other nodes send it meanwhile gathers.
"""

from __future__ import annotations

from storm_lab.emulator.kernel.bursts import reschedule
from storm_lab.emulator.kernel.cpu import advance, leave_cores
from storm_lab.emulator.kernel.quota import own_work, runnable, wanting
from storm_lab.emulator.state.arrays import cost_at, node_at, s_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.kinds import NEVER
from storm_lab.emulator.state.layout import State

# Length of a turn where threads run at once and have no slice.
_SHORT_TURN = 100_000


@inline
def _wants(k: State, node: int) -> int:
    """Return how many cores a node's threads could use now: none while its quota is used up.

    A thread that was woken and is not awake yet wants one. Threads that poll beside busy ones could use one
    more.
    """
    p = node_at(k, node)
    n = runnable(k, node) + (1 if p.wake_head >= 0 else 0)
    return 0 if p.held != 0 or n == 0 else min(n + min(p.poll_load, 1), p.cores)


@inline
def _turn(k: State) -> int:
    """Return how long a node keeps a core that others want, in ns."""
    c = cost_at(k, 0)
    return max(c.turn, c.slice, _SHORT_TURN)


@inline
def _give(k: State, node: int, cores: int) -> None:
    """Assign a node ``cores`` cores from now on; :func:`_in_force` has to follow."""
    p = node_at(k, node)
    s = s_at(k, 0)
    now = s.now
    p.moved = s.seq
    s.seq += 1
    if cores > p.given:
        p.turn_from = now
    p.given = cores
    p.less_from = now if _wants(k, node) > cores else NEVER


@jit
def _neediest(k: State) -> int:
    """Return the node that wants another core and has the fewest; -1: none wants one.

    Of several it is the one that has got or given up no core for longest.
    """
    first = -1
    for node in range(s_at(k, 0).nodes):
        p = node_at(k, node)
        if p.less_from != NEVER:
            f = node_at(k, max(first, 0))
            if first < 0 or p.given < f.given or (p.given == f.given and p.moved < f.moved):
                first = node
    return first


@jit
def _giver(k: State, needy: int) -> int:
    """Return the node that gives up a core to node ``needy``; -1: none does yet."""
    s = s_at(k, 0)
    least = node_at(k, needy).given
    # A node that has just given up a core does not get another one's in exchange.
    ended = s.now - _turn(k) if node_at(k, needy).less_from < s.now else -1
    giver = -1
    for node in range(s.nodes):
        p = node_at(k, node)
        if p.given > least + 1:
            return node
        its_turn = giver < 0 or p.moved < node_at(k, giver).moved
        if p.given == least + 1 and p.turn_from <= ended and its_turn:
            giver = node
    return giver


@jit
def _take_back(k: State) -> int:
    """Take from each node the cores that it can no longer use; returns how many cores are free."""
    s = s_at(k, 0)
    free = s.machine_cores
    for node in range(s.nodes):
        p = node_at(k, node)
        want = _wants(k, node)
        if p.given > want:
            _give(k, node, want)
        free -= p.given
        if want <= p.given:
            p.less_from = NEVER
        elif p.less_from == NEVER:
            p.less_from = s.now
    return free


@jit
def _left_to_threads(k: State) -> int:
    """Return what periodic work, and polls of nodes that are idle, leave of the machine, in 1/1024 core."""
    s = s_at(k, 0)
    left = s.shared
    for node in range(s.nodes):
        p = node_at(k, node)
        left -= own_work(k, node)
        if runnable(k, node) == 0 and p.held == 0:
            left -= p.poll_load
    return max(left, s.shared // 2)


@jit
def _divide(k: State) -> None:
    """Give free cores to nodes that want more, and move cores from nodes whose turn is over."""
    s = s_at(k, 0)
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
                least = node_at(k, node).given
                break
            _give(k, giver, node_at(k, giver).given - 1)
        _give(k, node, node_at(k, node).given + 1)
    core = min(1024, _left_to_threads(k) // max(1, s.machine_cores - free))
    for node in range(s.nodes):
        _in_force(k, node, core, least)


@jit
def _in_force(k: State, node: int, core: int, least: int) -> None:
    """Apply the number of cores that a node was given.

    ``core``: capacity of each core, in 1/1024; ``least``: cores of a node that still wants more.
    """
    p = node_at(k, node)
    ends = max(p.turn_from + _turn(k), s_at(k, 0).now + 1) if p.given > least else NEVER
    # If all threads are idle, those that poll do so at once and briefly.
    most = p.given * core if runnable(k, node) > 0 else s_at(k, 0).shared
    if p.most != most or p.turn_ends != ends:
        advance(k, node)
        p.most = most
        p.turn_ends = ends
        leave_cores(k, node)
        reschedule(k, node)
    elif p.run_queue_length > 0 and p.active < p.given:
        reschedule(k, node)


@jit
def share_machine(k: State) -> None:
    """Divide the machine's cores again after an event, which may have changed what its nodes want."""
    s = s_at(k, 0)
    _divide(k)
    want = 0
    for node in range(s.nodes):
        if node_at(k, node).held == 0:
            want += runnable(k, node)
    for node in range(s.nodes):
        p = node_at(k, node)
        others = want - (runnable(k, node) if p.held == 0 else 0)
        # Threads on cores that this node cannot have take nothing from it.
        beside = max(0, others - max(0, s.machine_cores - p.cores))
        fewer = beside < p.beside
        before = wanting(k, node)
        p.beside = beside
        if before >= p.cores > wanting(k, node):
            p.core_free_since = s.now
        if fewer and p.wake_head >= 0:
            reschedule(k, node)
