"""Storm 2.x: one state machine per slot (``org.apache.storm.daemon.supervisor.Slot``, as in 2.8.3).

A slot polls its worker every ``slot_running_s`` while the worker runs, and every ``slot_idle_s`` while it
starts or there is none. A worker that should go gets a terminate signal, and the slot sleeps
``worker_shutdown_s``. If the process still exists then, it is killed by force, and the slot sleeps as long
again. A process that died by itself is replaced at the poll that finds it dead, without a sleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from storm_lab.emulator.control.clock import Event, Rank, ns
from storm_lab.emulator.control.worker import WorkerState
from storm_lab.model import Slot

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane
    from storm_lab.emulator.control.supervisor import Supervisor


class SlotMachine:
    """The polls of one slot; the first one comes at a random time within ``slot_idle_s``."""

    def __init__(self, control: ControlPlane, supervisor: Supervisor, slot: Slot) -> None:
        self._control = control
        self._supervisor = supervisor
        self._slot = slot
        self._idle_ns = ns(control.timers.slot_idle_s)
        self._random = control.random(f"slot/{slot}")
        self._next = self._after(int(self._random.random() * self._idle_ns))

    def poll_now(self) -> None:
        """Poll now instead of waiting for the next turn; later turns follow from this one."""
        self._next.cancel()
        self._poll()

    def _after(self, delay_ns: int) -> Event:
        return self._control.clock.after(delay_ns, Rank.SUPERVISOR, self._supervisor.actor, self._poll)

    def _poll(self) -> None:
        self._next = self._after(self._act() if self._supervisor.up else self._idle_ns)

    def _act(self) -> int:
        """Take the action that is due, and return how many ns to sleep after it."""
        supervisor = self._supervisor
        process = next((p for p in supervisor.processes if p.slot == self._slot and not p.leaving), None)
        if process is None:
            wanted = supervisor.local.get(self._slot)
            if wanted is not None:
                supervisor.launch(self._slot, wanted)
            return self._idle_ns
        state = supervisor.state_of(process)
        if state is WorkerState.VALID:
            return ns(self._control.timers.slot_running_s)
        if state is WorkerState.NOT_STARTED and supervisor.still_wants(process):
            return self._idle_ns
        alive = process.ended_ns is None
        self._control.migration.retire(supervisor, process, state.value)
        if process.leaving or not alive:
            return self._act()
        # The worker's shutdown hook halts it after the same time, so it usually still exists.
        times, sleep_ns = self._control.times, ns(self._control.timers.worker_shutdown_s)
        gone_s = self._random.uniform(times.worker_exit_least_s, times.worker_exit_most_s)
        return sleep_ns * (1 if ns(gone_s) <= sleep_ns else 2)
