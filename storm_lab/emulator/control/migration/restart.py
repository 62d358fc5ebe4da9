"""Storm's own method, called Storm* in the N-Storm paper (section V-A): worker-level restart.

The assignment goes straight to ZooKeeper. Each supervisor, at its own tick, kills the workers whose set of
executors has changed and launches new ones. Executors that did not move but share such a worker are restarted
too. Tuples queued in a killed worker are lost and time out at their spouts.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import Migration, MigrationMethod


@dataclass(frozen=True, slots=True)
class Restart(MigrationMethod):
    """Kill and restart the workers that changed; no parameters."""

    def begin(self, control: ControlPlane) -> Migration:
        """Return Storm's own steps, unchanged."""
        return Migration(control)
