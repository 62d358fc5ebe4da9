"""Load monitors: CPU of executors and nodes, and traffic between executors, measured once per window.

T-Storm section IV-B: a daemon on each node reads every executor's CPU time over the window and expresses it
in MHz (``cpu seconds / window seconds * core clock``). A node's load is the sum over its executors. Traffic
is the number of tuples sent in the window. Values are smoothed by a moving average and go to the load
database.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from storm_lab.emulator.control.clock import SECOND
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.emulator.plane import WindowSample
from storm_lab.errors import UserError
from storm_lab.model import Executor, Slot, executors_of
from storm_lab.model.checks import check_number
from storm_lab.monitoring.database import ExecutorLoad, LoadDatabase, WindowLoad

K = TypeVar("K", bound=Hashable)


class MovingAverages(Generic[K]):
    """One moving average per key: ``Y <- alpha * Y + (1 - alpha) * sample``, starting at the first sample.

    A small ``alpha`` forgets fast; one outside [0, 1) is a `UserError`. If a later sample lacks a known key,
    the key's sample is zero.
    """

    def __init__(self, alpha: float) -> None:
        check_number("a moving average", "alpha", alpha, high=1.0)
        if alpha == 1:
            message, remedy = "a moving average that keeps all of the past never changes", "give less than 1"
            raise UserError(message, field="alpha", value=alpha, remedy=remedy)
        self._alpha = alpha
        self.values: dict[K, float] = {}
        """All averages, in the order in which the keys first occurred."""

    def add(self, sample: Mapping[K, float]) -> None:
        """Update the averages with the sample of one window."""
        for key in self.values.keys() - sample.keys():
            self.values[key] *= self._alpha
        for key, value in sample.items():
            old = self.values.get(key)
            self.values[key] = value if old is None else self._alpha * old + (1 - self._alpha) * value

    def keep(self, wanted: Callable[[K], bool]) -> None:
        """Forget all keys but those that are wanted."""
        self.values = {key: value for key, value in self.values.items() if wanted(key)}


class LoadMonitor:
    """The monitors of all nodes in one run; their averages go to ``database``.

    An executor that is not running, because its worker is being started again, has a sample of zero in its
    last slot. Nothing is kept about topologies that were killed, once their workers have ended.
    Listeners registered with ``after_window`` are called when a window has been written.
    """

    def __init__(self, control: ControlPlane, sampler: Sampler, database: LoadDatabase, alpha: float) -> None:
        self._control = control
        self.database = database
        self._cpu: MovingAverages[Executor] = MovingAverages(alpha)
        self._node: MovingAverages[str] = MovingAverages(alpha)
        self._traffic: MovingAverages[tuple[Executor, Executor]] = MovingAverages(alpha)
        self._slot_of: dict[Executor, Slot] = {}
        """The last known slot of each executor."""
        self._executor_of: dict[tuple[str, int], Executor] = {}
        self._listeners: list[Callable[[WindowLoad], None]] = []
        sampler.listen(self.take)

    def after_window(self, listener: Callable[[WindowLoad], None]) -> None:
        """Call ``listener`` with every window's load once it is in the database."""
        self._listeners.append(listener)

    def take(self, sample: WindowSample) -> None:
        """Convert the data plane's counters to load and write it to the database."""
        seconds = (sample.end_ns - sample.start_ns) / SECOND
        if seconds <= 0:
            return
        cpu, queued = self._cpu_mhz(sample, seconds)
        nodes = {node.id: 0.0 for node in self._control.cluster.nodes}
        per_executor: dict[Executor, float] = {}
        for (executor, slot), mhz in cpu.items():
            nodes[slot.node] += mhz
            per_executor[executor] = per_executor.get(executor, 0.0) + mhz
        traffic = self._rates(sample, seconds)
        kept = {*self._control.nimbus.topologies, *(executor.topology for executor in per_executor)}
        self._cpu.keep(lambda executor: executor.topology in kept)
        self._traffic.keep(lambda pair: pair[0].topology in kept)
        self._cpu.add(per_executor)
        self._node.add(nodes)
        self._traffic.add(traffic)
        load = WindowLoad(
            start_ns=sample.start_ns,
            end_ns=sample.end_ns,
            executors={
                e: ExecutorLoad(self._slot_of[e], per_executor.get(e, 0.0), average, queued.get(e, 0))
                for e, average in sorted(self._cpu.values.items())
            },
            nodes={node: (mhz, self._node.values[node]) for node, mhz in nodes.items()},
            traffic={
                pair: (traffic.get(pair, 0.0), mean) for pair, mean in sorted(self._traffic.values.items())
            },
            failed=dict(sample.failed),
        )
        self.database.write_window(load)
        for listener in self._listeners:
            listener(load)

    def _cpu_mhz(
        self, sample: WindowSample, seconds: float
    ) -> tuple[dict[tuple[Executor, Slot], float], dict[Executor, int]]:
        """Return CPU per executor and slot, and queues; note each executor's current slot.

        That is the slot which Nimbus has assigned to it if it has run there in this window, else the slot of
        its newest worker: an executor may have moved to a worker that is older than the one it left.
        """
        cpu: dict[tuple[Executor, Slot], float] = {}
        queued: dict[Executor, int] = {}
        assigned = self._control.nimbus.present.slots
        used = [
            (self._control.fleet.by_id(worker).slot, worker, executor, cpu_ns)
            for (worker, executor), cpu_ns in sample.executor_cpu_ns.items()
        ]
        used.sort(key=lambda row: (row[0] == assigned.get(row[2]), row[1], row[2]))
        for slot, worker, executor, cpu_ns in used:
            clock = self._control.cluster.node(slot.node).core_mhz
            mhz = cpu_ns / SECOND / seconds * clock
            cpu[executor, slot] = cpu.get((executor, slot), 0.0) + mhz
            self._slot_of[executor] = slot
            queued[executor] = sample.queued.get((worker, executor), 0)
        return cpu, queued

    def _rates(self, sample: WindowSample, seconds: float) -> dict[tuple[Executor, Executor], float]:
        rates: dict[tuple[Executor, Executor], float] = {}
        for (topology_id, source, target), tuples in sorted(sample.traffic.items()):
            pair = (self._executor(topology_id, source), self._executor(topology_id, target))
            rates[pair] = rates.get(pair, 0.0) + tuples / seconds
        return rates

    def _executor(self, topology_id: str, task: int) -> Executor:
        if (topology_id, task) not in self._executor_of:
            topology = self._control.nimbus.submitted[topology_id]
            for executor in executors_of(topology, self._control.version):
                self._executor_of |= {(topology_id, member): executor for member in executor.tasks}
        return self._executor_of[topology_id, task]


@dataclass(frozen=True, slots=True)
class MonitorPlan:
    """Monitors without a generator: they observe the load and offer it to Nimbus's own scheduler.

    ``alpha`` is the weight of the past in the moving average. ``database`` is the file of the load database,
    None for one in memory.
    """

    alpha: float = 0.5
    database: Path | None = None

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Start the monitors."""
        self.begin(control, sampler)

    def begin(self, control: ControlPlane, sampler: Sampler) -> LoadMonitor:
        """Start the monitors and return them."""
        database = LoadDatabase(self.database or ":memory:")
        control.nimbus.load = database.load
        control.on_end(database.close)
        return LoadMonitor(control, sampler, database, self.alpha)
