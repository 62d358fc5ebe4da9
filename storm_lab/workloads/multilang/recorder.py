"""Run components over their input and record what they do.

Every task has its own instance, which gets the tuples that the groupings send to the task. Each emit of a
spout is a source record. What follows from a record runs breadth first, as in
`storm_lab.workloads.build.build_trace`. Ticks arrive at their virtual times.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time_ns
from typing import Any, NamedTuple

from storm_lab.workloads.multilang import storm_module
from storm_lab.workloads.multilang.clock import TookTooLongError, VirtualClock, at_most
from storm_lab.workloads.multilang.components import Bolt, Component, Spout, Tuple
from storm_lab.workloads.multilang.emits import Emitted, Recording, Tree, add
from storm_lab.workloads.multilang.loading import Instances, exception_text
from storm_lab.workloads.multilang.plan import ComponentSpec, Given, Plan

MOST_RECORDS = 1000  # records that are taken from each spout
MOST_CALLS = 200_000
CALL_S = 5.0  # seconds that one call may take
MOST_EMPTY = 1000
"""Consecutive calls of ``next_tuple`` that emit nothing, after which a source counts as exhausted."""
MOST_TICKS = 5000
LARGEST_TREE = 20_000
GRACE_S = 5.0  # seconds after the end in which the current record may still be completed
IDLE_S = 0.001  # Storm's pause after a ``next_tuple`` that emitted nothing
_TICK_SOURCE = ("__system", "__tick")


@dataclass(slots=True)
class _Done:
    """The result of a call of user code: its emits, whether it failed, and its CPU time in ns."""

    emits: list[Emitted]
    failed: bool
    spent: int


@dataclass(slots=True)
class _Work:
    """A tuple to be executed by the tasks of one subscription."""

    target: str
    tasks: list[int]
    source: str
    source_task: int
    emit: Emitted


class _Turn(NamedTuple):
    """A turn of a spout: the records that it emitted, and the seconds that it slept or idled."""

    records: int
    seconds: float
    slept: bool


def _rate_per_s(turns: Sequence[_Turn]) -> float | None:
    """Return the pace of a spout that sleeps again and again; None if it emits nothing between its sleeps.

    It is that of the turns from the first in which it slept to the last. A single sleep counts if the run
    ended with it; before other records, it waits for the start.
    """
    sleeps = [place for place, turn in enumerate(turns, start=1) if turn.slept]
    if not sleeps:
        return None
    once = len(sleeps) == 1 and not any(turn.records for turn in turns[sleeps[0] :])
    span = turns[: sleeps[0]] if once else turns[sleeps[0] : sleeps[-1]]
    records = sum(turn.records for turn in span)
    return records / sum(turn.seconds for turn in span) if records else None


class Recorder:
    """Runs the components of one topology and records their calls."""

    def __init__(self, plan: Plan, instances: Instances, clock: VirtualClock) -> None:
        self.collector = instances.collector
        self.out, self._table = self.collector.out, self.collector.table
        self._plan = plan
        self._instances = instances
        self._clock = clock
        self._running: set[str] = set()
        self._empty: Counter[str] = Counter()
        self._turns: Counter[str] = Counter()
        self._sleeps: Counter[str] = Counter()
        self._spans: defaultdict[str, list[_Turn]] = defaultdict(list)
        self._calls = self._ticked = 0
        self._end = clock.real() + plan.seconds

    def record(self, recorded: Sequence[ComponentSpec]) -> Recording:
        """Run these components until their sources are exhausted or enough has been recorded."""
        self._running = {spec.name for spec in recorded}
        periods = {spec.name: spec.tick_s for spec in recorded if not spec.is_spout and spec.tick_s}
        due = sorted((period, name) for name, period in periods.items())
        waiting = [(0.0, number, spec.name) for number, spec in enumerate(recorded) if spec.is_spout]
        for _, _, name in waiting:
            self.out.trees[name] = []
        while waiting and not self._enough():
            at, number, name = heapq.heappop(waiting)
            while due and due[0][0] <= at and self._ticked < MOST_TICKS and not self._enough():
                moment, bolt = heapq.heappop(due)
                self._tick(bolt)
                heapq.heappush(due, (moment + periods[bolt], bolt))
            passed = self._turn(name)
            if passed is not None:
                heapq.heappush(waiting, (at + passed, number, name))
        for name in periods:
            if name not in self.out.ticks:
                self._tick(name)
        rates = ((name, _rate_per_s(turns)) for name, turns in self._spans.items())
        self.out.rate_per_s = {name: rate for name, rate in rates if rate is not None}
        return self.out

    def _enough(self) -> bool:
        over = self._calls >= MOST_CALLS or self._clock.real() > self._end
        return over or bool(self.out.broken)

    def _turn(self, name: str) -> float | None:
        """Run one turn of a spout; return the virtual time that it takes, or None if it is exhausted."""
        turn = self._turns[name]
        self._turns[name] += 1
        given = self._plan.given.get(name, Given())
        if given.records is not None:
            if turn >= len(given.records):
                return None
            emits = self.collector.given(name, given.records[turn])
            self._follow(name, 0, emits, None)
            return 1.0 / (given.rate_per_s or self._plan.rate_per_s)
        if len(self.out.trees[name]) >= MOST_RECORDS or self._empty[name] >= MOST_EMPTY:
            return None
        tasks = self._table.tasks[name]
        spout = self._instances.get(name, turn % tasks)
        if not isinstance(spout, Spout):
            self.out.broken[name] = self._instances.faults.get(name, "it is not a spout")
            return None
        slept = self._clock.slept_s
        done = self._call(name, spout, spout.next_tuple)
        slept = self._clock.slept_s - slept
        if done.failed and not done.emits:
            # Most often a generator that is exhausted.
            if not self.out.trees[name]:
                reason = (self.out.notes.get(name) or ["its next_tuple fails"])[-1]
                self.out.broken.setdefault(name, reason)
            return None
        self._empty[name] = 0 if done.emits else self._empty[name] + 1
        if done.emits:
            add(self.out.cost_ns, name, done.spent, len(done.emits))
        self._follow(name, turn % tasks, done.emits, spout)
        return self._passed(name, len(done.emits), slept)

    def _passed(self, name: str, emitted: int, slept: float) -> float:
        """Return the virtual time of a spout's turn, in which it slept that long."""
        idle = IDLE_S if not emitted and not slept else 0.0
        # The tasks of a spout sleep and idle concurrently.
        own = (slept + idle) / self._table.tasks[name]
        self._spans[name].append(_Turn(emitted, own, slept > 0))
        self._sleeps[name] += slept > 0
        stated = self._plan.given.get(name, Given()).rate_per_s
        if not stated and (slept > 0 or self._sleeps[name] > 1):
            # Between its sleeps, it emits as fast as it can.
            passed = own
        else:
            passed = emitted / (stated or self._plan.rate_per_s) if emitted else IDLE_S
        self._clock.pass_s(max(0.0, passed - slept))
        return passed

    def _follow(self, name: str, task: int, emits: list[Emitted], spout: Spout | None) -> None:
        """Run what follows from a spout's emits, a tree for each, and ack or fail each at the spout."""
        for emit in emits:
            if emit.tup_id is not None or spout is None:
                self.out.anchored.add(name)
            tree, failed = self._tree(name, task, [emit])
            if tree is None:
                return
            self.out.trees[name].append(tree)
            if spout is None or emit.tup_id is None:
                continue
            more = self._call(name, spout, partial(spout.fail if failed else spout.ack, emit.tup_id)).emits
            if more and failed:
                self.out.replays.add(name)
            elif more:
                self.out.note(name, "what it emits in ack() is left out")
            if self._enough():
                return

    def _tree(self, name: str, task: int, emits: list[Emitted]) -> tuple[Tree | None, bool]:
        """Run all calls that follow from one, breadth first; return them and whether any failed its tuple.

        The calls are None if they were not run to the end.
        """
        calls: Tree = [[name, [item.row() for item in emits], None, False]]
        any_failed = False
        waiting = deque(self._read(name, task, emits))
        while waiting:
            work = waiting.popleft()
            done = self._execute(work)
            source = [work.source, work.emit.stream]
            calls.append([work.target, [item.row() for item in done.emits], source, done.failed])
            any_failed |= done.failed
            if len(calls) > LARGEST_TREE:
                self.out.broken[work.target] = f"one record leads to more than {LARGEST_TREE} calls"
            if self.out.broken or self._clock.real() > self._end + GRACE_S:
                return None, True
            waiting += self._read(work.target, work.tasks[0] if work.tasks else 0, done.emits)
        return calls, any_failed

    def _read(self, name: str, task: int, emits: list[Emitted]) -> Iterator[_Work]:
        for emit in emits:
            for route, tasks in zip(self._table.routes[name, emit.stream], emit.targets, strict=True):
                if route.target in self._running:
                    yield _Work(route.target, tasks, name, task, emit)

    def _execute(self, work: _Work) -> _Done:
        """Execute a tuple for one subscription; with an all grouping, the result of the first task counts."""
        emit, name = work.emit, work.target
        first = _Done([], False, 0)
        for place, index in enumerate(work.tasks):
            bolt = self._instances.get(name, index)
            if not isinstance(bolt, Bolt):
                continue
            task = self._table.first[work.source] + work.source_task
            values = self._instances.values(work.source, emit.stream, emit.values)
            tup = Tuple(str(self._calls), work.source, emit.stream, task, values)
            done = self._call(name, bolt, partial(bolt.process, tup))
            add(self.out.cost_ns, name, done.spent, 1)
            add(self.out.input_ns, (name, work.source, emit.stream), done.spent, 1)
            if place == 0:
                first = done
        if first.failed:
            first.emits = []
        return first

    def _tick(self, name: str) -> None:
        """Deliver a tick tuple to every task that has an instance."""
        for index, bolt in self._instances.made(name):
            if not isinstance(bolt, Bolt):
                continue
            self._ticked += 1
            tup = Tuple(f"tick{self._ticked}", *_TICK_SOURCE, -1, (1,))
            done = self._call(name, bolt, partial(bolt.process_tick, tup))
            add(self.out.tick_ns, name, done.spent, 1)
            tree, _ = self._tree(name, index, done.emits)
            if tree is None:
                return
            self.out.ticks.setdefault(name, []).append(tree)

    def _call(self, name: str, component: Component, function: Callable[[], Any]) -> _Done:
        self.collector.begin()
        self._calls += 1
        storm_module.enter(component)
        failed = False
        start = thread_time_ns()
        try:
            with at_most(CALL_S):
                function()
        except TookTooLongError:
            failed = True
            self.out.broken[name] = f"a call did not come back within {CALL_S:g} s"
        except (Exception, SystemExit) as error:
            failed = True
            self.out.note(name, f"raised {exception_text(error)}")
        spent = thread_time_ns() - start
        emits = self.collector.end()
        if isinstance(component, Bolt):
            failed |= self.collector.failed
            late = hasattr(component, "process_batch") or not component.auto_ack
            if late and not failed and not self.collector.acked:
                self.out.note(name, "acks tuples later, or never: played as acked when execute ends")
        add(self.out.failures, name, int(failed), 1)
        return _Done(emits, failed, spent)
