"""The model that ``storm-lab bench kernel`` plays three times: in the kernel, in plain C and in SimPy.

The topology has a spout, two bolts in a row behind shuffle groupings, and ackers. Each node has one worker;
executors are placed on the nodes in turn. The message path is that of Storm 0.8: executor threads with send
threads; per worker a receive thread, a transfer thread and housekeeping; processor sharing on every node;
network channels between nodes; the ackers' XOR ledger.

An **event** of the model is one of: a woken thread begins, a CPU burst ends, a message leaves a channel
(twice if the receiving card is busy), a sleep of a spout ends, a period (housekeeping, rotation of the
pending map) begins. A hop between two executors of a worker therefore takes at most four events, and one
between workers at most ten. All three engines count exactly these.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.kinds import ACKER_BOLT, BOLT, MAIN, SPOUT, THREAD_NAMES
from storm_lab.model import (
    ACKER,
    Cluster,
    Component,
    Executor,
    Node,
    Slot,
    Subscription,
    Topology,
    executors_of,
)
from storm_lab.model.version import V0_8_2
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tuplelog.buffer import Recorder
from storm_lab.workloads.workload_trace import EMISSION, RECORD, WorkloadTrace

KINDS = ("spout", "first", "second", ACKER)
NO_EXECUTIONS = 1 << 40
"""Sampling rate at which the log holds root tuples only."""

BATCHES = 20
TUPLE_BYTES = 100
COST = CostModel(
    warm_up_factor=1.0,
    read_us=0.0,
    write_us=0.0,
    service_cv=0.0,
    consumer_wake_us=0.0,
    slice_us=0.0,
    look_us=0.0,
    idle_jvm_share=0.02,
    zeromq_factor=1.0,
)
"""The cost model with its defaults, except that code is warm and batches have no costs of their own. The
model draws the work of each tuple. Housekeeping takes a constant share of a core, woken threads run at once,
and threads that wait for room do not poll.
"""

_PORT = 6700


@dataclass(frozen=True, slots=True)
class Model:
    """Numbers of executors (spout, each bolt, ackers), nodes and cores; lines per second; mean work per bolt.

    ``copies`` topologies of this size run side by side, each on its own nodes. ``lines`` draws of work are
    made and then repeated.
    """

    spouts: int = 4
    bolts: int = 8
    ackers: int = 4
    nodes: int = 4
    cores: int = 4
    rate_per_s: float = 6000.0
    work_us: float = 500.0
    copies: int = 1
    lines: int = 20_011
    seed: int = 1

    @property
    def executors(self) -> int:
        """Number of all executors."""
        return self.copies * (self.spouts + 2 * self.bolts + self.ackers)


@dataclass(frozen=True, slots=True)
class EngineResult:
    """Results of one engine in the measured window.

    ``cpu_s``: CPU time, which other programs on the machine disturb less than wall-clock time. ``batch_ms``:
    mean complete latency of successive stretches. ``busy``: share of all cores that worked. ``exact``: roots
    emitted and acked since the start, sum of latencies and CPU in ns; two engines that play the same events
    must agree on it.
    """

    events: int
    cpu_s: float
    roots: int
    batch_ms: Sequence[float]
    busy: float
    exact: tuple[int, ...] = ()

    @property
    def events_per_s(self) -> float:
        """Model events per second on the engine's one core."""
        return self.events / self.cpu_s

    @property
    def latency_ms(self) -> float:
        """Mean complete latency."""
        return statistics.fmean(self.batch_ms)

    @property
    def latency_error_ms(self) -> float:
        """Standard error of the mean complete latency, from batch means."""
        return statistics.stdev(self.batch_ms) / math.sqrt(len(self.batch_ms))


@dataclass
class Latencies:
    """A recorder that keeps the latencies of root tuples and drops everything else."""

    chunks: list[tuple[NDArray[Any], NDArray[Any]]] = field(default_factory=list)

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows; see `storm_lab.tuplelog.buffer.Recorder`."""
        if table == "roots":
            self.chunks.append((columns["complete_ns"].copy(), columns["latency_ns"].copy()))

    def between(self, start_ns: int, end_ns: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return completion times and latencies of roots completed after ``start_ns``, up to ``end_ns``."""
        done = np.concatenate([chunk[0] for chunk in self.chunks])
        latency = np.concatenate([chunk[1] for chunk in self.chunks])
        inside = (done > start_ns) & (done <= end_ns)
        return done[inside], latency[inside]


