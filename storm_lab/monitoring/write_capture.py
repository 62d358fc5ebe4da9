"""A count of the writes that reach ZooKeeper's disk, by origin (Storm@Twitter section 3.3.1 used tcpdump).

Once per period, the capture notes in the decision log how many writes each origin has sent since the last
note. Origins are task heartbeats, supervisor heartbeats, assignments, statuses and the offsets of consumers.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.emulator.control.zookeeper import Record

ACTOR = "capture"
ACTION = "writes"
OFFSETS = "offsets"
"""Origin of the writes of consumers. The other origins are the kinds of Storm's own records."""
_PERIOD_S = 60.0


@dataclass(frozen=True, slots=True)
class WriteCapture:
    """Capture the writes of every minute; the paper captured one minute."""

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Note the writes of every period from now on."""
        server, written = control.zookeeper.server, control.zookeeper.written
        seen: dict[str, float] = {}

        def capture() -> None:
            totals = {record.value: float(written[record]) for record in Record}
            totals[OFFSETS] = server.other_writes_by(control.clock.now_ns)
            for origin, total in totals.items():
                writes = round(total - seen.get(origin, 0.0))
                control.log.note(ACTOR, ACTION, origin, f"last {_PERIOD_S:g} s", writes=writes)
            seen.update(totals)

        control.clock.every(ns(_PERIOD_S), Rank.MONITOR, ACTOR, capture)
