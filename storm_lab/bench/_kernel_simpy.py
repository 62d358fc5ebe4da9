"""The benchmark's model in SimPy, written in the style of SimPy's documentation.

Every thread is a process. Every queue is a `simpy.Store` with the queue's capacity, used with ``yield put()``
and ``yield get()``. A process carries each message over the network, as in the documentation's example of
event latency. Every node's processor is a server process, which new bursts interrupt. The program is written
to be read, not tuned: deques and callbacks instead of stores and carriers would make it about twice as fast.

Rules and costs are those of the kernel. Draws come from Python's own generator, so results agree within
sampling error, not digit by digit.
"""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Generator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import simpy

from storm_lab.bench._kernel_model import (
    BATCHES,
    KINDS,
    TUPLE_BYTES,
    EngineResult,
    Model,
    draw_work,
    executors_by_slot,
    network_ns,
    start,
)
from storm_lab.emulator.queue_sizes import QueueSizes
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.model.version import V0_8_2

Steps = Generator[simpy.Event, Any, None]

_CONTROL_BYTES = 20
_SHARE = 1 << 16
"""Speed of a thread that has a core to itself; other speeds are fractions of it, as in the kernel."""


@dataclass(slots=True)
class _Root:
    """A root tuple and its entry in its acker's ledger."""

    spout: Any
    emitted: int
    acker: Any
    ledger: int = 0
    known: bool = False


@dataclass(slots=True)
class _Message:
    """A copy of a tuple, or a message to or from an acker, which has no line."""

    kind: str
    target: Any
    root: _Root
    line: int = 0
    size: int = _CONTROL_BYTES
    edge: int = 0
    remote: bool = False


class _World:
    """Shared state: clock, costs in ns or counts, draws, counters, lines, and the executors of each kind."""

    def __init__(self, model: Model, seed: int) -> None:
        plane, self.topology = start(model)
        k = plane.kernel
        self.cost = SimpleNamespace(**{name: int(k.cost[0][name]) for name in k.cost.dtype.names or ()})
        self.sizes = QueueSizes.of(V0_8_2)
        self.latency = network_ns(k)
        self.model = model
        self.env = simpy.Environment()
        self.draws = random.Random(seed)
        self.works = draw_work(model).tolist()
        self.events = self.emitted = self.cpu = 0
        self.done: list[tuple[int, int]] = []
        self.members: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        self._nic_ps = int(k.node[0].nic_ps_per_byte)
        self._taken = 0

    @property
    def now(self) -> int:
        """Virtual time, ns."""
        return int(self.env.now)

    @property
    def line_due(self) -> int:
        """Time at which the next line arrives or arrived; lines come at equal intervals."""
        return self._taken * NS_PER_S // round(self.model.rate_per_s)

    def take_line(self) -> int:
        self._taken += 1
        return (self._taken - 1) % len(self.works)

    def card_time(self, message: _Message) -> int:
        """Time that a network card takes to send a message, ns."""
        return (message.size + self.cost.header_bytes) * self._nic_ps // 1000