def draw_work(model: Model) -> NDArray[np.int64]:
    """Return the CPU time of both bolts for every line: exponential, in ns, one row per line."""
    draws = np.random.default_rng(model.seed).exponential(model.work_us * 1000.0, (model.lines, 2))
    return draws.astype(np.int64)


def _trace(model: Model) -> WorkloadTrace:
    records = np.zeros((model.lines, 3), RECORD)
    records["server"] = -1
    records["cpu_ns"][:, 1:] = draw_work(model)
    records["first_emission"][:, :2] = np.arange(2 * model.lines).reshape(model.lines, 2)
    records["emissions"][:, :2] = 1
    emissions = np.zeros((model.lines, 2), EMISSION)
    emissions["first_record"] = np.arange(3 * model.lines).reshape(model.lines, 3)[:, 1:]
    emissions["stream"] = (0, 1)
    emissions["bytes"] = TUPLE_BYTES
    return WorkloadTrace(
        records=records.ravel(),
        emissions=emissions.ravel(),
        streams=(("spout", "default"), ("first", "default")),
        sources={"spout": np.arange(model.lines, dtype=np.int64) * 3},
        ticks={},
        servers=(),
        reference_mhz=COST.reference_mhz,
        digest="bench",
    )


def _topology(model: Model, number: int) -> Topology:
    stages = (
        Component("spout", model.spouts, outputs={"default": ("x",)}),
        Component("first", model.bolts, inputs=(Subscription("spout"),), outputs={"default": ("x",)}),
        Component("second", model.bolts, inputs=(Subscription("first"),)),
    )
    return Topology(f"bench{number}", stages, workers=model.nodes, ackers=model.ackers)


def executors_by_slot(
    model: Model, topology: Topology, first_node: int = 0
) -> Mapping[Slot, Sequence[Executor]]:
    """Return the executors of each worker: they are placed on the topology's nodes in turn."""
    slots: dict[Slot, list[Executor]] = {}
    for i, executor in enumerate(executors_of(topology, V0_8_2)):
        slots.setdefault(Slot(f"node{first_node + i % model.nodes}", _PORT), []).append(executor)
    return slots


def start(
    model: Model, recorder: Recorder | None = None, sample_every: int = NO_EXECUTIONS
) -> tuple[DataPlane, Topology]:
    """Return a data plane with everything running at time 0, and its (first) topology."""
    trace = _trace(model)
    source = SourcePlan(SourceKind.RATE, rate_per_s=model.rate_per_s)
    topologies = [_topology(model, i) for i in range(model.copies)]
    cluster = Cluster(
        tuple(
            Node(f"node{i}", cores=model.cores, core_mhz=COST.reference_mhz, memory_mb=65536.0)
            for i in range(model.nodes * model.copies)
        )
    )
    plans = tuple(TopologyPlan(topology, trace, {"spout": source}) for topology in topologies)
    # The executors are placed by hand, and the caller decides how long to play.
    spec = EmulationSpec(cluster, V0_8_2, plans, DefaultScheduler(), 1.0, model.seed, COST)
    plane = DataPlane(replace(spec, sample_every=sample_every), recorder)
    for number, topology in enumerate(topologies):
        slots = executors_by_slot(model, topology, number * model.nodes)
        workers = {slot: plane.start_worker(slot, topology.id, group) for slot, group in slots.items()}
        view = {executor: workers[slot] for slot, group in slots.items() for executor in group}
        for worker in workers.values():
            plane.connect(worker, view)
            plane.activate(worker, True)
    return plane, topologies[0]


def play_kernel(model: Model, warm_ns: int, until_ns: int) -> EngineResult:
    """Play the model in the compiled kernel, with its log of roots; measure the window (warm, until]."""
    latencies = Latencies()
    plane, _ = start(model, latencies)
    plane.run_until(warm_ns)
    plane.sample()
    before, roots = plane.events, int(plane.kernel.s[0].roots_emitted)
    began = time.process_time()
    plane.run_until(until_ns)
    spent = time.process_time() - began
    events, emitted = plane.events - before, int(plane.kernel.s[0].roots_emitted)
    busy = sum(plane.sample().node_cpu_ns.values())
    plane.finish()
    _, everything = latencies.between(-1, until_ns)
    done, latency = latencies.between(warm_ns, until_ns)
    batch = (done - warm_ns - 1) * BATCHES // (until_ns - warm_ns)
    sums = np.bincount(batch, latency, BATCHES)
    return EngineResult(
        events=events,
        cpu_s=spent,
        roots=emitted - roots,
        batch_ms=(1e-6 * sums / np.bincount(batch, minlength=BATCHES)).tolist(),
        busy=busy / (model.nodes * model.cores * model.copies * (until_ns - warm_ns)),
        exact=(emitted, len(everything), int(latency.sum()), busy),
    )


