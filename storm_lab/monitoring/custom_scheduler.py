"""The custom scheduler: Nimbus's plug-in that installs the newest generated schedule (T-Storm IV-C)."""

from __future__ import annotations

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.nimbus import Status
from storm_lab.model import InvalidAssignmentError
from storm_lab.monitoring.database import LoadDatabase

ACTOR = "scheduler"


class CustomScheduler:
    """Looks into the load database every ``fetch_s``; the cycle's phase is drawn from the run's seed."""

    def __init__(self, control: ControlPlane, database: LoadDatabase, fetch_s: float) -> None:
        self._control = control
        self._database = database
        self._installed = 0
        phase = int(control.random("custom-scheduler").random() * ns(fetch_s))
        control.clock.every(ns(fetch_s), Rank.MONITOR, ACTOR, self.fetch, first_ns=phase)

    def fetch(self) -> None:
        """Install the newest adopted schedule, if it is new and Nimbus can take it now."""
        control = self._control
        newest = self._database.newest_adopted()
        if newest is None or newest[0] <= self._installed:
            return
        number, assignment, cause = newest
        busy = any(
            control.nimbus.status.get(executor.topology) is Status.REBALANCING
            for executor in assignment.slots
        )
        if busy or not control.nimbus.up or not control.zookeeper.up:
            return
        self._installed = number
        gone = sorted({slot.node for slot in assignment.slots.values()} - _live_nodes(control))
        if gone:
            control.log.note(
                ACTOR, "refuse-schedule", f"schedule {number}", f"node {gone[0]} is no longer there"
            )
            return
        try:
            control.log.note(ACTOR, "fetch-schedule", f"schedule {number}", cause)
            control.nimbus.install(assignment, f"schedule {number}: {cause}")
        except InvalidAssignmentError as error:
            control.log.note(ACTOR, "refuse-schedule", f"schedule {number}", str(error))


def _live_nodes(control: ControlPlane) -> frozenset[str]:
    return frozenset(node.id for node in control.nimbus.live_cluster.nodes)
