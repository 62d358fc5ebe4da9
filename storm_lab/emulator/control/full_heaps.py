"""Workers whose heap is full of queued tuples: they only collect garbage, fall silent, and are killed.

Between workers nothing limits a flood of tuples without acks. Tuples that a worker cannot keep up with fill
its heap, and one full collection follows another. On live Storm 0.9.2 with ``-Xmx64m`` such a receiver gave
its last heartbeat 15 s after its start, and its supervisor killed it 31 s later as timed out. Its sender,
whose heap was full too, ended with ``OutOfMemoryError`` (GC overhead limit exceeded) within the same seconds:
an error that escapes from an executor's thread ends the process. Which of the two comes first matters little
up to 1.x, where supervisors check heartbeats only. So the emulator plays only the silence, and time-outs do
the rest. Queued tuples are lost with the worker, and the heap of its replacement fills again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from storm_lab.emulator.control.clock import SECOND, Rank

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane


class FullHeaps:
    """Checks once a second, as often as workers give heartbeats, which workers have fallen silent."""

    def __init__(self, control: ControlPlane) -> None:
        self._control = control
        self._silent: set[int] = set()
        control.clock.every(SECOND, Rank.PROCESS, "heap", self._poll)

    def _poll(self) -> None:
        control = self._control
        full = control.plane.now().full_heaps()
        for worker in sorted(self._silent - full.keys()):
            process = control.fleet.by_id(worker)
            if process.running:
                process.silent_since_ns = None
                control.log.note(process.actor, "heap-free", str(process.slot), worker=worker)
        for worker in sorted(full.keys() - self._silent):
            process = control.fleet.by_id(worker)
            process.silent_since_ns = full[worker]
            control.log.note(
                process.actor,
                "heap-full",
                str(process.slot),
                "queued tuples fill its heap: it only collects garbage and sends no heartbeats",
                worker=worker,
                topology=process.topology,
                since_ns=full[worker],
            )
        self._silent = set(full)
