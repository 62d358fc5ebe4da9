"""Runs the kernel until a given time, enlarging its arrays and writing out its rows when necessary.

When an array is full, the kernel returns. The array is enlarged or emptied, and the kernel is entered again;
when this happens does not affect the result.
"""

from __future__ import annotations

from collections.abc import Callable

from storm_lab.emulator.kernel.load_aware import REFRESH_NS, refresh_loads
from storm_lab.emulator.kernel.main_loop import run
from storm_lab.emulator.plane import EmulationStoppedError, Plane
from storm_lab.emulator.setup.logbook import Logbook
from storm_lab.emulator.setup.offset_log import OffsetLogs
from storm_lab.emulator.setup.tables import build
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.jit import get_ready
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.tuplelog.buffer import Recorder

MOST_VIRTUAL_TIME = 3 << 61
"""Virtual time of a node at which a run ends, before ends of bursts exceed 64 bits: 29 busy hours."""
_BUDGET = 1 << 62
_BEFORE_START = -1
"""A time before the first event."""


class KernelRunner(Plane):
    """Runs the kernel and its logs from one instant to a later one."""

    def __init__(self, spec: EmulationSpec, recorder: Recorder | None, max_messages: int) -> None:
        super().__init__()
        self.kernel, self._names = build(spec)
        """The arrays; public for tests and benchmarks."""
        self.kernel.grow_messages(1 << 12)
        self.kernel.grow_roots(1 << 12)
        self._max_messages = max_messages
        # Read at every turn of the control plane. The row of scalars is never replaced.
        self._now = self.kernel.s["now"]
        get_ready(self.kernel.state)
        self._log = Logbook(self._names, recorder, self.slots, self.stays)
        self._offsets = OffsetLogs(spec.topologies, self._names)
        self._next_count = self._count_window_ns = round(spec.count_window_s * NS_PER_S)
        # From 1.0 on workers report the loads of their queues to each other.
        self._next_refresh = REFRESH_NS if self.kernel.s[0].version_1 else kinds.NEVER
        self._observer: Callable[[Kernel], None] | None = None

    @property
    def now_ns(self) -> int:
        """Virtual time."""
        return int(self._now[0])

    @property
    def events(self) -> int:
        """Events played so far."""
        return int(self.kernel.s[0].events)

    def observe(self, observer: Callable[[Kernel], None] | None) -> None:
        """Call ``observer`` with the arrays before each event from now on, which is slow; None stops this."""
        self._observer = observer

    def run_until(self, time_ns: int) -> None:
        """Play all events up to and including a time.

        Raises `EmulationStoppedError` if more tuples are queued than the limit allows, or a node has been
        busy for longer than its virtual time holds.
        """
        offsets = self._offsets
        while (due := min(self._next_times())) <= time_ns:
            self._run_kernel(due)
            if due == offsets.next_checkpoint_ns:
                self._write_rows()
                offsets.checkpoint(due)
            if due == self._next_refresh:
                sizes = len(self.kernel.worker), len(self.stays), len(self.kernel.shuffle)
                self._next_refresh = refresh_loads(self.kernel.state, *sizes)
            if due == self._next_count:
                self._log.write_counts(self.kernel, due - self._count_window_ns, due)
                self._next_count += self._count_window_ns
                if self.kernel.node["v"].max() > MOST_VIRTUAL_TIME:
                    raise EmulationStoppedError(
                        "a node has been busy for 29 hours, the most that a run can count: make it shorter"
                    )
        self._run_kernel(time_ns)

    def _next_times(self) -> tuple[int, ...]:
        return self._next_count, self._next_refresh, self._offsets.next_checkpoint_ns

    def _run_kernel(self, time_ns: int) -> None:
        while True:
            reason = run(self.kernel.state, time_ns, _BUDGET if self._observer is None else 0, 0)
            if reason == kinds.NEED_BUDGET and self._observer is not None:
                self._observer(self.kernel)
                reason = run(self.kernel.state, time_ns, 1, 0)
            if reason == kinds.REACHED:
                return
            if reason == kinds.NEED_MESSAGES:
                self._grow_messages()
            elif reason == kinds.NEED_ROOTS:
                self.kernel.grow_roots(2 * len(self.kernel.root))
            elif reason == kinds.NEED_LOG:
                self._write_rows()

    def _apply_changes(self) -> None:
        """Let threads and nodes react to a change by the control plane, without advancing time."""
        run(self.kernel.state, _BEFORE_START, 0, 1)

    def _grow_messages(self) -> None:
        k = self.kernel
        size = max(2 * len(k.message), len(k.message) + 8 * int(k.s[0].bolt_margin))
        if size > 2 * self._max_messages:
            raise EmulationStoppedError(
                f"more than {self._max_messages:,} tuples are queued at {self.now_ns / NS_PER_S:.1f} s: "
                "the topology cannot keep up with its source; lower the rate, or set max spout pending"
            )
        k.grow_messages(size)

    def _reserve_messages(self, free: int) -> None:
        while self.kernel.s[0].free_messages < free:
            self._grow_messages()

    def _write_rows(self) -> None:
        self._offsets.collect_acks(self.kernel)
        self._log.write_rows(self.kernel)
