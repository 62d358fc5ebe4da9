"""CPU quotas: a node whose control group may use so much CPU in each period, and then stands still.

As Linux has it for containers (``cpu.max``): what all threads use together is counted, on two cores twice as
fast as on one, and who has used it up is held back until the next period begins. What arrives meanwhile
gathers. The kernel's slices of 5 ms a core, in which a quota is handed to cores, are not played.
"""

from __future__ import annotations

from storm_lab.emulator.state.arrays import node_at, run_queue_at, s_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def runnable(k: State, node: int) -> int:
    """How many threads want a node's cores, those that wait for one and of JVMs that start included."""
    p = node_at(k, node)
    return p.active + p.in_line + p.starting


@inline
def wanting(k: State, node: int) -> int:
    """How many threads want these cores, those of other nodes on the same machine included."""
    return runnable(k, node) + node_at(k, node).beside


@inline
def own_work(k: State, node: int) -> int:
    """What a node's workers take of its cores for themselves, of 1024 a core.

    More than half of the cores they do not get where others want them.
    """
    p = node_at(k, node)
    return min(p.own, p.cores * 512)


@inline
def _use(k: State, node: int) -> int:
    """What a node's threads use of its quota in a ns while it is not held back, of 1024 a core."""
    p = node_at(k, node)
    most = p.free + (p.threads - p.cores) * 1024
    return min(p.polling + runnable(k, node) * 1024, most) + own_work(k, node)


@jit
def use_quota(k: State, node: int, passed: int) -> None:
    """Count what a node has used in the last ``passed`` ns, and hold it back or let it go on.

    What workers do for themselves comes due meanwhile, too, and is made up for in the next period.
    """
    p = node_at(k, node)
    p.quota_left -= passed * (own_work(k, node) if p.held != 0 else _use(k, node))
    periods = (s_at(k, 0).now - p.quota_from) // p.quota_period
    if periods > 0:
        p.quota_from += periods * p.quota_period
        p.quota_left = p.quota + min(p.quota_left, 0)
    p.held = 1 if p.quota_left <= 0 else 0


@jit
def quota_turn(k: State, node: int) -> int:
    """When a node's quota will be used up, or be there anew."""
    p = node_at(k, node)
    anew = p.quota_from + p.quota_period
    use = _use(k, node)
    if p.held != 0 or use == 0:
        return anew
    return min(anew, p.v_at + (p.quota_left + use - 1) // use)


@inline
def is_quota_turn(k: State, node: int) -> bool:
    """Whether a node's event is its quota's, or its turn's at the machine, and no burst of it has ended."""
    p = node_at(k, node)
    s = s_at(k, 0)
    if p.quota + s.shared == 0:
        return False
    return p.active == 0 or run_queue_at(k, node * s.queue_width).v_finish > p.v
