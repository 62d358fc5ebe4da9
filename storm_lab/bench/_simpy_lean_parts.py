"""Parts of the lean SimPy program: the processor, the source of lines, threads' queues.

Everything that SimPy can be spared is: queues are deques, alarms are timeouts with a callback.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import deque
from typing import Any

import simpy

from storm_lab.bench._kernel_model import NS_PER_S
from storm_lab.bench._simpy_world import SHARE, Message, Steps, World


class Processor:
    """Fair sharing of a node's cores: one virtual time, a heap of the bursts' ends."""

    def __init__(self, world: World) -> None:
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
        heapq.heappush(self._bursts, (self._virtual + work * SHARE, self._order, work, done))
        self._arm()
        return done

    def _share(self) -> int:
        active, cores = len(self._bursts), self._world.model.cores
        return SHARE if active <= cores else cores * SHARE // active

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


class Lines:
    """The lines, and the spouts that sleep until there is one: the one whose turn comes first finds it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._step = world.cost.idle_sleep
        self._asleep: list[tuple[int, int, Any]] = []
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

    def join(self, spout: Any) -> None:
        """A spout sleeps from now on."""
        insort(self._asleep, (spout.turn % self._step, spout.number, spout))
        self.watch()

    def leave(self, spout: Any) -> None:
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


class Queue:
    """A thread's queue, and how the idle thread is woken."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.items: deque[Message] = deque()
        self.idle: simpy.Event | None = None

    def put(self, message: Message) -> None:
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


def take(queue: Queue, most: int) -> list[Message]:
    """Take what is there, up to ``most`` messages."""
    return [queue.items.popleft() for _ in range(min(len(queue.items), most))]
