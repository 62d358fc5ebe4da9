"""Runs the emulator's monitors, schedule generators and custom schedulers, unchanged, beside real Storm.

A service schedules cycles on a clock, reads counters through a sampler, and talks to Nimbus. Here the clock
is the emulator's, driven by real time in a thread. The counters are the player's. Nimbus is replaced by the
bridge, which moves executors at Nimbus's next request.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from storm_lab.emulator.control.clock import SteppedPlane, VirtualClock
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler, Service
from storm_lab.emulator.control.decision_log import Decision, DecisionLog
from storm_lab.emulator.control.nimbus import Status
from storm_lab.emulator.plane import WindowSample
from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.live.bridge import Policy
from storm_lab.live.player_files import HOUSEKEEPING, Window, WorkerFile, thread_uses
from storm_lab.live.processes import LiveWorker
from storm_lab.model import (
    ACKER,
    Assignment,
    Cluster,
    Executor,
    MeasuredLoad,
    Slot,
    StormVersion,
    Topology,
    executors_of,
)
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.monitoring.online_scheduling import OnlineScheduling


class WorkerTail:
    """Follows the files that a topology's workers write to its folder."""

    def __init__(self, plan: TopologyPlan, version: StormVersion, folder: Path) -> None:
        self.topology = plan.topology.id
        self._folder = folder
        executors = executors_of(plan.topology, version)
        self._by_task = {task: executor for executor in executors for task in executor.tasks}
        self._ackers = [task for task, executor in self._by_task.items() if executor.component == ACKER]
        self._tracked = {name for name, source in plan.sources.items() if source.anchored}
        self._files: dict[Path, WorkerFile] = {}

    def read_new(self) -> list[tuple[WorkerFile, Window]]:
        """Return the windows that have been written since the last call."""
        fresh: list[tuple[WorkerFile, Window]] = []
        for path in sorted(self._folder.glob("worker-*.jsonl")):
            file = self._files.setdefault(path, WorkerFile(path))
            known = len(file.windows)
            file.read()
            fresh += [(file, window) for window in file.windows[known:]]
        return fresh

    def ready(self, executors: Mapping[Executor, Slot], slot_of: Mapping[int, Slot]) -> bool:
        """Return whether all executors that record when they are ready have done so in the given slots."""
        up = {
            (task.task, slot_of.get(file.pid))
            for file in self._files.values()
            for task in file.tasks
            if task.closed_ns is None
        }
        return all(
            (task, slot) in up
            for executor, slot in executors.items()
            if executor.component != ACKER
            for task in executor.tasks
        )

    def cpu(self, file: WorkerFile, window: Window) -> dict[Executor, int]:
        """Return the CPU of each executor's threads in a window."""
        threads = ((key, name) for key, name, _ in window.threads)
        uses = thread_uses(threads, file.tasks, self._by_task)
        used: Counter[Executor] = Counter()
        for key, _, ns in window.threads:
            executor = self._by_task.get(uses[key].first_task)
            if executor is not None and uses[key].kind != HOUSEKEEPING:
                used[executor] += ns
        return used

    def traffic(self, window: Window) -> dict[tuple[str, int, int], int]:
        """Return the tuples from task to task in a window.

        Messages to and from ackers are not recorded. Storm sends one for each root tuple and each ack of a
        tuple that descends from one, to a random acker, so each acker is given an equal share of them.
        """
        sent: dict[tuple[str, int, int], int] = {}
        for source, target, tuples, _ in window.sent:
            sent[self.topology, source, target] = tuples
        if not self._ackers or not self._tracked:
            return sent
        for task, emitted, _, _, acked, failed, _ in window.tasks:
            spout = self._by_task[task].component in self._tracked
            to_acker = emitted if spout else acked + failed
            for number, acker in enumerate(self._ackers):
                sent[self.topology, task, acker] = _part(to_acker, number, len(self._ackers))
                if spout:
                    done = _part(acked + failed, number, len(self._ackers))
                    sent[self.topology, acker, task] = done
        return {pair: tuples for pair, tuples in sent.items() if tuples > 0}

    def failed(self, window: Window) -> int:
        """Return the number of root tuples that failed in a window."""
        return sum(row[5] for row in window.tasks if self._by_task[row[0]].component in self._tracked)


def _part(whole: int, number: int, parts: int) -> int:
    """Return part ``number`` of ``parts``, as equal as integers can be."""
    return (whole * (number + 1)) // parts - (whole * number) // parts


_POLL_SECONDS = 0.05
_PLAYED = (MonitorPlan, OnlineScheduling)


def check_services(services: Sequence[Service]) -> None:
    """Refuse services that act on parts real Storm does not have; `UserError` names the first of them."""
    for service in services:
        if not isinstance(service, _PLAYED):
            message = "this emulator service is not available on real Storm"
            remedy = f"live runs support: {', '.join(kind.__name__ for kind in _PLAYED)}"
            raise UserError(message, field="services", value=type(service).__name__, remedy=remedy)


class _Nimbus:
    """The part of the emulator's Nimbus that services use."""

    up = True

    def __init__(self, policy: Policy, spec: EmulationSpec) -> None:
        self._policy = policy
        self._cluster = spec.cluster
        self.submitted = {plan.topology.id: plan.topology for plan in spec.topologies}
        self.load: Callable[[], MeasuredLoad | None] = lambda: None
        self.listeners: list[Callable[[str], None]] = []

    @property
    def topologies(self) -> dict[str, Topology]:
        view = self._policy.view
        known = {} if view is None else {topology.id: topology for topology in view.topologies}
        return {name: known[name] for name in self.submitted if name in known}

    @property
    def status(self) -> dict[str, Status]:
        return dict.fromkeys(self.topologies, Status.ACTIVE)

    @property
    def present(self) -> Assignment:
        view = self._policy.view
        return Assignment() if view is None else view.present

    def current(self, topology: str) -> SimpleNamespace | None:
        # The placement itself identifies an assignment.
        own = self.present.of_topology(topology)
        return SimpleNamespace(id=own) if own.slots else None

    @property
    def live_cluster(self) -> Cluster:
        view = self._policy.view
        return self._cluster if view is None else view.cluster

    def on_running(self, callback: Callable[[str], None]) -> None:
        self.listeners.append(callback)

    def install(self, assignment: Assignment, reason: str) -> None:
        self._policy.install = self._policy.install.merged(assignment)


