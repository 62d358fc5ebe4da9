"""The benchmark's model in SimPy: a process for every thread, public calls only.

Rules and costs are the kernel's (processor sharing by virtual time included); draws come from Python's own
generator, so results agree within sampling error, not digit by digit. Queues are deques, wires are timeouts
with a callback: both cheaper in SimPy than its stores.
"""

from __future__ import annotations

import heapq
import random
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any

import simpy

from storm_lab.bench._kernel_model import (
    BATCHES,
    KINDS,
    NS_PER_S,
    TUPLE_BYTES,
    Model,
    Played,
    placed,
    start,
    works,
)

Steps = Generator[simpy.Event, object, None]

_CONTROL_BYTES = 20
_SHARE = 1 << 16


@dataclass(frozen=True, slots=True)
class _Costs:
    """The kernel's costs, ns or counts, as plain numbers."""

    dispatch: int
    emit: int
    serialise: int
    serialise_kb: int
    deserialise: int
    deserialise_kb: int
    send: int
    transfer: int
    receive: int
    acker: int
    spout_ack: int
    poll: int
    wake: int
    switch: int
    header_bytes: int
    idle_sleep: int
    housekeeping_period: int
    housekeeping_work: int
    receive_batch: int
    send_batch: int


@dataclass(slots=True)
class _Root:
    spout: _Spout
    emitted: int
    acker: int
    ledger: int = 0
    known: bool = False


@dataclass(slots=True)
class _Message:
    kind: str
    target: _Bolt | _Spout
    root: _Root
    line: int
    size: int
    edge: int = 0
    remote: bool = False


class _World:
    """What all parts share: clock, costs, counters."""

    def __init__(self, model: Model, seed: int) -> None:
        plane, self.topology = start(model)
        k = plane.kernel
        self.cost = _Costs(**{f.name: int(k.cost[0][f.name]) for f in fields(_Costs)})
        self.nic_ps = int(k.node[0].nic_ps_per_byte)
        self.latency = int(k.channel[int(k.node[0].first_channel) + 1].latency)
        self.model = model
        self.env = simpy.Environment()
        self.draws = random.Random(seed)
        self.works = works(model).tolist()
        self.events = self.emitted = self.cpu = 0
        self.lines = _Lines(self)
        self.done: list[tuple[int, int]] = []
        self.members: dict[str, list[Any]] = {kind: [] for kind in KINDS}

    @property
    def now(self) -> int:
        """Virtual time, ns."""
        return int(self.env.now)


class _Processor:
    """Fair sharing of a node's cores: one virtual time, a heap of the bursts' ends."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self._bursts: list[tuple[int, int, int, simpy.Event]] = []
        self._virtual = self._at = self._order = self._alarm = 0
        self._armed = -1

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
        heapq.heappush(self._bursts, (self._virtual + work * _SHARE, self._order, work, done))
        self._arm()
        return done

    def _share(self) -> int:
        active, cores = len(self._bursts), self._world.model.cores
        return _SHARE if active <= cores else cores * _SHARE // active

    def _advance(self) -> None:
        if self._bursts:
            self._virtual += (self._world.now - self._at) * self._share()
        self._at = self._world.now

    def _arm(self) -> None:
        if not self._bursts:
            self._armed = -1
            return
        share = self._share()
        at = self._at + max(0, -((self._virtual - self._bursts[0][0]) // share))
        if at != self._armed:
            self._armed = at
            self._alarm += 1
            alarm = self._world.env.timeout(at - self._at, self._alarm)
            alarm.callbacks.append(self._ring)

    def _ring(self, alarm: simpy.Event) -> None:
        if alarm.value != self._alarm or self._armed < 0:
            return  # Another burst came or went since.
        self._advance()
        _, _, work, done = heapq.heappop(self._bursts)
        self._world.cpu += work
        self._world.events += 1
        done.succeed()
        self._armed = -1
        self._arm()


class _Lines:
    """The lines, and the spouts that sleep until there is one: the one whose turn comes first finds it."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self._step = world.cost.idle_sleep
        self._asleep: list[tuple[int, int, _Spout]] = []
        self._taken = self._alarm = 0
        self._armed = -1

    @property
    def due(self) -> int:
        """When the next line is, or was, there."""
        return self._taken * NS_PER_S // round(self._world.model.rate_per_s)

    def take(self) -> int:
        """Take the next line; returns its number."""
        line = self._taken
        self._taken += 1
        self.watch()
        return line

    def join(self, spout: _Spout) -> None:
        """A spout sleeps from now on."""
        insort(self._asleep, (spout.turn % self._step, spout.number, spout))
        self.watch()

    def leave(self, spout: _Spout) -> None:
        """A sleep is over."""
        del self._asleep[bisect_left(self._asleep, (spout.turn % self._step, spout.number))]

    def watch(self) -> None:
        """Set the alarm for the first turn of a sleeping spout from when the next line is there."""
        if not self._asleep:
            self._armed = -1
            return
        step, asleep = self._step, self._asleep
        at = max(self.due, self._world.now)
        phase = at % step
        first = bisect_left(asleep, (phase,))
        for i in range(first, first + len(asleep)):
            turn, _, self._finder = asleep[i % len(asleep)]
            time = at + (turn - phase) % step
            if self._finder.turn <= time:
                break
        else:
            self._finder = asleep[first % len(asleep)][2]
            time = self._finder.turn
        if time != self._armed:
            self._armed = time
            self._alarm += 1
            alarm = self._world.env.timeout(time - self._world.now, self._alarm)
            alarm.callbacks.append(self._ring)

    def _ring(self, alarm: simpy.Event) -> None:
        if alarm.value != self._alarm or self._armed < 0:
            return  # Another spout came or went since.
        self._armed = -1
        self._finder.find()


