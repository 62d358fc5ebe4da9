"""A data plane through which nothing flows: for questions about coordination alone.

Whether a thousand workers keep their heartbeats depends on supervisors, workers and ZooKeeper, and on no
tuple. Playing the control plane on this plane answers it without a thousand idle JVMs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from storm_lab.emulator.loss import Loss
from storm_lab.model import Cluster, Executor, Slot
from storm_lab.tuplelog.recorder import Recorder


@dataclass(frozen=True, slots=True)
class IdleSample:
    """Counters of a window in which nothing happened."""

    start_ns: int
    end_ns: int
    executor_cpu_ns: Mapping[tuple[int, Executor], int] = field(default_factory=dict)
    worker_cpu_ns: Mapping[int, int] = field(default_factory=dict)
    node_cpu_ns: Mapping[str, int] = field(default_factory=dict)
    traffic: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[tuple[int, Executor], int] = field(default_factory=dict)


class IdlePlane:
    """Workers come and go; time passes; there is nothing to count."""

    def __init__(self, cluster: Cluster | None = None, recorder: Recorder | None = None) -> None:
        self._nodes = cluster.nodes if cluster else ()
        self._recorder = recorder
        self.now_ns = 0
        self.workers = 0
        """Worker processes started so far."""
        self._last_sample = 0

    def run_until(self, time_ns: int) -> None:
        """Let time pass."""
        self.now_ns = time_ns

    def start_worker(
        self, slot: Slot, topology_id: str, executors: Sequence[Executor], *, generation: int = 0
    ) -> int:
        """Number the new process."""
        self.workers += 1
        return self.workers - 1

    def stop_worker(self, worker: int) -> Loss:
        """Nothing is lost."""
        return Loss()

    def start_executor(self, worker: int, executor: Executor) -> None:
        """Nothing to start."""

    def stop_executor(self, worker: int, executor: Executor) -> Loss:
        """Nothing is lost."""
        return Loss()

    def connect(self, worker: int, view: Mapping[Executor, int], *, connecting: bool = False) -> int:
        """Nothing had waited for the connection."""
        return 0

    def dropped(self, worker: int) -> int:
        """Nothing is sent."""
        return 0

    def waits(self, worker: int) -> bool:
        """Nothing is sent."""
        return False

    def activate(self, worker: int, active: bool) -> None:
        """Spouts have nothing to emit."""

    def sample(self) -> IdleSample:
        """An empty window since the previous one."""
        start, self._last_sample = self._last_sample, self.now_ns
        return IdleSample(start, self.now_ns)

    def set_node_speed(self, node: str, factor: float) -> None:
        """No work becomes slower."""

    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None:
        """No tuple travels."""

    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None:
        """No line arrives."""

    def set_max_pending(self, topology_id: str, limit: int | None) -> None:
        """No tuple is pending."""

    def charge(self, worker: int, cpu_ns: int) -> None:
        """CPU is not kept account of."""

    def hold_sending(self, worker: int, duration_ns: int) -> None:
        """Nobody sends."""

    def processed(self, topology_id: str) -> int:
        """No root tuple is acked."""
        return 0

    def committed(self, topology_id: str) -> int:
        """No offset is stored."""
        return 0

    def finish(self) -> None:
        """Write the nodes, the only table that does not come from the control plane."""
        if self._recorder is not None:
            self._recorder.append(
                "nodes",
                {
                    "node": [node.id for node in self._nodes],
                    "rack": [node.rack for node in self._nodes],
                    "cores": np.array([node.cores for node in self._nodes], np.int32),
                    "core_mhz": np.array([node.core_mhz for node in self._nodes]),
                    "memory_mb": np.array([node.memory_mb for node in self._nodes]),
                },
            )
