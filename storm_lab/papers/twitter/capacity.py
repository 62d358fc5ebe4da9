"""How much CPU a minute of a machine's log may hold at most, in the experiment on overheads."""

from __future__ import annotations

from storm_lab.emulator.cost import CostModel
from storm_lab.experiments.parameter import Parameters
from storm_lab.papers.twitter.overheads import topology
from storm_lab.papers.twitter.overheads_measures import MINUTE_S
from storm_lab.papers.twitter.testbed import CORE_MHZ, machines


def most_percent(parameters: Parameters, program: str, count: int) -> float:
    """CPU of a machine of ``count`` in a minute, 100 % is a core: no log may show more.

    A burst of work is counted when it is done. So to what a machine can work in a minute comes what was in
    hand when the minute began: at most one burst of every thread, and none is longer than that of a spout
    that reads a bundle and emits it, or for housekeeping than one of its periods.
    """
    cost = CostModel()
    (node, *_) = machines(count).nodes
    declared = topology(program, count)
    workers = declared.workers / count
    # A sending and a receiving thread a worker; the executors' own sending threads cost no CPU here.
    threads = (sum(part.executors for part in declared.components) + (declared.ackers or 0)) / count
    threads += 2 * workers
    # The read's cost is that of these machines, the engine's costs are those of its reference clock.
    read_us = parameters.number("read_us") * CORE_MHZ / cost.reference_mhz
    burst_us = read_us + cost.poll_us + 2 * cost.emit_us
    burst_s = burst_us * parameters.integer("bundle") / 1e6 * cost.slowdown(node, round(workers))
    in_hand_s = threads * burst_s + workers * cost.housekeeping_period_ms / 1e3
    worked = node.cores * (1 + cost.hyper_thread_gain)
    return 100.0 * (worked + in_hand_s / MINUTE_S)
