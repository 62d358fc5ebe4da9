"""What Python components did when they were run over real input, to be replayed as user code.

Recorded calls and given records are kept as compressed JSON in a file beside a topology's YAML, so that no
code has to run again. Like any other file from outside, it is bounded and checked when it is read.

The calls of each component are in the order in which `storm_lab.workloads.build.build_trace` makes them: the
spouts take turns, record by record, each record breadth first, and ticks follow at the end. A replay that is
asked for another order was made for another topology, and raises an error that says so.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.model.javahash import JavaLong
from storm_lab.workloads.importers.figures import Figures
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, SteadySpout, TupleFailedError, Values

Input = tuple[str, str]
"""Component and stream that a tuple came from."""
KIND = "recording/1"
LARGEST = 512 * 1024 * 1024
"""Most bytes of a recording, unpacked."""
Given = Mapping[str, tuple[tuple[object, ...], ...]]


@dataclass(frozen=True, slots=True)
class RecordedEmit:
    """One emitted tuple: values as JSON carries them, payload in bytes, and the task of a direct emit."""

    stream: str
    values: tuple[object, ...]
    size: int
    task: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of user code. ``source`` is where its tuple came from; None for a spout's call and a tick."""

    emits: tuple[RecordedEmit, ...]
    source: Input | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """All calls, by component, and the tick of each bolt that has one."""

    spouts: Mapping[str, tuple[RecordedCall, ...]]
    bolts: Mapping[str, tuple[RecordedCall, ...]]
    ticks: Mapping[str, RecordedCall] = field(default_factory=dict)

    @property
    def components(self) -> frozenset[str]:
        """The components whose code was run."""
        return frozenset({*self.spouts, *self.bolts})

    def code(self, figures: Mapping[str, Figures]) -> dict[str, Spout | Bolt]:
        """Return user code that replays the calls, at the costs of ``figures``."""
        replay = _Replay(self)
        code: dict[str, Spout | Bolt] = {}
        for name, calls in self.spouts.items():
            code[name] = RecordedSpout(name, len(calls), replay, figures[name])
        for name in self.bolts:
            code[name] = RecordedBolt(name, replay, figures[name], self.ticks.get(name))
        return code


class _Replay:
    """How far the calls of each component have been replayed."""

    def __init__(self, calls: RecordedCalls) -> None:
        self._calls = {**calls.spouts, **calls.bolts}
        self._next: dict[str, Iterator[RecordedCall]] = {}
        self.rewind()

    def rewind(self) -> None:
        self._next = {name: iter(calls) for name, calls in self._calls.items()}

    def take(self, name: str, source: Input | None) -> RecordedCall:
        call = next(self._next[name], None)
        if call is None or call.source != source:
            message = "the calls of this component were recorded in another topology"
            raise UserError(message, field=name, remedy="run the Python again with the topology as it is now")
        return call


class RecordedSpout(SteadySpout):
    """A spout that emits what its own code emitted, call by call."""

    def __init__(self, name: str, calls: int, replay: _Replay, figures: Figures) -> None:
        cost = Cost(figures.cost_us.mean, figures.server, figures.server_us)
        super().__init__(cost, ((number,) for number in range(calls)))
        self._name = name
        self._replay = replay

    def records(self) -> Iterable[tuple[object, ...]]:
        """Return one number for each recorded call."""
        # The records of all spouts are requested before the first one is played, so no replay has begun yet.
        self._replay.rewind()
        return super().records()

    def next_tuple(self, record: tuple[object, ...], emit: Emit) -> None:
        """Emit what the recorded call emitted."""
        _emit_all(self._replay.take(self._name, None), emit)


