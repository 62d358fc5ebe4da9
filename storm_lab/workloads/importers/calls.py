"""What Python components did when they were run over real input, to be replayed as user code.

The calls of each component stand in the order in which `storm_lab.workloads.build.build_trace` makes them:
the spouts take turns, record by record, each record breadth first, and ticks follow at the end. A replay that
is asked for another order was made for another topology, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from storm_lab.errors import UserError
from storm_lab.model.javahash import JavaLong
from storm_lab.workloads.importers.figures import Figures
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, TupleFailedError, Values

Input = tuple[str, str]
"""Component and stream that a tuple came from."""


@dataclass(frozen=True, slots=True)
class RecordedEmit:
    """One emitted tuple: values as JSON carries them, payload in bytes, and the task of a direct emit."""

    stream: str
    values: tuple[object, ...]
    size: int
    task: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of user code. ``source``: where its tuple came from; None for a spout's call and a tick."""

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
        """Whose code was run."""
        return frozenset({*self.spouts, *self.bolts})

    def code(self, figures: Mapping[str, Figures]) -> dict[str, Spout | Bolt]:
        """User code that replays the calls, at the costs of ``figures``."""
        replay = _Replay(self)
        code: dict[str, Spout | Bolt] = {}
        for name in self.spouts:
            code[name] = RecordedSpout(name, replay, figures[name])
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

    def length(self, name: str) -> int:
        return len(self._calls[name])

    def take(self, name: str, source: Input | None) -> RecordedCall:
        call = next(self._next[name], None)
        if call is None or call.source != source:
            raise UserError(
                "the calls of this component were recorded in another topology",
                field=name,
                remedy="run the Python again with the topology as it is now",
            )
        return call


class RecordedSpout(Spout):
    """A spout that emits what its own code emitted, call by call."""

    def __init__(self, name: str, replay: _Replay, figures: Figures) -> None:
        self._name = name
        self._replay = replay
        self._cost = Cost(figures.cost_us.mean, figures.server, figures.server_us)

    def records(self) -> Iterator[tuple[object, ...]]:
        """One number for each recorded call."""
        # All spouts are asked for their records before the first one is played, so this rewinds in time.
        self._replay.rewind()
        return iter([(number,) for number in range(self._replay.length(self._name))])

    def next_tuple(self, record: tuple[object, ...], emit: Emit) -> None:
        """Emit what the recorded call emitted."""
        _emit_all(self._replay.take(self._name, None), emit)

    def cost(self, record: tuple[object, ...]) -> Cost:
        """The same for every call."""
        return self._cost


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
        """The stated cost of tuples of this component and stream."""
        figures = self._figures
        cost = figures.input_cost_us.get((values.source, values.stream), figures.cost_us)
        return Cost(cost.mean, figures.server, figures.server_us)

    def tick(self, emit: Emit) -> None:
        """Emit what the recorded tick emitted."""
        if self._tick is not None:
            _emit_all(self._tick, emit)

    def tick_cost(self) -> Cost:
        """The stated cost of a tick."""
        return Cost(self._figures.tick_cost_us)


def _emit_all(call: RecordedCall, emit: Emit) -> None:
    for item in call.emits:
        emit(*map(as_java, item.values), stream=item.stream, size=item.size, task=item.task)


def as_java(value: object) -> object:
    """The Java value that Storm makes of a value of JSON: every whole number is a Long there."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return JavaLong(value)
    if isinstance(value, list | tuple):
        return [as_java(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_java(item) for key, item in value.items()}
    return value
