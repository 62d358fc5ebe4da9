"""Who is alive, as Nimbus sees it (Storm 0.8 to 2.x).

An executor is alive for ``task_launch_s`` after it was assigned to its slot, whatever it does; after that as
long as its heartbeat keeps changing. The age of a heartbeat runs on Nimbus's own clock from the round at
which the reported time had changed, so a death is seen 30 to 40 s after the last heartbeat. A heartbeat that
Nimbus looks for the first time counts as fresh.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.times import Timers
from storm_lab.emulator.control.zookeeper import StoredAssignment, ZooKeeper
from storm_lab.model import Executor


@dataclass(slots=True)
class _Seen:
    reported_ns: int | None
    changed_ns: int


class Liveness:
    """Nimbus's memory of heartbeats."""

    def __init__(self, zookeeper: ZooKeeper, timers: Timers) -> None:
        self._zookeeper = zookeeper
        self._timers = timers
        self._seen: dict[Executor, _Seen] = {}

    def forget(self) -> None:
        """Nimbus has been restarted."""
        self._seen.clear()

    def nodes(self, now_ns: int) -> frozenset[str]:
        """Nodes whose supervisor has given a heartbeat lately."""
        oldest = now_ns - ns(self._timers.supervisor_timeout_s)
        beats = self._zookeeper.supervisor_beats
        return frozenset(node for node, beat in beats.items() if beat > oldest)

    def alive(self, assignment: StoredAssignment, now_ns: int) -> frozenset[Executor]:
        """The assigned executors that count as alive in this round; notes which heartbeats have changed."""
        return frozenset(e for e in assignment.slots if self._is_alive(e, assignment, now_ns))

    def _is_alive(self, executor: Executor, assignment: StoredAssignment, now_ns: int) -> bool:
        reported = self._zookeeper.task_beats.get((executor, assignment.slots[executor]))
        seen = self._seen.get(executor)
        if seen is None or seen.reported_ns != reported:
            seen = self._seen[executor] = _Seen(reported, now_ns)
        timers = self._timers
        if now_ns - assignment.start_ns[executor] < ns(timers.task_launch_s):
            return True
        newest = seen.changed_ns
        if timers.heartbeat_by_sender:
            newest = max(reported or 0, assignment.start_ns[executor])
        return now_ns - newest < ns(timers.task_timeout_s)


def all_report(zookeeper: ZooKeeper, assignment: StoredAssignment) -> bool:
    """Whether every executor has given a heartbeat from its slot since it was assigned to it."""
    beats = zookeeper.task_beats
    return all(
        beats.get((executor, slot), -1) >= assignment.start_ns[executor]
        for executor, slot in assignment.slots.items()
    )