class _Control:
    """The part of the emulator's control plane that services use."""

    def __init__(self, nimbus: _Nimbus, spec: EmulationSpec, sample: Callable[[int], WindowSample]) -> None:
        self.clock = VirtualClock()
        self.log = DecisionLog(self.clock)
        self.nimbus = nimbus
        # Each assignment is announced when its workers are ready, so nothing else needs to be watched.
        self.zookeeper = SimpleNamespace(up=True, watch=lambda record, callback: None)
        self._workers: list[SimpleNamespace] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self.fleet = SimpleNamespace(by_id=lambda number: self._workers[number])
        self.cluster = spec.cluster
        self.version = spec.version
        self.seed = spec.seed
        self.endings: list[Callable[[], None]] = []
        self._sample = sample

    def now(self) -> _Control:
        return self

    def sample(self, *, with_traffic: bool = True) -> WindowSample:
        """Return what was measured since the last sample, with traffic but without lengths of queues."""
        return self._sample(self.clock.now_ns)

    def worker_number(self, key: tuple[int, int], slot: Slot) -> int:
        """Return the number of a worker in samples, by its process and start."""
        if key not in self._numbers:
            self._numbers[key] = len(self._workers)
            self._workers.append(SimpleNamespace(slot=slot))
        return self._numbers[key]

    def random(self, purpose: str) -> random.Random:
        return random.Random(f"{self.seed}/{purpose}")

    def on_end(self, callback: Callable[[], None]) -> None:
        self.endings.append(callback)


class LiveServices:
    """Runs services beside a live cluster, for as long as a ``with`` block lasts.

    Args:
        spec: the run, with its services.
        policy: answers Nimbus; receives the measured load and the assignments to install.
        folders: by topology id, the folder its workers write to.
        workers: returns the workers that run now.
        origin_ns: start of the run on CLOCK_MONOTONIC.
    """

    def __init__(
        self,
        spec: EmulationSpec,
        policy: Policy,
        folders: Mapping[str, Path],
        workers: Callable[[], Sequence[LiveWorker]],
        origin_ns: int,
    ) -> None:
        self._services = spec.services
        self._policy = policy
        self._tails = [WorkerTail(plan, spec.version, folders[plan.topology.id]) for plan in spec.topologies]
        self._workers = workers
        self._origin_ns = origin_ns
        self._window_ns = round(spec.window_s * 1e9)
        self._nimbus = _Nimbus(policy, spec)
        self._control = _Control(self._nimbus, spec, self._sample)
        self._slots: dict[int, Slot] = {}
        self._sampled_ns = 0
        self._announced: dict[str, Assignment] = {}
        self._measured: MeasuredLoad | None = None
        self._ended = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="services", daemon=True)

    def __enter__(self) -> LiveServices:
        if self._services:
            self._policy.load = lambda: self._measured
            self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not self._services:
            return
        self._ended.set()
        self._thread.join()
        self._policy.load = lambda: None
        if self._problem is not None and error is None:
            raise self._problem

    @property
    def decisions(self) -> list[Decision]:
        """The services' log entries, on the run's clock."""
        return self._control.log.entries

    def _run(self) -> None:
        try:
            # Everything runs in one thread: the load database belongs to the thread that opens it.
            control = cast(ControlPlane, self._control)
            clock = self._control.clock
            sampler = Sampler(clock, cast(SteppedPlane, self._control), self._window_ns)
            for service in self._services:
                service.start(control, sampler)
            sampler.listen(lambda sample: self._take())
            while not self._ended.is_set():
                clock.run_until(time.monotonic_ns() - self._origin_ns)
                self._ended.wait(_POLL_SECONDS)
            for ending in self._control.endings:
                ending()
        except Exception as error:
            self._problem = error

    def _take(self) -> None:
        """After each window, keep the load for Nimbus's requests and announce topologies that now run."""
        self._measured = self._nimbus.load()
        present = self._nimbus.present
        for tail in self._tails:
            own = present.of_topology(tail.topology)
            if own.slots and own != self._announced.get(tail.topology) and tail.ready(own.slots, self._slots):
                self._announced[tail.topology] = own
                for listener in self._nimbus.listeners:
                    listener(tail.topology)

    def _sample(self, now_ns: int) -> WindowSample:
        for worker in self._workers():
            self._slots[worker.pid] = worker.slot
        cpu: Counter[tuple[int, Executor]] = Counter()
        traffic: Counter[tuple[str, int, int]] = Counter()
        failed: Counter[str] = Counter()
        for tail in self._tails:
            for file, window in tail.read_new():
                slot = self._slots.get(file.pid)
                # A worker's first window includes its start, which is no executor's load.
                if slot is None or window is file.windows[0]:
                    continue
                number = self._control.worker_number((file.pid, file.started_ns), slot)
                for executor, used in tail.cpu(file, window).items():
                    cpu[number, executor] += used
                traffic.update(tail.traffic(window))
                failed[tail.topology] += tail.failed(window)
        start_ns, self._sampled_ns = self._sampled_ns, now_ns
        return WindowSample(start_ns, now_ns, executor_cpu_ns=cpu, traffic=traffic, failed=failed)