class _Queue:
    """A thread's queue, and how the idle thread is woken."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self.items: deque[_Message] = deque()
        self.idle: simpy.Event | None = None

    def put(self, message: _Message) -> None:
        """Add a message; wake the thread if it has nothing to do."""
        self.items.append(message)
        if self.idle is not None:
            idle, self.idle = self.idle, None
            idle.succeed()

    def filled(self) -> Steps:
        """Wait until there is something."""
        while not self.items:
            self.idle = self._world.env.event()
            yield self.idle
            yield self._world.env.timeout(self._world.cost.wake)
            self._world.events += 1


class _Worker:
    """A worker and its node: processor, network card, shared threads."""

    def __init__(self, world: _World) -> None:
        self.world = world
        self.processor = _Processor(world)
        self.receive = _Queue(world)
        self.transfer = _Queue(world)
        self.out_free = self.in_free = 0
        for thread in (self._receive(), self._transfer(), self._housekeeping()):
            world.env.process(thread)

    def _receive(self) -> Steps:
        cost = self.world.cost
        while True:
            yield from self.receive.filled()
            batch = _take(self.receive, cost.receive_batch)
            yield self.processor.burst(len(batch) * cost.receive)
            for message in batch:
                message.target.queue.put(message)

    def _transfer(self) -> Steps:
        world = self.world
        while True:
            yield from self.transfer.filled()
            batch = _take(self.transfer, world.cost.send_batch)
            yield self.processor.burst(len(batch) * world.cost.transfer)
            for message in batch:
                self.out_free = max(world.now, self.out_free) + _on_wire(world, message)
                wire = world.env.timeout(self.out_free + world.latency - world.now, message)
                wire.callbacks.append(_arrive)

    def _housekeeping(self) -> Steps:
        world = self.world
        while True:
            yield world.env.timeout(world.cost.housekeeping_period)
            world.events += 1
            self.processor.burst(world.cost.housekeeping_work)


def _take(queue: _Queue, most: int) -> list[_Message]:
    return [queue.items.popleft() for _ in range(min(len(queue.items), most))]


def _on_wire(world: _World, message: _Message) -> int:
    return (message.size + world.cost.header_bytes) * world.nic_ps // 1000


def _arrive(wire: Any) -> None:
    """A message comes off the wire; a busy card takes it later."""
    message: _Message = wire.value
    worker = message.target.worker
    world = worker.world
    world.events += 1
    worker.in_free = max(world.now, worker.in_free + _on_wire(world, message))
    if worker.in_free > world.now:
        later = world.env.timeout(worker.in_free - world.now, message)
        later.callbacks.append(_taken_in)
    else:
        worker.receive.put(message)


def _taken_in(card: Any) -> None:
    message: _Message = card.value
    message.target.worker.world.events += 1
    message.target.worker.receive.put(message)


class _Executor:
    """What spouts, bolts and ackers share: queue, send thread, shuffled walk over targets."""

    def __init__(self, world: _World, worker: _Worker, kind: str, targets: str | None) -> None:
        self.world, self.worker, self.kind, self._targets = world, worker, kind, targets
        self.queue = _Queue(world)
        self._sending = _Queue(world)
        self._walk: list[Any] = []
        world.members[kind].append(self)
        world.env.process(self._send())

    def _send(self) -> Steps:
        cost = self.world.cost
        while True:
            yield from self._sending.filled()
            batch = _take(self._sending, cost.send_batch)
            work = 0
            for message in batch:
                message.remote = message.target.worker is not self.worker
                work += cost.send
                if message.remote:
                    work += cost.serialise + message.size * cost.serialise_kb // 1024
            yield self.worker.processor.burst(work)
            for message in batch:
                (self.worker.transfer if message.remote else message.target.queue).put(message)

    def emit(self, root: _Root, line: int) -> int:
        """Send a copy to the next target; returns its edge id."""
        if not self._walk:
            assert self._targets is not None
            self._walk = list(self.world.members[self._targets])
            self.world.draws.shuffle(self._walk)
        edge = self.world.draws.getrandbits(64)
        self._sending.put(_Message("data", self._walk.pop(), root, line, TUPLE_BYTES, edge))
        return edge

    def tell(self, kind: str, target: Any, root: _Root, edge: int = 0) -> None:
        """Send a message to or from an acker."""
        self._sending.put(_Message(kind, target, root, 0, _CONTROL_BYTES, edge))


class _Bolt(_Executor):
    """A bolt's or acker's main thread."""

    def run(self) -> Steps:
        """Execute tuple after tuple."""
        world, cost = self.world, self.world.cost
        ackers = world.members[KINDS[3]]
        stage = KINDS.index(self.kind) - 1
        while True:
            yield from self.queue.filled()
            message = self.queue.items.popleft()
            root = message.root
            work = cost.dispatch
            if message.remote:
                work += cost.deserialise + message.size * cost.deserialise_kb // 1024
            if stage == 2:
                yield self.worker.processor.burst(work + cost.acker)
                root.known |= message.kind == "init"
                root.ledger ^= message.edge
                if root.known and root.ledger == 0:
                    self.tell("complete", root.spout, root)
                continue
            work += world.works[message.line][stage] + (2 - stage) * cost.emit
            yield self.worker.processor.burst(work)
            edges = self.emit(root, message.line) if stage == 0 else 0
            self.tell("ack", ackers[root.acker], root, message.edge ^ edges)


class _Spout(_Executor):
    """The spout's loop: acks, then one line, then a sleep if there was none."""

    def __init__(self, world: _World, worker: _Worker, kind: str, targets: str | None) -> None:
        super().__init__(world, worker, kind, targets)
        self.number = len(world.members[kind])
        self.turn = 0
        self._found = False

    def run(self) -> Steps:
        """Turn after turn."""
        world, cost = self.world, self.world.cost
        world.events += 1
        ackers = world.members[KINDS[3]]
        while True:
            if self.queue.items:
                batch = _take(self.queue, 1024)
                each = cost.dispatch + cost.spout_ack
                work = sum(each + cost.deserialise * m.remote for m in batch)
                yield self.worker.processor.burst(work)
                for message in batch:
                    world.done.append((world.now, world.now - message.root.emitted))
            if world.lines.due > world.now:
                yield from self._sleep()
                continue
            line = world.lines.take() % len(world.works)
            yield self.worker.processor.burst(cost.poll + 2 * cost.emit)
            world.emitted += 1
            root = _Root(self, world.now, world.draws.randrange(len(ackers)))
            edges = self.emit(root, line)
            self.tell("init", ackers[root.acker], root, edges)

    def _sleep(self) -> Steps:
        """Sleep in steps of the idle sleep until a line is found or an ack has come."""
        env, step = self.world.env, self.world.cost.idle_sleep
        self.turn = self.world.now + step
        self.world.lines.join(self)
        self._found = False
        if not self.queue.items:
            self.queue.idle = env.event()
            yield self.queue.idle
        if not self._found:
            # What came waits for the end of the present sleep.
            yield env.timeout(
                (self.turn - self.world.now) % step if self.world.now > self.turn - step else step
            )
        self.world.lines.leave(self)
        self.world.events += 1
        if self.queue.items:
            self.world.lines.watch()

    def find(self) -> None:
        """A turn finds a line, unless one is due at this instant already for an ack that has come."""
        if self.queue.idle is not None:
            idle, self.queue.idle = self.queue.idle, None
            self._found = True
            idle.succeed()


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
    world.env.run(until=warm_ns)
    events, emitted, cpu, done = world.events, world.emitted, world.cpu, len(world.done)
    began = time.process_time()
    world.env.run(until=until_ns)
    spent = time.process_time() - began
    sums, counts = [0] * BATCHES, [0] * BATCHES
    for at, latency in world.done[done:]:
        batch = (at - warm_ns) * BATCHES // (until_ns - warm_ns)
        sums[batch] += latency
        counts[batch] += 1
    return Played(
        events=world.events - events,
        cpu_s=spent,
        roots=world.emitted - emitted,
        batch_ms=[1e-6 * total / count for total, count in zip(sums, counts, strict=True)],
        busy=(world.cpu - cpu) / (model.nodes * model.cores * (until_ns - warm_ns)),
    )
