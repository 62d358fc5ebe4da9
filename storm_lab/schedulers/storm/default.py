"""Storm's default scheduler: it frees workers that do not fit an even spread, then calls the even scheduler.

Source: ``DefaultScheduler`` of Storm 0.8.2, 0.9.7 and 2.8.8; the view's version selects the form.
"""

from __future__ import annotations

from collections import Counter

from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.executor import integer_divided
from storm_lab.model.version import V0_9_0, V2_0_0
from storm_lab.schedulers.contract import NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.cluster_state import ClusterState
from storm_lab.schedulers.storm.even import schedule_evenly, storm_result


class DefaultScheduler(Scheduler[NoParameters]):
    """``DefaultScheduler`` of the view's Storm version, which is used if ``storm.scheduler`` is unset."""

    name = "default"
    version = "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Spread every topology that needs scheduling over its workers, as far as there are slots."""
        state = ClusterState(view)
        schedule_by_default(state, state.topologies_to_schedule())
        return storm_result(state)


def schedule_by_default(state: ClusterState, topologies: list[Topology]) -> None:
    """Free workers that prevent an even spread, then schedule evenly, topology by topology."""
    for topology in topologies:
        free_uneven_workers(state, topology)
        # The even step of 2.x handles every topology that needs scheduling, not only the present one.
        handed = topologies if state.version >= V2_0_0 else [topology]
        ids = {t.id for t in handed}
        schedule_evenly(state, [t for t in state.topologies_to_schedule() if t.id in ids])


def free_uneven_workers(state: ClusterState, topology: Topology) -> None:
    """Free those of the topology's workers that prevent an even spread."""
    workers = state.workers(topology.id)
    nodes = state.view.nodes
    reassignable = [s for s in workers if s.node in nodes and s in state.assignable_slots(nodes[s.node])]
    total = min(topology.workers, len(reassignable) + len(state.available_slots()))
    incomplete = state.version >= V0_9_0 and bool(state.unassigned(topology))
    if total > len(workers) or incomplete:
        state.free(bad_slots(workers, len(state.view.executors[topology.id]), total))


def bad_slots(workers: dict[Slot, list[Executor]], executors: int, total: int) -> list[Slot]:
    """Return workers of a size that an even spread of ``executors`` over ``total`` slots does not have.

    ``workers`` are checked in order; each size is kept as often as it occurs in the even spread.
    """
    if total == 0:
        return []
    wanted = Counter(integer_divided(executors, total))
    bad = []
    for slot, inside in workers.items():
        if wanted[len(inside)] > 0:
            wanted[len(inside)] -= 1
        else:
            bad.append(slot)
    return bad
