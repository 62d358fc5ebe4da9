"""CPU quotas: a node that may use a limited amount of CPU in each period, and then stands still.

As for containers on Linux (``cpu.max``), the CPU of all threads is counted together, on two cores twice as
fast as on one. A node that has used up its quota is held back until the next period begins; what arrives
meanwhile gathers. The slices of 5 ms in which Linux hands a quota to cores are not played.
"""

from __future__ import annotations

from storm_lab.emulator.state import rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def runnable(k: State, node: int) -> int:
    """Return how many threads want a node's cores, waiting ones and those of starting JVMs included."""
    p = rows.node(k, node)
    return p.active + p.run_queue_length + p.starting


@inline
def contending(k: State, node: int) -> int:
    """Return how many threads want these cores, those of other nodes on the same machine included."""
    return runnable(k, node) + rows.node(k, node).competitors


@inline
def periodic_work(k: State, node: int) -> int:
    """Return what the periodic work of a node's workers takes of its cores, in 1/1024 core.

    It gets at most half of the cores.
    """
    p = rows.node(k, node)
    return min(p.periodic_load, p.cores * 512)


@inline
def _use(k: State, node: int) -> int:
    """Return what a node that is not held back uses of its quota per ns, in 1/1024 core."""
    p = rows.node(k, node)
    most = p.free + (p.threads - p.cores) * 1024
    return min(p.poll_load + runnable(k, node) * 1024, most) + periodic_work(k, node)


@jit
def use_quota(k: State, node: int, passed: int) -> None:
    """Count what a node has used in the last ``passed`` ns, and hold it back or let it go on.

    Workers' periodic work also comes due while a node is held back; the next period makes up for it.
    """
    p = rows.node(k, node)
    p.quota_left -= passed * (periodic_work(k, node) if p.throttled != 0 else _use(k, node))
    periods = (rows.s(k, 0).now - p.quota_from) // p.quota_period
    if periods > 0:
        p.quota_from += periods * p.quota_period
        p.quota_left = min(p.quota, p.quota_left + periods * p.quota)
    p.throttled = 1 if p.quota_left <= 0 else 0


@jit
def quota_event_time(k: State, node: int) -> int:
    """Return when a node's quota will be used up, or will be renewed."""
    p = rows.node(k, node)
    anew = p.quota_from + p.quota_period
    use = _use(k, node)
    if p.throttled != 0 or use == 0:
        return anew
    return min(anew, p.v_at + (p.quota_left + use - 1) // use)


@inline
def is_quota_event(k: State, node: int) -> bool:
    """Return whether a node's event is that of its quota or of its turn, and no burst has ended."""
    p = rows.node(k, node)
    s = rows.s(k, 0)
    if p.quota + s.machine_capacity == 0:
        return False
    return p.active == 0 or rows.burst(k, node * s.burst_width).v_finish > p.v
