"""Converts the kernel's counters and row buffers to the tables of the tuple log.

The kernel writes integers into fixed buffers. This module replaces them by names and passes them to the
recorder. The load monitors read their samples here too, so they see the same values as the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.plane import Stay, WindowSample
from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.names import NS_PER_MS, Names
from storm_lab.model import Executor, Slot
from storm_lab.tuplelog.buffer import Coded, Recorder

_MOST_ATTEMPTS = np.iinfo(np.int16).max


class Logbook:
    """Writes the rows of one run and keeps the counters of the current windows.

    ``slots`` and ``stays`` are the plane's lists of worker processes and executor instances, which grow.
    """

    def __init__(
        self, names: Names, recorder: Recorder | None, slots: Sequence[Slot], stays: Sequence[Stay]
    ) -> None:
        self._names = names
        self._recorder = recorder
        self._slots = slots
        self._stays = stays
        self._last_sample = 0
        self._finished: Counter[tuple[str, str]] = Counter()
        """Root tuples that finished in earlier count windows, by topology and outcome."""
        self._failed_before: dict[str, int] = dict.fromkeys(names.topologies, 0)
        self._components = [component for _, component in names.component_index]

    def write_rows(self, k: Kernel) -> None:
        """Write the kernel's finished roots and executions, and empty its buffers."""
        s = k.s[0]
        self._write_roots(k, k.root_row[: int(s.root_rows)])
        rows = k.execution_row[: int(s.execution_rows)]
        if self._recorder is not None and len(rows):
            component = k.task["component"][rows["task"]]
            node = np.array([self._names.node_index[slot.node] for slot in self._slots], np.int32)
            source = rows["source_task"]
            self._recorder.append(
                "executions",
                {
                    "root_id": rows["number"],
                    "topology": Coded(k.component["topology"][component], self._names.topologies),
                    "component": Coded(component, self._components),
                    "task": k.task["id"][rows["task"]],
                    "source_task": np.where(source >= 0, k.task["id"][source], -1),
                    "worker": rows["worker"],
                    "node": Coded(node[rows["worker"]], self._names.nodes),
                    "locality": Coded(rows["locality"], kinds.LOCALITY_NAMES),
                    "enqueue_ns": rows["enqueued"],
                    "start_ns": rows["started"],
                    "end_ns": rows["ended"],
                },
            )
        s.root_rows = 0
        s.execution_rows = 0

    def _write_roots(self, k: Kernel, rows: NDArray[Any]) -> None:
        if self._recorder is None or not len(rows):
            return
        done = rows["outcome"] != kinds.PENDING
        self._recorder.append(
            "roots",
            {
                "root_id": rows["number"],
                "topology": Coded(rows["topology"], self._names.topologies),
                "spout_task": k.task["id"][rows["task"]],
                "line": rows["line"],
                "attempt": np.minimum(rows["attempt"], _MOST_ATTEMPTS).astype(np.int16),
                "emit_ns": rows["emitted"],
                "complete_ns": np.where(done, rows["completed"], -1),
                "outcome": Coded(rows["outcome"], kinds.OUTCOME_NAMES),
                "latency_ns": np.where(done, rows["latency"], -1),
                "sleep_ns": rows["sleep"],
            },
        )

    def write_pending(self, k: Kernel) -> None:
        """Write the roots still in flight, in order of their numbers."""
        waiting = k.root[k.root["executor"] >= 0]
        waiting = waiting[np.argsort(waiting["number"], kind="stable")]
        rows = np.zeros(len(waiting), k.root_row.dtype)
        for name in ("number", "task", "line", "attempt", "emitted", "sleep"):
            rows[name] = waiting[name]
        rows["topology"] = k.executor["topology"][waiting["executor"]]
        self._write_roots(k, rows)

    def count_roots(self, k: Kernel, topology_id: str, outcome: str) -> int:
        """Root tuples of a topology since the start of the run that were ``acked`` or ``failed``."""
        of_topology = k.component["topology"] == self._names.topologies.index(topology_id)
        spouts = of_topology & (k.component["is_spout"] != 0)
        present = int(k.task[outcome][spouts[k.task["component"]]].sum())
        return self._finished[topology_id, outcome] + present

    def write_counts(self, k: Kernel, start_ns: int, end_ns: int) -> None:
        """Write and clear the tasks' counters of one window; tasks without activity get no row."""
        t = k.task
        counters = ("emitted", "transferred", "executed", "acked", "failed", "execute")
        busy = np.flatnonzero(np.any([t[name] != 0 for name in counters], axis=0))
        component = t["component"][busy]
        topology = k.component["topology"][component]
        for key in product(self._names.topologies, ("acked", "failed")):
            self._finished[key] = self.count_roots(k, *key)
        if self._recorder is not None and len(busy):
            self._recorder.append(
                "counts",
                {
                    "start_ns": np.full(len(busy), start_ns),
                    "end_ns": np.full(len(busy), end_ns),
                    "topology": Coded(topology, self._names.topologies),
                    "component": Coded(component, self._components),
                    "task": t["id"][busy],
                    **{name: t[name][busy] for name in counters[:-1]},
                    "execute_ns": t["execute"][busy],
                },
            )
        for name in counters:
            t[name] = 0

    def sample(self, k: Kernel, *, with_traffic: bool) -> WindowSample:
        """Read and clear the monitors' counters; write the traffic and CPU rows of the window.

        The sample contains traffic only if ``with_traffic``.
        """
        start, end = self._last_sample, int(k.s[0].now)
        self._last_sample = end
        executor_cpu: dict[tuple[int, Executor], int] = {}
        node_cpu = dict.fromkeys(self._names.nodes, 0)
        threads = np.flatnonzero(k.thread["cpu"])
        used = (k.thread[name][threads].tolist() for name in ("cpu", "worker", "executor"))
        for cpu, worker, executor in zip(*used, strict=True):
            node_cpu[self._slots[worker].node] += cpu
            if executor >= 0:
                key = (worker, self._stays[executor].executor)
                executor_cpu[key] = executor_cpu.get(key, 0) + cpu
        for node, used_ns in zip(self._names.nodes, k.node["starting_cpu"].tolist(), strict=True):
            node_cpu[node] += used_ns
        self._write_cpu(k, threads, start, end)
        k.node["starting_cpu"] = 0
        traffic = self._read_traffic(k, start, end, with_traffic)
        lengths = k.thread["length"][k.executor["main_thread"][: len(self._stays)]].tolist()
        queued = {
            (stay.worker, stay.executor): length
            for stay, length in zip(self._stays, lengths, strict=True)
            if stay.end_ns is None
        }
        failed = {name: self.count_roots(k, name, "failed") for name in self._names.topologies}
        newly_failed = {name: total - self._failed_before[name] for name, total in failed.items()}
        self._failed_before = failed
        k.thread["cpu"] = 0
        return WindowSample(start, end, executor_cpu, node_cpu, traffic, newly_failed, queued)

    def _write_cpu(self, k: Kernel, threads: NDArray[np.intp], start: int, end: int) -> None:
        """Write the CPU of threads, and by node that of starting JVMs, as they are not workers yet."""
        nodes = np.flatnonzero(k.node["starting_cpu"])
        rows, starting = len(threads) + len(nodes), len(nodes)
        if self._recorder is None or not rows:
            return
        workers = k.thread["worker"][threads].tolist()
        owners = k.thread["executor"][threads]
        own = [self._stays[i].executor if i >= 0 else None for i in owners]
        topologies = [self._names.topologies[t] for t in k.worker["topology"][workers]]
        cpu_ns = np.concatenate((k.thread["cpu"][threads], k.node["starting_cpu"][nodes]))
        columns = {
            "start_ns": np.full(rows, start),
            "end_ns": np.full(rows, end),
            "node": [self._slots[w].node for w in workers] + [self._names.nodes[n] for n in nodes],
            "topology": topologies + [""] * starting,
            "worker": np.array(workers + [-1] * starting, np.int32),
            "component": [e.component if e else "" for e in own] + [""] * starting,
            "task": np.array([e.start if e else -1 for e in own] + [-1] * starting, np.int32),
            "thread": [kinds.THREAD_NAMES[kind] for kind in k.thread["kind"][threads]]
            + [kinds.STARTING] * starting,
            "cpu_ms": cpu_ns / NS_PER_MS,
        }
        self._recorder.append("cpu", columns)

    def _read_traffic(self, k: Kernel, start: int, end: int, read: bool) -> dict[tuple[str, int, int], int]:
        # Vectorised: a wide topology has hundreds of thousands of pairs of tasks.
        used = np.flatnonzero(k.traffic["tuples"])
        if not len(used):
            return {}
        # In order of pairs, then localities.
        used = used[np.argsort(used % k.s[0].task_pairs, kind="stable")]
        locality, pair = np.divmod(used, k.s[0].task_pairs)
        tuples, sizes = (k.traffic[name][used].astype(np.int64) for name in ("tuples", "bytes"))
        k.traffic[used] = 0
        block = np.searchsorted(k.pair["first"], pair, side="right") - 1
        sender = np.repeat(np.arange(len(k.component)), k.component["pairs"])[block]
        receiver = k.pair["component"][block]
        width = k.component["tasks"][receiver]
        offset = pair - k.pair["first"][block]
        source = k.component["first_task"][sender] + offset // width
        target = k.component["first_task"][receiver] + offset % width
        if self._recorder is not None:
            self._write_traffic(k, np.stack([source, target, locality, tuples, sizes]), start, end)
        if not read:
            # A wide topology would have hundreds of thousands of entries.
            return {}
        # Sum over all distances; the pairs are in order.
        at = np.flatnonzero(np.diff(pair, prepend=-1))
        topologies = map(self._names.topologies.__getitem__, k.component["topology"][sender[at]].tolist())
        tasks = (k.task["id"][end[at]].tolist() for end in (source, target))
        sums = np.add.reduceat(tuples, at).tolist()
        return dict(zip(zip(topologies, *tasks, strict=True), sums, strict=True))

    def _write_traffic(self, k: Kernel, rows: NDArray[np.int64], start: int, end: int) -> None:
        assert self._recorder is not None
        source, target, locality, tuples, sizes = rows
        component = k.task["component"]
        self._recorder.append(
            "traffic",
            {
                "start_ns": np.full(len(source), start),
                "end_ns": np.full(len(source), end),
                "topology": Coded(k.component["topology"][component[source]], self._names.topologies),
                "source_component": Coded(component[source], self._components),
                "source_task": k.task["id"][source],
                "target_component": Coded(component[target], self._components),
                "target_task": k.task["id"][target],
                "locality": Coded(locality, kinds.LOCALITY_NAMES),
                "tuples": tuples,
                "bytes": sizes,
            },
        )

    def write_placements(self) -> None:
        """Write where each executor instance ran, and from when to when."""
        if self._recorder is None or not self._stays:
            return
        stays = self._stays
        self._recorder.append(
            "placements",
            {
                "start_ns": np.array([stay.start_ns for stay in stays]),
                "end_ns": np.array([-1 if stay.end_ns is None else stay.end_ns for stay in stays]),
                "topology": [stay.executor.topology for stay in stays],
                "component": [stay.executor.component for stay in stays],
                "start_task": np.array([stay.executor.start for stay in stays], np.int32),
                "end_task": np.array([stay.executor.end for stay in stays], np.int32),
                "worker": np.array([stay.worker for stay in stays], np.int32),
                "node": [stay.slot.node for stay in stays],
                "port": np.array([stay.slot.port for stay in stays], np.int32),
            },
        )