class _Processor:
    """Fair sharing of a node's cores: one process serves all bursts, and a new burst interrupts it."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self._bursts: list[tuple[int, int, int, simpy.Event]] = []
        self._virtual = self._at = self._order = 0
        self._free = world.model.cores * 1024
        self._process = world.env.process(self._serve())

    def burst(self, work: int) -> simpy.Event:
        """Start a burst of ``work`` ns and return the event of its end."""
        world, cores, active = self._world, self._world.model.cores, len(self._bursts)
        self._advance()
        if active >= cores:
            work += world.cost.switch * min(active // cores, 4)
        done = world.env.event()
        self._order += 1
        heapq.heappush(self._bursts, (self._virtual + work * _SHARE, self._order, work, done))
        self._process.interrupt()
        return done

    def _share(self) -> int:
        active = len(self._bursts)
        return _SHARE if active * 1024 <= self._free else self._free * _SHARE // (1024 * active)

    def take_share(self, work: int, time: int) -> None:
        """Take ``work`` ns evenly over the next ``time`` ns, which leaves less of the cores to bursts."""
        self._world.cpu += work
        self._free = self._world.model.cores * 1024 - work * 1024 // time
        self._process.interrupt()

    def _advance(self) -> None:
        if self._bursts:
            self._virtual += (self._world.now - self._at) * self._share()
        self._at = self._world.now

    def _serve(self) -> Steps:
        env = self._world.env
        while True:
            try:
                if not self._bursts:
                    yield env.event()  # Idle until a burst interrupts.
                missing = self._bursts[0][0] - self._virtual
                yield env.timeout(max(0, -(-missing // self._share())))
            except simpy.Interrupt:
                self._advance()
                continue
            self._advance()
            _, _, work, done = heapq.heappop(self._bursts)
            self._world.cpu += work
            self._world.events += 1
            done.succeed()


class _Queue(simpy.Store):
    """A thread's queue."""

    def __init__(self, world: _World, capacity: float = float("inf")) -> None:
        super().__init__(world.env, capacity)
        self._world = world

    def batch(self, most: float = math.inf) -> Generator[simpy.Event, Any, list[_Message]]:
        """Wait until the queue is not empty; return all its messages, up to ``most``."""
        first = self.get()
        idle = not first.triggered
        batch: list[_Message] = [(yield first)]
        if idle:
            yield self._world.env.timeout(self._world.cost.wake)
            self._world.events += 1
        while self.items and len(batch) < most:
            batch.append((yield self.get()))
        return batch


class _Worker:
    """A worker and its node: processor, network card, shared threads."""

    def __init__(self, world: _World) -> None:
        self.world = world
        self.processor = _Processor(world)
        self.receive = _Queue(world)
        self.transfer = _Queue(world, world.sizes.transfer)
        self.out_free = self.in_free = 0
        for thread in (self._receive(), self._transfer(), self._housekeeping()):
            world.env.process(thread)

    def _receive(self) -> Steps:
        cost = self.world.cost
        while True:
            batch = yield from self.receive.batch(cost.receive_batch)
            yield self.processor.burst(len(batch) * cost.receive)
            for message in batch:
                yield message.target.queue.put(message)

    def _transfer(self) -> Steps:
        world = self.world
        while True:
            batch = yield from self.transfer.batch()
            yield self.processor.burst(len(batch) * world.cost.transfer)
            for message in batch:
                self.out_free = max(world.now, self.out_free) + world.card_time(message)
                world.env.process(self._carry(message, self.out_free + world.latency))

    def _carry(self, message: _Message, arrival: int) -> Steps:
        """Carry a message over the network and through the receiver's card."""
        world = self.world
        yield world.env.timeout(arrival - world.now)
        world.events += 1
        receiver: _Worker = message.target.worker
        receiver.in_free = max(world.now, receiver.in_free + world.card_time(message))
        if receiver.in_free > world.now:
            yield world.env.timeout(receiver.in_free - world.now)
            world.events += 1
        yield receiver.receive.put(message)

    def _housekeeping(self) -> Steps:
        world, period = self.world, self.world.cost.housekeeping_period
        work = 0
        while True:
            yield world.env.timeout(period + work)
            world.events += 1
            work = world.cost.housekeeping_work * (period + work) // period
            self.processor.take_share(work, period + work)


class _Executor:
    """Common parts of spouts, bolts and ackers: queue, send thread, shuffled walk over targets."""

    def __init__(self, world: _World, worker: _Worker, kind: str, targets: str) -> None:
        self.world, self.worker, self.kind, self._targets = world, worker, kind, targets
        self.queue = _Queue(world, world.sizes.main)
        self._sending = _Queue(world, world.sizes.send)
        self._shuffled: list[Any] = []
        world.members[kind].append(self)
        world.env.process(self._send())

    def _send(self) -> Steps:
        cost = self.world.cost
        while True:
            batch = yield from self._sending.batch()
            work = 0
            for message in batch:
                message.remote = message.target.worker is not self.worker
                work += cost.send
                if message.remote:
                    work += cost.serialise + message.size * cost.serialise_kb // 1024
            yield self.worker.processor.burst(work)
            for message in batch:
                yield (self.worker.transfer if message.remote else message.target.queue).put(message)

    def copy(self, root: _Root, line: int) -> _Message:
        """Make a copy of a tuple for the next target."""
        draws = self.world.draws
        if not self._shuffled:
            self._shuffled = list(self.world.members[self._targets])
            draws.shuffle(self._shuffled)
        edge = draws.getrandbits(64)
        return _Message("data", self._shuffled.pop(), root, line, TUPLE_BYTES, edge)

    def hand_over(self, messages: list[_Message]) -> Steps:
        for message in messages:
            yield self._sending.put(message)


