"""All worker processes of the cluster: launch, readiness, heartbeats, refreshes, end."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from storm_lab.emulator.control.clock import SECOND, Event, Rank, next_wake_ns, ns
from storm_lab.emulator.control.decision_log import Fact
from storm_lab.emulator.control.worker import JvmStarts, WorkerProcess
from storm_lab.emulator.control.zookeeper import Record, StoredAssignment
from storm_lab.model import Executor, Slot
from storm_lab.model.version import V2_0_0

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane


class Fleet:
    """All worker processes, numbered by launch; numbers are never reused."""

    def __init__(self, control: ControlPlane) -> None:
        self._control = control
        self._processes: list[WorkerProcess] = []
        self._by_id: dict[int, WorkerProcess] = {}
        self._timers: dict[int, dict[Callable[[WorkerProcess], int], Event]] = {}
        """By process: the recurring turns of each of its duties."""
        clock, least_ns = control.clock, ns(control.times.jvm_start_s)
        self._starts = {
            node.id: JvmStarts(
                clock, control.plane, node, least_ns, control.cost.worker_start_ns(node, control.version)
            )
            for node in control.cluster.nodes
        }
        self._silent: set[int] = set()
        # As often as workers give heartbeats.
        clock.every(SECOND, Rank.PROCESS, "heap", self._watch_heaps)
        if control.version < V2_0_0:
            # Workers of 2.x re-read the assignment by their timer alone (WorkerState.refreshConnections).
            control.zookeeper.watch(Record.ASSIGNMENT, partial(self._after_watch, read=self._refresh_due))
        control.zookeeper.watch(Record.STATUS, partial(self._after_watch, read=self.read_status))

    @property
    def processes(self) -> tuple[WorkerProcess, ...]:
        """All processes that have not ended, including starting ones, in order of launch."""
        return tuple(process for process in self._processes if process.ended_ns is None)

    def by_id(self, worker: int) -> WorkerProcess:
        """Return the process with this number in the data plane, even an ended one; `KeyError` if none."""
        return self._by_id[worker]

    def launch(self, slot: Slot, stored: StoredAssignment, delay_ns: int = 0) -> WorkerProcess:
        """Start a JVM after a delay; it is ready when it has had its CPU and ``jvm_start_s`` is over."""
        control = self._control
        process = WorkerProcess(
            number=len(self._processes),
            slot=slot,
            topology=stored.topology,
            executors=stored.workers[slot],
            generation=stored.id,
            launched_ns=control.clock.now_ns + delay_ns,
            generations={stored.id},
        )
        self._processes.append(process)
        if delay_ns > 0:
            control.clock.after(delay_ns, Rank.PROCESS, process.actor, partial(self._start, process))
        else:
            self._start(process)
        return process

    def _start(self, process: WorkerProcess) -> None:
        if process.ended_ns is None:
            control = self._control
            sigma = math.sqrt(math.log1p(control.cost.jvm_start_cv**2))
            part = control.random(f"jvm/{process.number}").lognormvariate(-sigma * sigma / 2, sigma)
            self._starts[process.slot.node].begin(process.number, partial(self._ready, process), part)

    def _ready(self, process: WorkerProcess) -> None:
        if process.ended_ns is not None:
            return
        control = self._control
        now = control.clock.now_ns
        process.ready_ns = now
        process.id = control.plane.now().start_worker(
            process.slot, process.topology, process.executors, prepared=False
        )
        self._by_id[process.id] = process
        executors = [str(e) for e in process.executors]
        facts: dict[str, Fact] = {"worker": process.id, "topology": process.topology, "executors": executors}
        slot, generation = str(process.slot), process.generation
        control.log.note(process.actor, "worker-ready", slot, "", generation=generation, **facts)
        idle_s = control.migration.spout_idle_s(process)
        process.idle_until_ns = now + ns(idle_s)
        if idle_s > 0:
            update_spouts = partial(control.connections.update_spouts, process)
            control.clock.at(process.idle_until_ns, Rank.WORKER, process.actor, update_spouts)
        control.connections.add(process)
        control.migration.worker_ready(process)
        self.refresh(process)
        self._send_heartbeat(process)
        timers = control.timers
        duties: list[tuple[float, Callable[[WorkerProcess], int]]] = [
            (timers.task_heartbeat_s, self._send_heartbeat),
            (timers.refresh_s, self._refresh_due),
        ]
        if timers.statistics_s > 0:
            duties.append((timers.statistics_s, self._write_statistics))
        self._timers[process.number] = {
            duty: control.clock.every(
                ns(period_s), Rank.WORKER, process.actor, partial(duty, process), drifts=timers.timers_drift
            )
            for period_s, duty in duties
        }
        control.supervisors[process.slot.node].on_first_heartbeat()

    def _send_heartbeat(self, process: WorkerProcess) -> int:
        control = self._control
        if process.silent_since_ns is not None:
            return 0
        beats = control.zookeeper.task_beats.setdefault(process.slot, {})
        record = partial(beats.update, dict.fromkeys(process.executors, control.clock.now_ns))
        if control.timers.heartbeats_by_thrift:
            control.zookeeper.apply_now(Record.TASK_BEAT, process.topology, record)
            return 0
        return control.zookeeper.write(process.actor, Record.TASK_BEAT, process.topology, record)

    def _write_statistics(self, process: WorkerProcess) -> int:
        return self._control.zookeeper.write(process.actor, Record.STATISTICS, process.topology, lambda: None)

    def refresh(self, process: WorkerProcess) -> None:
        """Let a worker re-read where executors run and whether its topology is active."""
        control = self._control
        process.topology_active = control.zookeeper.active.get(process.topology, False)
        table = control.migration.table_for(process)
        if table is not None:
            control.connections.refresh(process, table)

    def _refresh_due(self, process: WorkerProcess) -> int:
        control = self._control
        if not control.zookeeper.up:
            return 0
        if control.migration.moves_threads:
            self.read_status(process)
            return 0
        self.refresh(process)
        return ns(control.times.refresh_hold_s)

    def _after_watch(self, topology_id: str, read: Callable[[WorkerProcess], object]) -> None:
        """Let a topology's workers ``read`` what has changed when their timers are awake next.

        Up to 0.9 that timer sleeps until its next refresh, which reads everything anyway.
        """
        clock, timers = self._control.clock, self._control.timers
        if timers.timer_sleep_s is None:
            return

        def awake(process: WorkerProcess) -> None:
            if process.running and self._control.zookeeper.up:
                read(process)

        for process in self._control.connections.running(topology_id):
            turns = self._timers[process.number][self._refresh_due]
            wake_ns = next_wake_ns(clock.now_ns, turns, ns(timers.refresh_s), timers.timer_sleep_s)
            clock.at(wake_ns, Rank.WORKER, process.actor, partial(awake, process))

    def read_status(self, process: WorkerProcess) -> None:
        """Let a worker read whether its topology is active."""
        process.topology_active = self._control.zookeeper.active.get(process.topology, False)
        self._control.connections.update_spouts(process)

    def _watch_heaps(self) -> None:
        """Note which workers have a heap full of queued tuples: they only collect garbage and fall silent.

        On live Storm 0.9.2 others end with ``OutOfMemoryError``, which is not played: up to 1.x supervisors
        check heartbeats only.
        """
        control = self._control
        full = control.plane.now().full_heaps()
        for worker in sorted(self._silent - full.keys()):
            process = self._by_id[worker]
            if process.running:
                process.silent_since_ns = None
                control.log.note(process.actor, "heap-free", str(process.slot), worker=worker)
        for worker in sorted(full.keys() - self._silent):
            process = self._by_id[worker]
            process.silent_since_ns = full[worker]
            why = "queued tuples fill its heap: it only collects garbage and sends no heartbeats"
            facts: dict[str, Fact] = {"topology": process.topology, "since_ns": full[worker]}
            control.log.note(process.actor, "heap-full", str(process.slot), why, worker=worker, **facts)
        self._silent = set(full)

    def end(self, process: WorkerProcess, *, node_failed: bool = False) -> dict[str, int]:
        """End a process now, alone or with its node; return what was lost with it, as facts for the log."""
        if process.ended_ns is not None:
            return {}
        control = self._control
        now = control.clock.now_ns
        was_running = process.running
        process.ended_ns = now
        for turns in self._timers.pop(process.number, {}).values():
            turns.cancel()
        if not was_running:
            self._starts[process.slot.node].end(process.number)
            return {}
        loss = control.plane.now().stop_worker(process.id)
        dropped = control.connections.newly_dropped(process)
        control.connections.remove(process, node_failed=node_failed)
        return {**loss.facts, "lost_unreached": dropped} if dropped else loss.facts

    def crash(self, process: WorkerProcess, actor: str, reason: str, *, node_failed: bool = False) -> None:
        """End a process that dies without its supervisor's action, and log it."""
        worker = process.id
        loss = self.end(process, node_failed=node_failed)
        control = self._control
        control.log.note(
            actor, "worker-crash", str(process.slot), reason, topology=process.topology, worker=worker, **loss
        )

    def charge_node(self, node: str, cpu_ns: int) -> None:
        """Charge a supervisor's CPU to the housekeeping of the node's longest-running worker."""
        for process in self._processes:
            if process.running and process.slot.node == node:
                self._control.plane.now().charge(process.id, cpu_ns)
                return

    def start_executor(self, process: WorkerProcess, executor: Executor) -> None:
        """Start one executor's thread in a running worker."""
        control = self._control
        control.plane.now().start_executor(process.id, executor)
        process.executors = tuple(sorted((*process.executors, executor)))
        if process.spouts_on:
            # A new spout starts inactive, even if the worker's other spouts are active.
            control.plane.now().activate(process.id, True)

    def stop_executor(self, process: WorkerProcess, executor: Executor) -> dict[str, int]:
        """Stop one executor's thread in a running worker; return what was lost with it."""
        control = self._control
        loss = control.plane.now().stop_executor(process.id, executor)
        process.executors = tuple(e for e in process.executors if e != executor)
        return loss.facts
