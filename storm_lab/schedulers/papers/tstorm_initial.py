"""T-Storm's initial assignment: Storm's default, with at most one worker per topology and node.

Source: T-Storm, section IV. Before any load is measured, ``min(N_u, N_w)`` workers are used, where ``N_u`` is
the number that the user asked for and ``N_w`` the number of nodes with available slots.
"""

from __future__ import annotations

import dataclasses

from storm_lab.model import acker_count
from storm_lab.schedulers.contract import NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.cluster_state import ClusterState
from storm_lab.schedulers.storm.default import free_uneven_workers
from storm_lab.schedulers.storm.even import schedule_evenly, storm_result


class TStormInitialScheduler(Scheduler[NoParameters]):
    """Round robin with ``min(N_u, N_w)`` workers, new ones on nodes without a worker of the topology.

    Workers that are there keep their slots. If no other node has a slot, a node may get a second worker.
    """

    name = "tstorm-initial"
    version = "2"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Give each incomplete topology its initial assignment, one after the other."""
        state = ClusterState(view)
        for topology in state.topologies:
            if not state.unassigned(topology):
                continue
            nodes = {slot.node for slot in state.available_slots()}
            nodes |= {slot.node for slot in state.slot_of[topology.id].values()}
            # The default number of ackers follows the workers that the user asked for, so it is fixed first.
            asked = dataclasses.replace(
                topology,
                workers=max(1, min(topology.workers, len(nodes))),
                ackers=acker_count(topology, view.version),
            )
            free_uneven_workers(state, asked)
            held = {slot.node for slot in state.slot_of[topology.id].values()}
            available = state.available_slots()
            second = {slot for slot in available if slot.node in held}
            schedule_evenly(state, [asked], second if len(second) < len(available) else ())
        return storm_result(state)