class _Bolt(_Executor):
    """A bolt's or acker's main thread."""

    def run(self) -> Steps:
        world, cost = self.world, self.world.cost
        stage = KINDS.index(self.kind) - 1
        while True:
            (message,) = yield from self.queue.batch(1)
            root = message.root
            work = cost.dispatch
            if message.remote:
                work += cost.deserialise + message.size * cost.deserialise_kb // 1024
            if stage == 2:
                yield self.worker.processor.burst(work + cost.acker)
                root.known |= message.kind == "init"
                root.ledger ^= message.edge
                if root.known and root.ledger == 0:
                    yield from self.hand_over([_Message("complete", root.spout, root)])
                continue
            work += world.works[message.line][stage] + (2 - stage) * cost.emit
            yield self.worker.processor.burst(work)
            copies = [self.copy(root, message.line)] if stage == 0 else []
            edge = message.edge ^ copies[0].edge if copies else message.edge
            yield from self.hand_over([*copies, _Message("ack", root.acker, root, edge=edge)])


class _Spout(_Executor):
    """The spout's loop: acks, then one line, or a sleep if there is none."""

    def run(self) -> Steps:
        world, cost = self.world, self.world.cost
        slept = True
        while True:
            if slept and (self.queue.items or world.line_due <= world.now):
                world.events += 1  # The first turn after a sleep that finds work.
            if self.queue.items:
                batch = yield from self.queue.batch()
                work = sum(cost.dispatch + cost.spout_ack + cost.deserialise * m.remote for m in batch)
                yield self.worker.processor.burst(work)
                world.done += [(world.now, world.now - message.root.emitted) for message in batch]
            slept = world.line_due > world.now
            if slept:
                yield world.env.timeout(cost.idle_sleep)
                continue
            line = world.take_line()
            yield self.worker.processor.burst(cost.poll + 2 * cost.emit)
            world.emitted += 1
            root = _Root(self, world.now, world.draws.choice(world.members[KINDS[3]]))
            copy = self.copy(root, line)
            yield from self.hand_over([copy, _Message("init", root.acker, root, edge=copy.edge)])


def play_simpy(model: Model, warm_ns: int, until_ns: int, seed: int) -> EngineResult:
    """Play the model in SimPy and measure the window (warm, until]."""
    world = _World(model, seed)
    for group in executors_by_slot(model, world.topology).values():
        worker = _Worker(world)
        for executor in group:
            kind = KINDS.index(executor.component)
            make = _Spout if kind == 0 else _Bolt
            made = make(world, worker, executor.component, KINDS[kind + 1] if kind < 2 else "")
            world.env.process(made.run())
    world.env.run(until=warm_ns)
    events, emitted, cpu, done = world.events, world.emitted, world.cpu, len(world.done)
    began = time.process_time()
    world.env.run(until=until_ns)
    spent = time.process_time() - began
    batches: list[list[int]] = [[] for _ in range(BATCHES)]
    for at, latency in world.done[done:]:
        batches[(at - warm_ns) * BATCHES // (until_ns - warm_ns)].append(latency)
    return EngineResult(
        events=world.events - events,
        cpu_s=spent,
        roots=world.emitted - emitted,
        batch_ms=[1e-6 * sum(batch) / len(batch) for batch in batches],
        busy=(world.cpu - cpu) / (world.model.nodes * world.model.cores * (until_ns - warm_ns)),
    )
