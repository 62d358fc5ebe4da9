"""Small scenes for the data plane's tests: chains of bolts on few nodes, with or without overheads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.model import (
    Cluster,
    Component,
    Executor,
    Grouping,
    Node,
    Slot,
    StormVersion,
    Subscription,
    Topology,
    executors_of,
)
from storm_lab.model.settings import DISRUPTOR_BATCH
from storm_lab.model.version import V0_8_2, V1_0_0, V2_0_0
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.workload_trace import EMISSION, RECORD, WorkloadTrace

SECOND = 1_000_000_000
MS = 1_000_000
US = 1_000


# Costs of these scenes: fixed here, so that a new calibration changes no test of a mechanism.
PLAIN = CostModel(
    warm_up_factor=1.0,
    emit_us=3.0,
    poll_us=5.0,
    process_penalty=0.0,
    serialise_us=12.0,
    deserialise_us=13.0,
    transfer_us=8.0,
    receive_us=10.0,
    read_us=0.0,
    write_us=0.0,
    switch_us=10.0,
    slice_us=0.0,
    full_heap_cost=0.0,
    silent_heap_share=1.0,
    service_cv=0.0,
    consumer_wake_us=0.0,
    flush_us=0.0,
    timer_slack_us=0.0,
    look_us=0.0,
    idle_jvm_share=0.02,
    zeromq_factor=1.0,
    storm_1_factor=1.0,
    storm_2_factor=1.0,
    kryo_2_factor=1.0,
)


@dataclass
class Tape:
    """A recorder that keeps every row in memory."""

    rows: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        self.rows.setdefault(table, []).append({k: self._plain(v) for k, v in columns.items()})

    @staticmethod
    def _plain(column: Any) -> Any:
        if hasattr(column, "codes"):
            return np.array(column.names, dtype=object)[np.asarray(column.codes)]
        return np.array(column)

    def column(self, table: str, name: str) -> NDArray[Any]:
        """Return all rows of one column of a table."""
        return np.concatenate([chunk[name] for chunk in self.rows[table]])

    def total(self, component: str, counter: str = "executed") -> int:
        """Return the sum of one counter of all tasks of a component."""
        return int(self.column("counts", counter)[self.column("counts", "component") == component].sum())

    def spans(self, first: str, last: str, table: str = "executions") -> NDArray[Any]:
        """Return the times between two instants of each row, in ns."""
        return self.column(table, last) - self.column(table, first)


def chain_trace(
    work: Sequence[NDArray[np.int64]], size: int = 100, keys: Sequence[int] = (0,)
) -> WorkloadTrace:
    """A spout and ``len(work)`` bolts in a row; bolt j spends ``work[j][i]`` ns on line i."""
    lines, bolts = len(work[0]), len(work)
    records = np.zeros((lines, bolts + 1), RECORD)
    emissions = np.zeros((lines, bolts), EMISSION)
    records["server"] = -1
    records["key"] = np.resize(keys, lines)[:, None]
    records["cpu_ns"][:, 1:] = np.stack(work, axis=1)
    records["first_emission"][:, :-1] = np.arange(lines * bolts).reshape(lines, bolts)
    records["emissions"][:, :-1] = 1
    emissions["first_record"] = np.arange(lines * (bolts + 1)).reshape(lines, bolts + 1)[:, 1:]
    emissions["stream"] = np.arange(bolts)
    emissions["bytes"] = size
    names = ["spout"] + [f"bolt{j}" for j in range(bolts)]
    return WorkloadTrace(
        records.ravel(),
        emissions.ravel(),
        tuple((name, "default") for name in names[:-1]),
        {"spout": np.arange(lines, dtype=np.int64) * (bolts + 1)},
        {},
        (),
        2000.0,
        "test",
    )


def constant_work(ns: int, lines: int = 1000) -> NDArray[np.int64]:
    """The same work for every line."""
    return np.full(lines, ns, np.int64)


def chain(executors: Sequence[int], grouping: Grouping = Grouping.SHUFFLE, **settings: Any) -> Topology:
    """A topology of a spout (``executors[0]``) and bolts in a row."""
    components = [Component("spout", executors[0], outputs={"default": ("x",)})]
    for j, count in enumerate(executors[1:]):
        source = "spout" if j == 0 else f"bolt{j - 1}"
        components.append(
            Component(
                f"bolt{j}",
                count,
                inputs=(Subscription(source, grouping=grouping),),
                outputs={"default": ("x",)},
            )
        )
    return Topology("t", tuple(components), **settings)


def nodes(count: int, **facts: Any) -> Cluster:
    """Equal nodes of 4 cores at the reference clock, with plenty of memory."""
    return Cluster(tuple(Node(f"node{i}", **{"memory_mb": 65536.0, **facts}) for i in range(count)))


def together(_executor: object) -> Slot:
    """Place all executors in one worker."""
    return Slot("node0", 6700)


def apart(executor: Executor) -> Slot:
    """Place spouts on node 0 and bolts on node 1."""
    return Slot("node0" if executor.component == "spout" else "node1", 6700)


def in_turn(count: int) -> Callable[[Executor], Slot]:
    """Place executors on ``count`` nodes in turn, by their first tasks."""
    return lambda executor: Slot(f"node{executor.start % count}", 6700)


def bolts_apart(executor: Executor) -> Slot:
    """Place bolts on node 0 and spouts on node 1, so that only bolts use the bolts' cores."""
    return Slot("node1" if executor.component == "spout" else "node0", 6700)


