"""The benchmark's model in SimPy, written as SimPy's documentation teaches.

A process for every thread; a `simpy.Store` of the queue's capacity for every queue, with ``yield put()`` and
``yield get()``; a process that carries each message over the wire, as in the documentation's example of event
latency; a server process for every node's processor, which new bursts interrupt. It is written to be read,
not tuned: deques and callbacks in the place of stores and carriers would make it about twice as fast.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator
from typing import Any

import simpy

from storm_lab.bench._kernel_model import KINDS, NS_PER_S, TUPLE_BYTES, Model, Played, placed
from storm_lab.bench._simpy_world import CONTROL_BYTES, SHARE, Message, Root, Steps, World, measure, on_wire
from storm_lab.emulator.setup.tables import QueueSizes
from storm_lab.model.version import V0_8_2


class _Processor:
    """Fair sharing of a node's cores: a process that serves all bursts, and is interrupted by a new one."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self._bursts: list[tuple[int, int, int, simpy.Event]] = []
        self._virtual = self._at = self._order = 0
        self._process = world.env.process(self._serve())

    def burst(self, work: int) -> simpy.Event:
        """An event at the end of a burst of ``work`` ns that starts now."""
        world = self._world
        cores = world.model.cores
        self._advance()
        active = len(self._bursts)
        if active >= cores:
            work += world.cost.switch * min(active // cores, 4)
        done = world.env.event()
        self._order += 1
        heapq.heappush(self._bursts, (self._virtual + work * SHARE, self._order, work, done))
        self._process.interrupt()
        return done

    def _share(self) -> int:
        active, cores = len(self._bursts), self._world.model.cores
        return SHARE if active <= cores else cores * SHARE // active

    def _advance(self) -> None:
        if self._bursts:
            self._virtual += (self._world.now - self._at) * self._share()
        self._at = self._world.now

    def _serve(self) -> Steps:
        env = self._world.env
        while True:
            try:
                if not self._bursts:
                    yield env.event()  # Nothing to do until a burst interrupts.
                missing = self._bursts[0][0] - self._virtual
                yield env.timeout(max(0, -(-missing // self._share())))
                self._finish()
            except simpy.Interrupt:
                self._advance()

    def _finish(self) -> None:
        self._advance()
        _, _, work, done = heapq.heappop(self._bursts)
        self._world.cpu += work
        self._world.events += 1
        done.succeed()


class _Queue:
    """A thread's queue."""

    def __init__(self, world: _World, capacity: float = float("inf")) -> None:
        self._world = world
        self.store = simpy.Store(world.env, capacity)

    def put(self, message: Message) -> Any:
        """An event: there was room for the message."""
        return self.store.put(message)

    def batch(self, most: int) -> Generator[simpy.Event, Any, list[Message]]:
        """Wait until there is something; returns all that is there, up to ``most`` messages."""
        first = self.store.get()
        idle = not first.triggered
        batch: list[Message] = [(yield first)]
        if idle:
            yield self._world.env.timeout(self._world.cost.wake)
            self._world.events += 1
        while self.store.items and len(batch) < most:
            batch.append((yield self.store.get()))
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
            batch = yield from self.transfer.batch(world.cost.send_batch)
            yield self.processor.burst(len(batch) * world.cost.transfer)
            for message in batch:
                self.out_free = max(world.now, self.out_free) + on_wire(world, message)
                world.env.process(self._carry(message, self.out_free + world.latency))

    def _carry(self, message: Message, arrival: int) -> Steps:
        """A message's way over the wire and through the receiver's card."""
        world = self.world
        yield world.env.timeout(arrival - world.now)
        world.events += 1
        there: _Worker = message.target.worker
        there.in_free = max(world.now, there.in_free + on_wire(world, message))
        if there.in_free > world.now:
            yield world.env.timeout(there.in_free - world.now)
            world.events += 1
        yield there.receive.put(message)

    def _housekeeping(self) -> Steps:
        world = self.world
        while True:
            yield world.env.timeout(world.cost.housekeeping_period)
            world.events += 1
            self.processor.burst(world.cost.housekeeping_work)


class _Executor:
    """What spouts, bolts and ackers share: queue, send thread, shuffled walk over targets."""

    def __init__(self, world: _World, worker: _Worker, kind: str, targets: str | None) -> None:
        self.world, self.worker, self.kind, self._targets = world, worker, kind, targets
        self.queue = _Queue(world, world.sizes.main)
        self._sending = _Queue(world, world.sizes.send)
        self._walk: list[Any] = []
        world.members[kind].append(self)
        world.env.process(self._send())

    def _send(self) -> Steps:
        cost = self.world.cost
        while True:
            batch = yield from self._sending.batch(cost.send_batch)
            work = 0
            for message in batch:
                message.remote = message.target.worker is not self.worker
                work += cost.send
                if message.remote:
                    work += cost.serialise + message.size * cost.serialise_kb // 1024
            yield self.worker.processor.burst(work)
            for message in batch:
                yield (self.worker.transfer if message.remote else message.target.queue).put(message)

    def copy(self, root: Root, line: int) -> Message:
        """A copy of a tuple for the next target."""
        if not self._walk:
            assert self._targets is not None
            self._walk = list(self.world.members[self._targets])
            self.world.draws.shuffle(self._walk)
        edge = self.world.draws.getrandbits(64)
        return Message("data", self._walk.pop(), root, line, TUPLE_BYTES, edge)

    def hand_over(self, messages: list[Message]) -> Steps:
        """Put messages into the send queue."""
        for message in messages:
            yield self._sending.put(message)


def _control(kind: str, target: Any, root: Root, edge: int = 0) -> Message:
    """A message to or from an acker."""
    return Message(kind, target, root, 0, CONTROL_BYTES, edge)


class _Bolt(_Executor):
    """A bolt's or acker's main thread."""

    def run(self) -> Steps:
        """Execute tuple after tuple."""
        world, cost = self.world, self.world.cost
        ackers = world.members[KINDS[3]]
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
                    yield from self.hand_over([_control("complete", root.spout, root)])
                continue
            work += world.works[message.line][stage] + (2 - stage) * cost.emit
            yield self.worker.processor.burst(work)
            copies = [self.copy(root, message.line)] if stage == 0 else []
            edge = message.edge ^ copies[0].edge if copies else message.edge
            yield from self.hand_over([*copies, _control("ack", ackers[root.acker], root, edge)])


class _Spout(_Executor):
    """The spout's loop: acks, then one line, then a sleep if there was none."""

    def run(self) -> Steps:
        """Turn after turn."""
        world, cost = self.world, self.world.cost
        ackers = world.members[KINDS[3]]
        slept = True
        while True:
            if slept and (self.queue.store.items or world.line_due <= world.now):
                world.events += 1  # A turn after a sleep that finds something to do.
            if self.queue.store.items:
                yield from self._handle_acks()
            slept = world.line_due > world.now
            if slept:
                yield world.env.timeout(cost.idle_sleep)
                continue
            line = world.take_line()
            yield self.worker.processor.burst(cost.poll + 2 * cost.emit)
            world.emitted += 1
            root = Root(self, world.now, world.draws.randrange(len(ackers)))
            copy = self.copy(root, line)
            yield from self.hand_over([copy, _control("init", ackers[root.acker], root, copy.edge)])

    def _handle_acks(self) -> Generator[simpy.Event, Any, None]:
        world, cost = self.world, self.world.cost
        batch: list[Message] = []
        while self.queue.store.items:
            batch.append((yield self.queue.store.get()))
        work = sum(cost.dispatch + cost.spout_ack + cost.deserialise * m.remote for m in batch)
        yield self.worker.processor.burst(work)
        for message in batch:
            world.done.append((world.now, world.now - message.root.emitted))


class _World(World):
    """The world with its lines, which come at even distances."""

    def __init__(self, model: Model, seed: int) -> None:
        super().__init__(model, seed)
        self.sizes = QueueSizes.of(V0_8_2)
        self._taken = 0

    @property
    def line_due(self) -> int:
        """When the next line is, or was, there."""
        return self._taken * NS_PER_S // round(self.model.rate_per_s)

    def take_line(self) -> int:
        """Take the next line; returns its number."""
        self._taken += 1
        return (self._taken - 1) % len(self.works)


def play_simpy(model: Model, warm_ns: int, until_ns: int, seed: int) -> Played:
    """Play the model in SimPy; the window is (warm, until]."""
    world = _World(model, seed)
    for group in placed(model, world.topology).values():
        worker = _Worker(world)
        for executor in group:
            kind = KINDS.index(executor.component)
            make = _Spout if kind == 0 else _Bolt
            made = make(world, worker, executor.component, KINDS[kind + 1] if kind < 2 else None)
            world.env.process(made.run())
    return measure(world, warm_ns, until_ns)
