"""The benchmark's model in SimPy as lean as public calls allow, by somebody who knows what its parts cost.

A process for every thread; no stores, no resources, no process per message.
"""

from __future__ import annotations

from typing import Any

from storm_lab.bench._kernel_model import KINDS, TUPLE_BYTES, Model, Played, placed
from storm_lab.bench._simpy_lean_parts import Lines, Processor, Queue, take
from storm_lab.bench._simpy_world import CONTROL_BYTES, Message, Root, Steps, World, measure, on_wire


class _Worker:
    """A worker and its node: processor, network card, shared threads."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.processor = Processor(world)
        self.receive = Queue(world)
        self.transfer = Queue(world)
        self.out_free = self.in_free = 0
        for thread in (self._receive(), self._transfer(), self._housekeeping()):
            world.env.process(thread)

    def _receive(self) -> Steps:
        cost = self.world.cost
        while True:
            yield from self.receive.filled()
            batch = take(self.receive, cost.receive_batch)
            yield self.processor.burst(len(batch) * cost.receive)
            for message in batch:
                message.target.queue.put(message)

    def _transfer(self) -> Steps:
        world = self.world
        while True:
            yield from self.transfer.filled()
            batch = take(self.transfer, world.cost.send_batch)
            yield self.processor.burst(len(batch) * world.cost.transfer)
            for message in batch:
                self.out_free = max(world.now, self.out_free) + on_wire(world, message)
                wire = world.env.timeout(self.out_free + world.latency - world.now, message)
                wire.callbacks.append(_arrive)

    def _housekeeping(self) -> Steps:
        world = self.world
        while True:
            yield world.env.timeout(world.cost.housekeeping_period)
            world.events += 1
            self.processor.burst(world.cost.housekeeping_work)


def _arrive(wire: Any) -> None:
    """A message comes off the wire; a busy card takes it later."""
    message: Message = wire.value
    worker = message.target.worker
    world = worker.world
    world.events += 1
    worker.in_free = max(world.now, worker.in_free + on_wire(world, message))
    if worker.in_free > world.now:
        later = world.env.timeout(worker.in_free - world.now, message)
        later.callbacks.append(_taken_in)
    else:
        worker.receive.put(message)


def _taken_in(card: Any) -> None:
    message: Message = card.value
    message.target.worker.world.events += 1
    message.target.worker.receive.put(message)


class _Executor:
    """What spouts, bolts and ackers share: queue, send thread, shuffled walk over targets."""

    def __init__(self, world: World, worker: _Worker, kind: str, targets: str | None) -> None:
        self.world, self.worker, self.kind, self._targets = world, worker, kind, targets
        self.queue = Queue(world)
        self._sending = Queue(world)
        self._walk: list[Any] = []
        world.members[kind].append(self)
        world.env.process(self._send())

    def _send(self) -> Steps:
        cost = self.world.cost
        while True:
            yield from self._sending.filled()
            batch = take(self._sending, cost.send_batch)
            work = 0
            for message in batch:
                message.remote = message.target.worker is not self.worker
                work += cost.send
                if message.remote:
                    work += cost.serialise + message.size * cost.serialise_kb // 1024
            yield self.worker.processor.burst(work)
            for message in batch:
                (self.worker.transfer if message.remote else message.target.queue).put(message)

    def emit(self, root: Root, line: int) -> int:
        """Send a copy to the next target; returns its edge id."""
        if not self._walk:
            assert self._targets is not None
            self._walk = list(self.world.members[self._targets])
            self.world.draws.shuffle(self._walk)
        edge = self.world.draws.getrandbits(64)
        self._sending.put(Message("data", self._walk.pop(), root, line, TUPLE_BYTES, edge))
        return edge

    def tell(self, kind: str, target: Any, root: Root, edge: int = 0) -> None:
        """Send a message to or from an acker."""
        self._sending.put(Message(kind, target, root, 0, CONTROL_BYTES, edge))


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

    def __init__(self, world: World, worker: _Worker, targets: str | None, lines: Lines) -> None:
        super().__init__(world, worker, KINDS[0], targets)
        self.lines = lines
        self.number = len(world.members[KINDS[0]])
        self.turn = 0
        self._found = False

    def run(self) -> Steps:
        """Turn after turn."""
        world, cost = self.world, self.world.cost
        world.events += 1
        ackers = world.members[KINDS[3]]
        while True:
            if self.queue.items:
                batch = take(self.queue, 1024)
                each = cost.dispatch + cost.spout_ack
                work = sum(each + cost.deserialise * m.remote for m in batch)
                yield self.worker.processor.burst(work)
                for message in batch:
                    world.done.append((world.now, world.now - message.root.emitted))
            if self.lines.due > world.now:
                yield from self._sleep()
                continue
            line = self.lines.take() % len(world.works)
            yield self.worker.processor.burst(cost.poll + 2 * cost.emit)
            world.emitted += 1
            root = Root(self, world.now, world.draws.randrange(len(ackers)))
            edges = self.emit(root, line)
            self.tell("init", ackers[root.acker], root, edges)

    def _sleep(self) -> Steps:
        """Sleep in steps of the idle sleep until a line is found or an ack has come."""
        env, step = self.world.env, self.world.cost.idle_sleep
        self.turn = self.world.now + step
        self.lines.join(self)
        self._found = False
        if not self.queue.items:
            self.queue.idle = env.event()
            yield self.queue.idle
        if not self._found:
            # What came waits for the end of the present sleep.
            yield env.timeout(
                (self.turn - self.world.now) % step if self.world.now > self.turn - step else step
            )
        self.lines.leave(self)
        self.world.events += 1
        if self.queue.items:
            self.lines.watch()

    def find(self) -> None:
        """A turn finds a line, unless one is due at this instant already for an ack that has come."""
        if self.queue.idle is not None:
            idle, self.queue.idle = self.queue.idle, None
            self._found = True
            idle.succeed()


def play_simpy_lean(model: Model, warm_ns: int, until_ns: int, seed: int) -> Played:
    """Play the model in SimPy, as lean as public calls allow; the window is (warm, until]."""
    world = World(model, seed)
    lines = Lines(world)
    for group in placed(model, world.topology).values():
        worker = _Worker(world)
        for executor in group:
            kind = KINDS.index(executor.component)
            targets = KINDS[kind + 1] if kind < 2 else None
            made = (
                _Spout(world, worker, targets, lines)
                if kind == 0
                else _Bolt(world, worker, executor.component, targets)
            )
            world.env.process(made.run())
    return measure(world, warm_ns, until_ns)