@dataclass
class Scene:
    """One topology, started and connected, ready to run."""

    plane: DataPlane
    tape: Tape
    workers: dict[Slot, int]
    view: dict[Executor, int]

    def play(self, until_ns: int) -> None:
        """Play up to a time, and end the run there."""
        self.plane.run_until(until_ns)
        self.plane.finish()

    def start_again(self, old: Slot, new: Slot) -> None:
        """Start the executors of a worker that was stopped, in slot ``new``; all reach each other again."""
        moved = [executor for executor, worker in self.view.items() if worker == self.workers[old]]
        if old != new:
            del self.workers[old]
        self.workers[new] = self.plane.start_worker(new, "t", moved)
        self.view.update(dict.fromkeys(moved, self.workers[new]))
        for worker in self.workers.values():
            self.plane.connect(worker, self.view)
            self.plane.activate(worker, True)


def plane_of(
    cluster: Cluster,
    plans: Sequence[TopologyPlan],
    tape: Tape | None = None,
    *,
    version: StormVersion = V0_8_2,
    cost: CostModel = PLAIN,
    max_messages: int = 20_000_000,
    **options: Any,
) -> DataPlane:
    """A data plane for these topologies, without workers; ``options`` are fields of `EmulationSpec`."""
    given = {"seed": 1, **options}
    spec = EmulationSpec(cluster, version, tuple(plans), DefaultScheduler(), 1.0, cost=cost, **given)
    return DataPlane(spec, tape, max_messages=max_messages)


def start(
    topology: Topology,
    trace: WorkloadTrace,
    source: SourcePlan,
    cluster: Cluster | None = None,
    place: Callable[[Executor], Slot] = together,
    *,
    version: StormVersion = V0_8_2,
    ideal: bool = False,
    **options: Any,
) -> Scene:
    """Start every executor in the slot that ``place`` returns, by default all in one.

    ``ideal`` removes every overhead. ``options`` are those of `plane_of`.

    In 1.x tuples are handed over one by one, unless the topology's settings give a batch size: waits for
    flush ticks would hide the effects that most scenes are about.
    """
    tape = Tape()
    if V1_0_0 <= version < V2_0_0:
        topology = replace(topology, settings={DISRUPTOR_BATCH: 1, **topology.settings})
    plan = TopologyPlan(topology, trace, {"spout": source})
    plane = plane_of(cluster or nodes(1), [plan], tape, version=version, **options)
    if ideal:
        take_overheads_away(plane)
    groups: dict[Slot, list[Executor]] = {}
    for executor in executors_of(topology, version):
        groups.setdefault(place(executor), []).append(executor)
    workers = {slot: plane.start_worker(slot, topology.id, group) for slot, group in groups.items()}
    view = {executor: workers[slot] for slot, group in groups.items() for executor in group}
    for worker in workers.values():
        plane.connect(worker, view)
        plane.activate(worker, True)
    return Scene(plane, tape, workers, view)


def start_chain(
    executors: Sequence[int],
    work: int | Sequence[NDArray[np.int64]],
    source: SourcePlan,
    cluster: Cluster | None = None,
    place: Callable[[Executor], Slot] = together,
    *,
    grouping: Grouping = Grouping.SHUFFLE,
    ackers: int | None = 0,
    max_spout_pending: int | None = None,
    given: Mapping[str, Any] | None = None,
    size: int = 100,
    **options: Any,
) -> Scene:
    """Start a chain, by default in one worker.

    ``work`` is what every bolt spends on each line, in ns, or a list of what each bolt spends on each line.
    ``given`` are settings of the topology; ``options`` are those of `start`.
    """
    lines = [constant_work(work, 10)] * (len(executors) - 1) if isinstance(work, int) else work
    fields = {"ackers": ackers, "max_spout_pending": max_spout_pending, "settings": given or {}}
    topology = chain(executors, grouping, **fields)
    return start(topology, chain_trace(lines, size), source, cluster, place, **options)


def take_overheads_away(plane: DataPlane) -> None:
    """Leave only queues, threads and user code, which is what queueing theory describes."""
    k = plane.kernel
    for name in k.cost.dtype.names:
        if name not in ("receive_batch", "housekeeping_period", "inactive_sleep"):
            k.cost[name] = 0
    k.cost["idle_sleep"] = 1
    # Keep the pause where the topology sets how long its spouts sleep.
    k.source["pause"][k.source["pause"] == MS] = 1
    k.channel["latency"] = 0
    k.node["nic_ps_per_byte"] = 0


SATURATED = SourcePlan(SourceKind.SATURATED, anchored=False)


def rate(per_s: float, *, anchored: bool = False, **facts: Any) -> SourcePlan:
    """Lines at a constant rate, unanchored unless told otherwise."""
    return SourcePlan(SourceKind.RATE, rate_per_s=per_s, anchored=anchored, **facts)


def at_times(times: Sequence[int] | NDArray[np.int64], *, anchored: bool = False) -> SourcePlan:
    """A line at each of these times."""
    return SourcePlan(
        SourceKind.TRACE, arrivals_ns=np.array(times), arrival_period_ns=3600 * SECOND, anchored=anchored
    )


def poisson(rate_per_s: float, count: int) -> SourcePlan:
    """Poisson arrivals, unanchored."""
    rng = np.random.default_rng(7)
    times = np.cumsum(rng.exponential(SECOND / rate_per_s, count)).astype(np.int64)
    return SourcePlan(
        SourceKind.TRACE, arrivals_ns=times, arrival_period_ns=int(times[-1]) + 1, anchored=False
    )
