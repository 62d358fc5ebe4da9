"""A data plane without tuples that records what the control plane asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storm_lab.emulator.plane import Loss, Plane, WindowSample
from storm_lab.model import Executor, Slot


class FakePlane(Plane):
    """Workers, connections and calls; samples take CPU and traffic from ``cpu_share`` and ``rates``."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, set[Executor]] = {}
        self.ended: set[int] = set()
        self.views: dict[int, dict[Executor, int]] = {}
        self.active: dict[int, bool] = {}
        self.prepared_ns: dict[int, int] = {}
        """By worker: when its executors were prepared."""
        self.calls: list[tuple[object, ...]] = []
        self.cpu_share: dict[str, float] = {}
        """Component to the part of a core that each of its executors uses."""
        self.rates: dict[tuple[str, int, int], float] = {}
        self.failed: dict[str, int] = {}
        self.queue_length: dict[str, int] = {}
        self.acked = 0
        self.stored = 0
        self.charged: dict[int, int] = {}
        self.held: list[tuple[int, int, int]] = []
        """Time, worker and length of each hold of a worker's sending, with times in ns."""
        self.waiting: set[int] = set()
        """Workers that hold tuples that they cannot send."""

        self.full: dict[int, int] = {}
        """Workers with a full heap, and since when it is full, in ns."""

    def run_until(self, time_ns: int) -> None:
        assert time_ns >= self.now_ns, "the data plane is asked to go back in time"
        super().run_until(time_ns)

    def start_worker(
        self, slot: Slot, topology_id: str, executors: Sequence[Executor], *, prepared: bool = True
    ) -> int:
        worker = super().start_worker(slot, topology_id, executors, prepared=prepared)
        if prepared:
            self.prepared_ns[worker] = self.now_ns
        self.alive[worker] = set(executors)
        self.views[worker] = {}
        self.active[worker] = False
        return worker

    def stop_worker(self, worker: int) -> Loss:
        del self.alive[worker], self.views[worker], self.active[worker]
        self.ended.add(worker)
        self.full.pop(worker, None)
        super().stop_worker(worker)
        return Loss(3)

    def start_executor(self, worker: int, executor: Executor) -> None:
        assert executor not in self.alive[worker]
        self.alive[worker].add(executor)
        super().start_executor(worker, executor)

    def stop_executor(self, worker: int, executor: Executor) -> Loss:
        self.alive[worker].remove(executor)
        super().stop_executor(worker, executor)
        return Loss(2)

    def connect(self, worker: int, view: Mapping[Executor, int], *, connecting: bool = False) -> int:
        used = {self.slots[number].node for number in self.alive}
        for executor, target in view.items():
            # A worker that ended with its node may still be in its peers' views, while nothing runs there.
            node_is_dead = target in self.ended and self.slots[target].node not in used
            assert node_is_dead or executor in self.alive[target], f"{executor} is not in worker {target}"
        self.views[worker] = dict(view)
        return 0

    def has_parked(self, worker: int) -> bool:
        return worker in self.waiting

    def full_heaps(self) -> Mapping[int, int]:
        return dict(self.full)

    def prepare(self, worker: int) -> None:
        assert worker in self.alive
        assert worker not in self.prepared_ns
        super().prepare(worker)
        self.prepared_ns[worker] = self.now_ns

    def activate(self, worker: int, active: bool) -> None:
        assert worker in self.alive
        assert worker in self.prepared_ns or not active
        self.active[worker] = active

    def sample(self, *, with_traffic: bool = True) -> WindowSample:
        idle = super().sample()
        window = idle.end_ns - idle.start_ns
        return WindowSample(
            idle.start_ns,
            idle.end_ns,
            executor_cpu_ns={
                (worker, executor): int(self.cpu_share.get(executor.component, 0.0) * window)
                for worker, executors in self.alive.items()
                for executor in executors
            },
            traffic={pair: round(rate * window / 1e9) for pair, rate in self.rates.items()},
            failed=dict(self.failed),
            queued={
                (worker, executor): self.queue_length.get(executor.component, 0)
                for worker, executors in self.alive.items()
                for executor in executors
            },
        )

    def set_node_speed(self, node: str, factor: float) -> None:
        self.calls.append(("speed", node, factor))

    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None:
        self.calls.append(("link", node_a, node_b, cut, extra_delay_ns))

    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None:
        self.calls.append(("load", topology_id, spout, rate_per_s))

    def set_max_pending(self, topology_id: str, limit: int | None) -> None:
        self.calls.append(("max-pending", topology_id, limit))

    def hold_sending(self, worker: int, duration_ns: int) -> None:
        self.held.append((self.now_ns, worker, duration_ns))

    def charge(self, worker: int, cpu_ns: int) -> None:
        assert worker in self.alive
        self.charged[worker] = self.charged.get(worker, 0) + cpu_ns

    def acked_roots(self, topology_id: str) -> int:
        return self.acked

    def committed_lines(self, topology_id: str) -> int:
        return self.stored

    def running(self) -> set[Executor]:
        return {executor for executors in self.alive.values() for executor in executors}
