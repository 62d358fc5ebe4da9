"""Storm's own way, called Storm* in the N-Storm paper (section V-A): worker-level restart.

The assignment goes straight to ZooKeeper. Each supervisor, at its own tick, kills the workers whose set of
executors has changed and launches their successors; executors that did not move but share such a worker are
restarted too. What stood in the queues of a killed worker is lost and times out at its spouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import Migration, MigrationMethod, migration_method


@migration_method
@dataclass(frozen=True, slots=True)
class Restart(MigrationMethod):
    """Kill and restart the workers that changed; no parameters."""

    name: ClassVar[str] = "restart"

    def begin(self, control: ControlPlane) -> Migration:
        """Storm's own steps, unchanged."""
        return Migration(control)
