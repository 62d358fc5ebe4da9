"""What both SimPy programs of the benchmark share: costs, messages, the world, and how a run is measured.

Rules and costs are the kernel's; draws come from Python's own generator, so results agree within sampling
error, not digit by digit.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any

import simpy

from storm_lab.bench._kernel_model import BATCHES, KINDS, Model, Played, start, works

Steps = Generator[simpy.Event, object, None]

CONTROL_BYTES = 20
SHARE = 1 << 16
"""Speed of a thread that has a core to itself; speeds are parts of it, as in the kernel."""


@dataclass(frozen=True, slots=True)
class Costs:
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
class Root:
    """A root tuple and its entry in the acker's ledger."""

    spout: Any
    emitted: int
    acker: int
    ledger: int = 0
    known: bool = False


@dataclass(slots=True)
class Message:
    """A copy of a tuple, or a message to or from an acker."""

    kind: str
    target: Any
    root: Root
    line: int
    size: int
    edge: int = 0
    remote: bool = False


class World:
    """What all parts share: clock, costs, draws, counters; and the executors of each kind."""

    def __init__(self, model: Model, seed: int) -> None:
        plane, self.topology = start(model)
        k = plane.kernel
        self.cost = Costs(**{f.name: int(k.cost[0][f.name]) for f in fields(Costs)})
        self.nic_ps = int(k.node[0].nic_ps_per_byte)
        self.latency = int(k.channel[int(k.node[0].first_channel) + 1].latency)
        self.model = model
        self.env = simpy.Environment()
        self.draws = random.Random(seed)
        self.works = works(model).tolist()
        self.events = self.emitted = self.cpu = 0
        self.done: list[tuple[int, int]] = []
        self.members: dict[str, list[Any]] = {kind: [] for kind in KINDS}

    @property
    def now(self) -> int:
        """Virtual time, ns."""
        return int(self.env.now)


def on_wire(world: World, message: Message) -> int:
    """How long a network card sends a message, ns."""
    return (message.size + world.cost.header_bytes) * world.nic_ps // 1000


def measure(world: World, warm_ns: int, until_ns: int) -> Played:
    """Run a world in which everything has been started; the window is (warm, until]."""
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
        busy=(world.cpu - cpu) / (world.model.nodes * world.model.cores * (until_ns - warm_ns)),
    )