class RecordedBolt(Bolt):
    """A bolt that emits what its own code emitted, call by call."""

    def __init__(self, name: str, replay: _Replay, figures: Figures, tick: RecordedCall | None) -> None:
        self._name = name
        self._replay = replay
        self._figures = figures
        self._tick = tick

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit what the recorded call emitted, or fail as it did."""
        call = self._replay.take(self._name, (values.source, values.stream))
        if call.failed:
            raise TupleFailedError
        _emit_all(call, emit)

    def cost(self, values: Values) -> Cost:
        """Return the stated cost of tuples of this component and stream."""
        figures = self._figures
        cost = figures.input_cost_us.get((values.source, values.stream), figures.cost_us)
        return Cost(cost.mean, figures.server, figures.server_us)

    def tick(self, emit: Emit) -> None:
        """Emit what the recorded tick emitted."""
        if self._tick is not None:
            _emit_all(self._tick, emit)

    def tick_cost(self) -> Cost:
        """Return the stated cost of a tick."""
        return Cost(self._figures.tick_cost_us)


def _emit_all(call: RecordedCall, emit: Emit) -> None:
    for item in call.emits:
        emit(*map(as_java, item.values), stream=item.stream, size=item.size, task=item.task)


def as_java(value: object) -> object:
    """Return the Java value that Storm makes of a JSON value; every integer becomes a Long."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return JavaLong(value)
    if isinstance(value, list | tuple):
        return [as_java(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_java(item) for key, item in value.items()}
    return value


def recording_bytes(calls: RecordedCalls | None, given: Given) -> bytes:
    """Return the content of a recording file: the same for the same calls, on every machine and day."""
    content: dict[str, Any] = {"storm_lab": KIND, "given": {name: list(rows) for name, rows in given.items()}}
    if calls is not None:
        content["spouts"] = {name: [_call(c) for c in items] for name, items in calls.spouts.items()}
        content["bolts"] = {name: [_call(c) for c in items] for name, items in calls.bolts.items()}
        content["ticks"] = {name: _call(item) for name, item in calls.ticks.items()}
    text = json.dumps(content, separators=(",", ":"))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(text.encode())
    return packed.getvalue()


def read_recording(path: Path) -> tuple[RecordedCalls | None, dict[str, tuple[tuple[object, ...], ...]]]:
    """Read calls, if any, and given records by spout; `UserError` if it is no recording or too large."""

    def refusal(message: str) -> UserError:
        return UserError(message, field="recording", value=str(path), remedy="export the topology again")

    try:
        with gzip.open(path) as file:
            data = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise refusal(f"cannot be read ({error})") from None
    if len(data) > LARGEST:
        raise refusal(f"unpacks to more than {LARGEST // 2**20} MiB")
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("storm_lab") != KIND:
            raise refusal("is not a recording of storm-lab")
        given = {str(k): tuple(tuple(row) for row in rows) for k, rows in content["given"].items()}
        if "spouts" not in content:
            return None, given
        calls = RecordedCalls(
            spouts={str(k): tuple(map(_read_call, v)) for k, v in content["spouts"].items()},
            bolts={str(k): tuple(map(_read_call, v)) for k, v in content["bolts"].items()},
            ticks={str(k): _read_call(v) for k, v in content["ticks"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise refusal("is damaged") from None
    return calls, given


def _call(call: RecordedCall) -> list[Any]:
    emits = [[e.stream, list(e.values), e.size, e.task] for e in call.emits]
    return [emits, None if call.source is None else list(call.source), int(call.failed)]


def _read_call(row: Any) -> RecordedCall:
    emits, source, failed = row
    return call_of(source, failed, emits)


def call_of(source: Any, failed: Any, emits: Any) -> RecordedCall:
    """Return a call from JSON (emits: stream, values, size, task); `TypeError` or `ValueError` if invalid."""
    return RecordedCall(
        emits=tuple(
            RecordedEmit(str(stream), tuple(values), int(size), None if task is None else int(task))
            for stream, values, size, task in emits
        ),
        source=None if source is None else (str(source[0]), str(source[1])),
        failed=bool(failed),
    )
