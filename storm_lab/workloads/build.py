"""Build a workload trace: run user code once over its input and record what it does.

Tuples are executed breadth first within one source record, and the spouts take turns, record by record. A
tuple is executed once for each subscription to its stream. This holds also where the grouping sends copies to
several tasks, because all of them do the same.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from storm_lab.errors import StormLabError, UserError, exception_summary, shown
from storm_lab.machine.process_end import is_sigterm
from storm_lab.model.checks import check_kind
from storm_lab.model.topology import Component, Grouping, Subscription, Topology, check_executors
from storm_lab.model.version import StormVersion
from storm_lab.workloads.checks import Emitted, check_code, check_cost, check_groupings, emit_call
from storm_lab.workloads.java_values import fields_key, partial_key_candidates
from storm_lab.workloads.usercode import Bolt, Cost, Spout, TupleFailedError, Values
from storm_lab.workloads.workload_trace import EMISSION, FAILS, RECORD, WorkloadTrace

REFERENCE_MHZ = 2000.0
LARGEST_TREE = 1_000_000
"""Most calls of user code that one source record may cause; this stops an endless loop."""
LONGEST_INPUT = 1_000_000  # most records of a spout; this stops an endless input
MOST_CALLS = 10_000_000  # most calls of user code in total; their records take some gigabytes of memory

_KEYED = (Grouping.DIRECT, Grouping.FIELDS, Grouping.PARTIAL_KEY)
"""Groupings that depend on what is emitted; copies through other groupings have no key."""
_NO_KEY = (0, 0)


def build_trace(
    topology: Topology,
    code: Mapping[str, Spout | Bolt],
    version: StormVersion,
    *,
    reference_mhz: float = REFERENCE_MHZ,
) -> WorkloadTrace:
    """Run ``code`` (by component id) on ``topology`` and return a trace of what it did.

    ``version`` decides how grouping keys are hashed. ``reference_mhz`` is the clock rate for which the costs
    hold.

    Raises a `UserError` that names component, stream and record if topology and code do not fit, a grouping
    names a field that its stream lacks, user code raises or emits on an undeclared stream or with the wrong
    number of values, a cost is negative or not a number, a value cannot be hashed or sized, or a loop or an
    input never ends.
    """
    check_kind("a trace", "topology", topology, Topology)
    check_kind("a trace", "version", version, StormVersion)
    check_executors(topology)
    check_code(topology, code)
    check_groupings(topology)
    recording = _Recording(topology, code, version)
    passes = {name: _records(name, spout) for name, spout in code.items() if isinstance(spout, Spout)}
    while passes:
        for name in list(passes):
            record = next(passes[name], None)
            if record is None:
                del passes[name]
            else:
                recording.play_source(name, record)
    for name, rows in recording.sources.items():
        if not rows:
            remedy = "give it an input that is not empty"
            raise UserError("the spout yields no record", field=name, remedy=remedy)
    for component in topology.bolts:
        if component.tick_seconds is not None:
            recording.play_tick(component.id)
    return recording.trace(reference_mhz)


@dataclass(frozen=True, slots=True)
class _Route:
    """A subscription with what is needed to compute its grouping key."""

    target: Component
    subscription: Subscription
    positions: tuple[int, ...]
    keyed: bool


class _Work(NamedTuple):
    """A pending call of user code, the record that it fills, and the grouping key of that record."""

    record: int
    component: str
    values: Values
    key: tuple[int, int]


_EMPTY = (0, 0, -1, 0, 0, 0, 0, 0)  # a record that is not filled yet


class _Recording:
    """The tables of a trace while they grow."""

    def __init__(self, topology: Topology, code: Mapping[str, Spout | Bolt], version: StormVersion) -> None:
        self.code, self.version = code, version
        self.records: list[tuple[int, int, int, int, int, int, int, int]] = []
        self.emissions: list[tuple[int, int, int]] = []
        self.servers: dict[str, int] = {}
        self.sources: dict[str, list[int]] = {name: [] for name in code if isinstance(code[name], Spout)}
        self.ticks: dict[str, int] = {}
        self.keys: dict[str, int] = {}  # cached grouping keys of single texts
        declared = [(c.id, stream) for c in topology.components for stream in c.outputs]
        self.streams = {key: number for number, key in enumerate(declared)}
        self.routes = {key: _routes(topology, *key) for key in declared}
        self.waiting: deque[_Work] = deque()  # what the calls of the current record have led to
        self.made: list[Emitted] = []  # what the current call of user code has emitted
        self.emits = {c.id: emit_call(c, self.made) for c in topology.components}

    def play_source(self, name: str, record: tuple[object, ...]) -> None:
        """Run one ``nextTuple`` call and everything that follows from it."""
        row = self._new_rows(1)
        self.sources[name].append(row)
        cost, _ = self._call(name, "cost", "next_tuple", record)
        self._play_tree(row, name, cost)

    def play_tick(self, name: str) -> None:
        """Run one tick tuple at a bolt and everything that follows from it."""
        row = self.ticks[name] = self._new_rows(1)
        cost, _ = self._call(name, "tick_cost", "tick")
        self._play_tree(row, name, cost)

    def _call(self, name: str, stating: str, doing: str, *given: tuple[object, ...]) -> tuple[Cost, bool]:
        """Call the methods of user code that state a cost and do the work; return the cost, and failure."""
        code, call = self.code[name], stating
        try:
            cost = getattr(code, stating)(*given)
            call = doing
            getattr(code, doing)(*given, self.emits[name])
        except (Exception, SystemExit) as error:
            if call == "execute" and isinstance(error, TupleFailedError):
                self.made.clear()
                return cost, True
            shown_input = shown(tuple(given[0])) if given else "a tick tuple"
            raise _as_user_error(error, name, call, shown_input) from error
        return cost, False

    def _play_tree(self, row: int, name: str, cost: Cost) -> None:
        self._note_call(row, name, cost, _NO_KEY, failed=False)
        calls = 1
        while self.waiting:
            record, component, values, key = self.waiting.popleft()
            calls += 1
            if calls + len(self.waiting) > LARGEST_TREE:
                message = f"one record of the input leads to more than {LARGEST_TREE} executions"
                remedy = f"end the loop through stream {values.source}.{values.stream}"
                raise UserError(message, field=component, remedy=remedy)
            cost, failed = self._call(component, "cost", "execute", values)
            self._note_call(record, component, cost, key, failed=failed)

    def _note_call(self, row: int, name: str, cost: Cost, key: tuple[int, int], *, failed: bool) -> None:
        """Record a call that was just made, and queue what it emitted for the receivers."""
        first, emissions = len(self.emissions), FAILS if failed else len(self.made)
        for emitted in self.made:
            origin = (name, emitted.stream)
            routes = self.routes[origin]
            rows = self._new_rows(len(routes)) if routes else -1
            self.emissions.append((rows, self.streams[origin], emitted.size))
            if routes:
                values = Values.of(emitted.values, name, emitted.stream)
                for record, route in enumerate(routes, rows):
                    own = self._key(route, emitted) if route.keyed else _NO_KEY
                    self.waiting.append(_Work(record, route.target.id, values, own))
        self.made.clear()
        check_cost(name, cost)
        server, server_ns = -1, 0
        if cost.server:
            server = self.servers.setdefault(cost.server, len(self.servers))
            server_ns = round(cost.server_us * 1000)
        cpu_ns, resets = round(cost.cpu_us * 1000), int(cost.resets_timeout)
        self.records[row] = (cpu_ns, server_ns, server, *key, first, emissions, resets)

    def _key(self, route: _Route, emitted: Emitted) -> tuple[int, int]:
        grouping = route.subscription.grouping
        selected = [emitted.values[position] for position in route.positions]
        tasks = route.target.task_count
        if grouping is Grouping.DIRECT:
            where = _between(route, emitted)
            if not isinstance(emitted.task, int) or not 0 <= emitted.task < tasks:
                message = "a direct stream needs a task to go to"
                remedy = f"emit it with task= a number from 0 to {tasks - 1}"
                raise UserError(message, field=where, value=emitted.task, remedy=remedy)
            return emitted.task, 0
        try:
            if grouping is Grouping.FIELDS:
                return self._fields_key(selected), 0
            return partial_key_candidates(selected, emitted.values[0], tasks, self.version)
        except (TypeError, ValueError, RecursionError) as error:
            remedy = "group on texts, numbers or lists of them"
            raise UserError(str(error), field=_between(route, emitted), remedy=remedy) from None

    def _fields_key(self, selected: list[object]) -> int:
        """Return `fields_key`, cached for single texts, because words recur often."""
        if len(selected) != 1 or type(text := selected[0]) is not str:
            return fields_key(selected, self.version)
        key = self.keys.get(text)
        if key is None:
            key = self.keys[text] = fields_key(selected, self.version)
        return key

    def _new_rows(self, count: int) -> int:
        first = len(self.records)
        if first + count > MOST_CALLS:
            message = f"the input leads to more than {MOST_CALLS} calls of user code"
            remedy = "end records() or give less input: the emulator takes it again from the start"
            raise UserError(message, field="records", remedy=remedy)
        self.records.extend([_EMPTY] * count)
        return first

    def trace(self, reference_mhz: float) -> WorkloadTrace:
        """Return the finished tables as a trace."""
        records = np.array(self.records, dtype=RECORD)
        emissions = np.array(self.emissions, dtype=EMISSION)
        sources = {name: np.array(rows, dtype=np.int64) for name, rows in self.sources.items()}
        streams, servers, ticks = tuple(self.streams), tuple(self.servers), dict(self.ticks)
        digest = hashlib.sha256()
        for table in (records, emissions):
            for column in table.dtype.names or ():
                digest.update(np.ascontiguousarray(table[column]).astype("<i8").tobytes())
        for name, rows in sources.items():
            digest.update(f"{name}:{len(rows)};".encode())
            digest.update(rows.astype("<i8").tobytes())
        digest.update(repr((streams, servers, sorted(ticks.items()), reference_mhz)).encode())
        return WorkloadTrace(
            records, emissions, streams, sources, ticks, servers, reference_mhz, digest.hexdigest()
        )


def _between(route: _Route, emitted: Emitted) -> str:
    return f"{route.subscription.source}.{emitted.stream} to {route.target.id}"


def _as_user_error(error: BaseException, component: str, call: str, given: str) -> BaseException:
    """Turn an exception of user code into a one-line error; return other exceptions unchanged."""
    if isinstance(error, StormLabError) or is_sigterm(error):
        return error
    return UserError(f"raised {exception_summary(error)}", field=f"{component}.{call}({given})")


def _records(name: str, spout: Spout) -> Iterator[tuple[object, ...]]:
    """Yield a spout's records, after a check of each."""
    number = 0
    try:
        given: Iterable[object] = spout.records()
        for record in given:
            if isinstance(record, str | bytes) or not isinstance(record, Iterable):
                message = f"record {number}, {shown(record)}, is not a tuple"
                raise UserError(message, field=f"{name}.records", remedy="yield a tuple of values")
            if number == LONGEST_INPUT:
                remedy = "end it: the emulator takes the records again from the start"
                message = f"the spout yields more than {LONGEST_INPUT} records"
                raise UserError(message, field=f"{name}.records", remedy=remedy)
            yield tuple(record)
            number += 1
    except (Exception, SystemExit) as error:
        raise _as_user_error(error, name, "records", f"record {number}") from error


def _routes(topology: Topology, source: str, stream: str) -> tuple[_Route, ...]:
    """Return the subscriptions to a stream, in the order in which the topology declares them."""
    names = topology.component(source).outputs[stream]
    return tuple(
        _Route(target, item, tuple(map(names.index, item.fields)), item.grouping in _KEYED)
        for target in topology.components
        for item in target.inputs
        if (item.source, item.stream) == (source, stream)
    )
