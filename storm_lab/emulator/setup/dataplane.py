"""The data plane's interface to the control plane: run until a time, start and stop workers, read counters.

The compiled kernel, which `setup.kernel_runner` runs, does the work. Workers are numbered through the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from storm_lab.emulator.attempts import Attempts, BackOff
from storm_lab.emulator.kernel import acking, cpu, lifecycle, network, source_queue
from storm_lab.emulator.kernel.main_loop import add_backlog
from storm_lab.emulator.kernel.polling import charge_all_polls, set_slowdown
from storm_lab.emulator.plane import Loss, WindowSample
from storm_lab.emulator.setup.flow import shares
from storm_lab.emulator.setup.kernel_runner import KernelRunner
from storm_lab.emulator.source import SourceKind
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.model import ACKER, Executor, Node, Slot
from storm_lab.tuplelog.buffer import Recorder


class DataPlane(KernelRunner):
    """Plays tuples through workers on a cluster, in virtual time.

    Of the specification it reads what concerns tuples. ``max_messages`` bounds memory: if more tuples than
    that are queued at once, the run ends with :class:`EmulationStoppedError`.
    """

    def __init__(
        self, spec: EmulationSpec, recorder: Recorder | None = None, *, max_messages: int = 20_000_000
    ) -> None:
        super().__init__(spec, recorder, max_messages)
        self._spec = spec
        self._back_off = BackOff.of(spec.version, spec.settings)
        self._attempts: dict[tuple[int, int], Attempts] = {}
        """By link that is cut, from node to node: the attempts of its senders to connect again."""
        self._plans = {plan.topology.id: plan for plan in spec.topologies}
        self._last_view: tuple[Mapping[Executor, int], tuple[int, ...], Mapping[str, set[int]]] | None = None
        self._thread_count = 0
        self._unprepared: set[int] = set()
        self._readers: Counter[int] = Counter()
        self._node_threads: Counter[str] = Counter()
        self._processes: Counter[str] = Counter()
        # Position of task 0 in each routing table, by its executors; the first table is empty.
        self._routes: dict[tuple[int, ...], int] = {(): 0}
        self._route_end = len(self.kernel.route)
        self._start_callers()

    def set_starting(self, node: Node, threads: int) -> None:
        """Set how many threads of starting JVMs want CPU on a node from now on."""
        cpu.set_starting(self.kernel.state, self._names.node_index[node.id], threads)
        self._apply_changes()

    def cpu_time_ns(self, node: Node) -> int:
        """CPU that a thread of a starting JVM would have had on the node so far."""
        return int(cpu.cpu_time(self.kernel.state, self._names.node_index[node.id]))

    def start_worker(
        self, slot: Slot, topology_id: str, executors: Sequence[Executor], *, prepared: bool = True
    ) -> int:
        """Start a worker process that listens at once; returns its number.

        It reaches no executor until :meth:`connect`, and its spouts are inactive until :meth:`activate`. If
        its bolts are not ``prepared`` yet, what they receive waits until :meth:`prepare`.
        """
        self._reserve(1, executors, slot.node)
        worker = len(self.slots)
        node, topology = self._names.node_index[slot.node], self._names.topologies.index(topology_id)
        lifecycle.open_worker(self.kernel.state, worker, node, topology, self._thread_count)
        self._thread_count += lifecycle.THREADS_PER_WORKER
        self.slots.append(slot)
        self._processes[slot.node] += 1
        self._update_slowdown(slot.node)
        if not prepared:
            self._unprepared.add(worker)
        for executor in executors:
            self._open_executor(worker, executor)
        self._apply_changes()
        return worker

    def prepare(self, worker: int) -> None:
        """Prepare the worker's bolts, as in `Plane.prepare`."""
        super().prepare(worker)
        self._unprepared.discard(worker)
        for index in self._executors[worker].values():
            lifecycle.prepare_executor(self.kernel.state, index)
        self._apply_changes()

    def start_executor(self, worker: int, executor: Executor) -> None:
        """Start one executor thread in a running worker (N-Storm's thread-level update)."""
        self._reserve(0, [executor], self.slots[worker].node)
        self._open_executor(worker, executor)
        self._apply_changes()

    def _reserve(self, workers: int, executors: Sequence[Executor], node: str) -> None:
        k = self.kernel
        k.grow("worker", len(self.slots) + workers)
        k.grow("executor", len(self.stays) + len(executors))
        new = workers * lifecycle.THREADS_PER_WORKER + len(executors) * lifecycle.THREADS_PER_EXECUTOR
        k.grow_threads(self._thread_count + new)
        self._node_threads[node] += new
        k.grow_bursts(self._node_threads[node])
        for executor in executors:
            source = self._names.source_of(executor)
            if source >= 0:
                self._readers[source] += 1
                k.grow_idle(self._readers[source])
        # For ticks.
        self._reserve_messages(2 * sum(len(e.tasks) for e in executors) + 64)

    def _open_executor(self, worker: int, executor: Executor) -> None:
        names = self._names
        key = (executor.topology, executor.component)
        first = names.first_task[key] + executor.start - int(self.kernel.task[names.first_task[key]].id)
        lifecycle.open_executor(
            self.kernel.state,
            len(self.stays),
            worker,
            names.component_index[key],
            first,
            len(executor.tasks),
            names.source_of(executor),
            self._thread_count,
            int(worker not in self._unprepared),
        )
        self._thread_count += lifecycle.THREADS_PER_EXECUTOR
        self._last_view = None
        self._begin_stay(worker, executor)

    def stop_worker(self, worker: int) -> Loss:
        """Kill a worker process now; returns what was lost with it."""
        losses = [self._close_executor(worker, executor) for executor in list(self._executors[worker])]
        losses.append(Loss(*lifecycle.close_worker(self.kernel.state, worker)))
        slot = self.slots[worker]
        self._node_threads[slot.node] -= lifecycle.THREADS_PER_WORKER
        self._processes[slot.node] -= 1
        self._update_slowdown(slot.node)
        self._apply_changes()
        return Loss(*(sum(place) for place in zip(*losses, strict=True)))

    def stop_executor(self, worker: int, executor: Executor) -> Loss:
        """Kill one executor thread of a running worker; returns what was lost with it."""
        loss = self._close_executor(worker, executor)
        self._apply_changes()
        return loss

    def _close_executor(self, worker: int, executor: Executor) -> Loss:
        # Log the roots that die with a spout, and return their lines to a source that replays.
        index = self._executors[worker][executor]
        self._end_stay(worker, executor)
        self._last_view = None
        self._reserve_messages(4 * acking.MAX_LOST_ROOTS)
        source_queue.return_taken_line(self.kernel.state, index)
        lost = 1
        while lost:
            self._write_rows()
            self._reserve_messages(4 * acking.MAX_LOST_ROOTS)
            lost = acking.lose_pending(self.kernel.state, index)
        self._write_rows()
        loss = Loss(*lifecycle.close_executor(self.kernel.state, index))
        self._node_threads[self.slots[worker].node] -= lifecycle.THREADS_PER_EXECUTOR
        self._release_source(executor)
        return loss

    def _release_source(self, executor: Executor) -> None:
        """Release an ended spout's source; a log's next reader begins at the stored offset, others go on."""
        source = self._names.source_of(executor)
        if source < 0:
            return
        self._readers[source] -= 1
        if not any(executor in executors for executors in self._executors.values()):
            acked = self._offsets.forget(source)
            if acked is not None:
                self._reserve_messages(2 * len(acked) + 64)
                source_queue.rewind(self.kernel, source, acked)

    def connect(self, worker: int, view: Mapping[Executor, int], *, connecting: bool = False) -> int:
        """Set where executors run, as ``worker`` sees it; returns how many waiting tuples this releases."""
        numbers, hosts = self._resolve_view(view)
        if numbers not in self._routes:
            self._routes[numbers], self._route_end = lifecycle.add_route(
                self.kernel, self._route_end, numbers
            )
        w = self.kernel.worker[worker]
        w.route, w.connecting = self._routes[numbers], connecting
        w.connections = len(self._receivers(worker, hosts) - {worker})
        delivered = int(lifecycle.deliver_parked(self.kernel.state, worker))
        self._apply_changes()
        return delivered

    def _resolve_view(self, view: Mapping[Executor, int]) -> tuple[tuple[int, ...], Mapping[str, set[int]]]:
        """Return the numbers of a view's executors, in order, and the workers that run each component."""
        # Many workers get the same view one after the other.
        if self._last_view is None or self._last_view[0] is not view:
            # A sender that has not noticed the end of a node's workers still sends to their executors.
            numbers = [self._numbers[worker, executor] for executor, worker in sorted(view.items())]
            hosts: defaultdict[str, set[int]] = defaultdict(set)
            for executor, worker in view.items():
                hosts[executor.component].add(worker)
            self._last_view = (view, tuple(numbers), hosts)
        return self._last_view[1:]

    def _receivers(self, worker: int, hosts: Mapping[str, set[int]]) -> set[int]:
        """Return the workers to which a worker has connections: those that run its executors' targets."""
        senders = {executor.component for executor in self._executors[worker]}
        topology = self._plans[self._names.topologies[int(self.kernel.worker[worker].topology)]].topology
        wanted = {c.id for c in topology.components if any(s.source in senders for s in c.inputs)} | {ACKER}
        if ACKER in senders:
            wanted |= {spout.id for spout in topology.spouts}
        return {other for component in wanted for other in hosts.get(component, ())}

    def dropped(self, worker: int) -> int:
        """Tuples that the worker has dropped so far because it could not reach their receivers."""
        return int(self.kernel.worker[worker].dropped)

    def has_parked(self, worker: int) -> bool:
        """Whether tuples wait in the worker for receivers that it does not reach."""
        return int(self.kernel.worker[worker].parked_head) >= 0

    def full_heaps(self) -> Mapping[int, int]:
        """Workers that only collect garbage because queued tuples fill their heaps, and since when."""
        if self.kernel.s[0].full_heaps == 0:
            return {}
        since = self.kernel.worker["full_since"]
        return {int(worker): int(since[worker]) for worker in np.flatnonzero(since)}

    def charge(self, worker: int, cpu_ns: int) -> None:
        """Charge a worker with CPU for management (a poll, a sync), besides its threads."""
        add_backlog(self.kernel.state, worker, cpu_ns)
        self._apply_changes()

    def hold_sending(self, worker: int, duration_ns: int) -> None:
        """Keep a worker's transfer thread from sending for ``duration_ns`` from now on."""
        held_until = self.kernel.worker["held_until"]
        held_until[worker] = max(int(held_until[worker]), self.now_ns + duration_ns)

    def activate(self, worker: int, active: bool) -> None:
        """Switch the worker's spouts on or off: whether they call nextTuple."""
        for index in self._executors[worker].values():
            source_queue.set_active(self.kernel.state, index, int(active))
        self._apply_changes()

    def sample(self, *, with_traffic: bool = True) -> WindowSample:
        """Return the counters since the previous sample; write the traffic and CPU rows."""
        self._count_cpu()
        return self._log.sample(self.kernel, with_traffic=with_traffic)

    def _count_cpu(self) -> None:
        """Count the CPU that polls and starting JVMs have used so far."""
        if self.kernel.cost[0].empty_turn > 0 or self.kernel.cost[0].room_poll > 0:
            charge_all_polls(self.kernel.state, self._thread_count)
        for node in np.flatnonzero(self.kernel.node["starting"]):
            cpu.cpu_time(self.kernel.state, int(node))

    def set_node_speed(self, node: str, factor: float) -> None:
        """Slow a node down (factor below 1) or back to normal (1)."""
        row = self.kernel.node[self._names.node_index[node]]
        self._set_slowdown(node, row.slowdown, round(1024 / factor))
        self._apply_changes()

    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None:
        """Cut or delay the link between two nodes in both directions; without either, restore it."""
        a, b = self._names.node_index[node_a], self._names.node_index[node_b]
        extra_delay_ns = self._spec.bundle.scaled_delay_ns(extra_delay_ns)
        for link in ((a, b), (b, a)):
            attempts = self._attempts.pop(link, None)
            if cut:
                seed = f"{self._spec.seed}/link/{link}/{self.now_ns}"
                attempts = self._attempts[link] = attempts or Attempts(self._back_off, self.now_ns, seed)
            network.set_link(self.kernel, *link, cut=cut, extra_delay_ns=extra_delay_ns, attempts=attempts)

    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None:
        """Change the rate of a RATE source from now on; lines that have arrived stay queued."""
        key = (topology_id, spout)
        tasks = [len(reader.tasks) for reader in self._names.readers.get(key, ())] or [1]
        rates = shares(round(rate_per_s / self._spec.bundle.size * 1000), tasks)
        begin = round(self._plans[topology_id].submit_s * NS_PER_S)
        for source, rate in enumerate(rates, start=self._names.source_index[key]):
            source_queue.set_rate(self.kernel.state, source, rate, begin)
        self._apply_changes()

    def set_max_pending(self, topology_id: str, limit: int | None) -> None:
        """Change max spout pending, per spout task; None means no limit."""
        self.kernel.topology[self._names.topologies.index(topology_id)].max_pending = limit or 0

    def acked_roots(self, topology_id: str) -> int:
        """Root tuples of a topology acked since the start of the run."""
        return self._log.count_roots(self.kernel, topology_id, "acked")

    def committed_lines(self, topology_id: str) -> int:
        """Lines of a topology's logs that are final; `UserError` if none of its spouts reads a log."""
        return self._offsets.committed_lines(topology_id)

    def finish(self) -> None:
        """Write the rows still in the buffers and the roots still in flight."""
        k = self.kernel
        if self.now_ns > self._next_count - self._count_window_ns:
            self._log.write_counts(k, self._next_count - self._count_window_ns, self.now_ns)
        self._write_rows()
        self._log.write_pending(k)
        self._count_cpu()
        self._log.sample(k, with_traffic=False)
        self._log.write_placements()

    def _update_slowdown(self, node_id: str) -> None:
        slow = self._spec.cost.slowdown(self._spec.cluster.node(node_id), self._processes[node_id])
        row = self.kernel.node[self._names.node_index[node_id]]
        self._set_slowdown(node_id, round(1024 * slow), row.fault_slowdown)

    def _set_slowdown(self, node_id: str, slowdown: int, fault_slowdown: int) -> None:
        index = self._names.node_index[node_id]
        set_slowdown(self.kernel.state, index, slowdown, fault_slowdown, self._thread_count)

    def _start_callers(self) -> None:
        """Make the first calls of closed loops' callers."""
        for (topology_id, spout), index in self._names.source_index.items():
            source = self._plans[topology_id].sources[spout]
            if source.kind is SourceKind.CLOSED_LOOP:
                self._reserve_messages(2 * source.calls)
                for _ in range(source.calls):
                    source_queue.return_now(self.kernel.state, index, -1, 0)