def network_ns(k: Kernel) -> int:
    """Return the latency between two nodes; it is the same for all."""
    return int(k.channel[int(k.node[0].first_channel) + 1].latency)


def description(model: Model, warm_ns: int, until_ns: int) -> Iterator[int]:
    """Yield the model as the numbers that the C program reads, with the kernel's costs and draws."""
    plane, topology = start(model)
    k = plane.kernel
    cost, node = k.cost[0], k.node[0]
    yield from (model.nodes, model.cores, network_ns(k), int(node.nic_ps_per_byte), int(cost.header_bytes))
    for name in (
        "dispatch", "emit", "serialise", "serialise_kb", "deserialise", "deserialise_kb", "send", "transfer",
        "receive", "acker", "spout_ack", "poll", "wake", "switch", "idle_sleep", "housekeeping_period",
        "housekeeping_work", "receive_batch",
    ):  # fmt: skip
        yield int(cost[name])
    yield from (int(k.source[0].rate_milli), int(k.topology[0].timeout), model.lines, warm_ns, until_ns)
    yield from (TUPLE_BYTES, model.executors)
    executors = executors_of(topology, V0_8_2)
    slots = executors_by_slot(model, topology)
    node_of = {e: int(slot.node.removeprefix("node")) for slot, group in slots.items() for e in group}
    row_of = {int(number): row for row, number in enumerate(k.task["id"])}
    for executor in executors:
        task = k.task[row_of[executor.start]]
        rng = int(task.rng)
        yield from (KINDS.index(executor.component), node_of[executor], rng >> 32, rng & 0xFFFFFFFF)
        targets = model.bolts if executor.component in KINDS[:2] else 0
        first = int(k.shuffle[int(task.shuffle)].first)
        yield from (targets, *k.permutation[first : first + targets].tolist())
    number = {executor: i for i, executor in enumerate(executors)}
    for slot, group in slots.items():
        yield from (int(slot.node.removeprefix("node")), len(group), *(number[e] for e in group))
    yield from draw_work(model).ravel().tolist()


@dataclass(frozen=True, slots=True)
class EventCount:
    """Number of events of each kind in a window, and of ``roots`` emitted and ``hops`` begun in it."""

    kinds: dict[str, int]
    roots: int
    hops: int

    def table(self) -> dict[str, dict[str, float]]:
        """Return events per root tuple and per hop, for each kind and in total; most frequent first."""
        rows = sorted(self.kinds.items(), key=lambda row: (-row[1], row[0]))
        rows.append(("all", sum(self.kinds.values())))
        return {kind: {"per_root": count / self.roots, "per_hop": count / self.hops} for kind, count in rows}


def next_kind(k: Kernel) -> str:
    """Return what happens at the first event in a kernel's heap."""
    s = k.s[0]
    source, nodes = int(k.event["source"][0]), int(s.nodes)
    if source < nodes:
        thread = int(k.burst["thread"][source * int(s.burst_width)])
        return f"{_name(k.thread[thread])} burst ends"
    if source < 2 * nodes:
        return f"{_name(k.thread[int(k.node['wake_head'][source - nodes])])} wakes"
    channels = int(s.channels)
    if source < 2 * nodes + channels:
        # The last channels are the nodes' receiving network cards.
        return "message leaves a busy card" if source - 2 * nodes >= channels - nodes else "message arrives"
    if source < int(s.timers):
        return "spout reads a line"
    thread, periodic = divmod(source - int(s.timers), 2)
    name = _name(k.thread[thread])
    return f"{name} period" if periodic else f"{name} sleep or wait ends"


def _name(thread: Any) -> str:
    kind = int(thread["kind"])
    names = {SPOUT: "spout", BOLT: "bolt", ACKER_BOLT: "acker"}
    return names[int(thread["role"])] if kind == MAIN else THREAD_NAMES[kind]


def count_events(plane: DataPlane, until_ns: int) -> EventCount:
    """Play until a given time and count the events on the way from outside, at no cost to the kernel."""
    kinds: Counter[str] = Counter()
    plane.sample()
    roots = int(plane.kernel.s[0].roots_emitted)
    plane.observe(lambda k: kinds.update((next_kind(k),)))
    try:
        plane.run_until(until_ns)
    finally:
        plane.observe(None)
    emitted = int(plane.kernel.s[0].roots_emitted) - roots
    return EventCount(dict(kinds), emitted, sum(plane.sample().traffic.values()))
