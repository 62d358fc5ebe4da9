"""T-Storm's initial assignment (section IV-C): before any load is known, one worker per node.

As soon as a topology runs under Nimbus's own scheduler, it is rebalanced to ``min(N_u, N_w)`` workers. N_u is
the number that its user asked for, N_w the number of nodes that have a slot for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.service import Sampler


@dataclass(frozen=True, slots=True)
class InitialConsolidation:
    """Rebalance each topology once, right after it has started."""

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Rebalance each topology when it starts to run."""
        done: set[str] = set()
        nimbus = control.nimbus

        def consolidate(topology_id: str) -> None:
            if topology_id in done:
                return
            done.add(topology_id)
            stored = nimbus.current(topology_id)
            assert stored is not None
            mine = set(stored.slots.values())
            others = set(nimbus.present.slots.values()) - mine
            nodes = [node for node in nimbus.live_cluster.nodes if any(s not in others for s in node.slots)]
            asked = nimbus.topologies[topology_id].workers
            workers = min(asked, len(nodes))
            if len(mine) <= workers and len({slot.node for slot in mine}) == len(mine):
                control.log.note("consolidator", "leave", topology_id, "no node has two workers of it")
                return
            reason = f"initial assignment: min({asked} workers asked for, {len(nodes)} nodes)"
            nimbus.rebalance(topology_id, workers=workers, reason=reason)

        nimbus.on_running(consolidate)
