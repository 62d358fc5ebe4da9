"""A component in figures (cost of a call, emits, distribution of keys), and user code that follows them.

Formats without code (Flux, storm-loadgen, pages of Storm's UI) state at most this much. Costs hold at the
reference clock of workload traces (`storm_lab.workloads.build.REFERENCE_MHZ`).

Fractions are carried from call to call: 0.3 tuples per call means one tuple in every third or fourth call,
so that the average over a trace is as stated. Keys and costs are drawn from a generator of each component's
own, so that the same figures give the same trace on every machine.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, cycle
from statistics import NormalDist

from storm_lab.model.javahash import string_hash
from storm_lab.model.topology import Component
from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values


@dataclass(frozen=True, slots=True)
class Spread:
    """A time in microseconds that varies from call to call: normal, clipped at ``low`` and ``high``.

    storm-loadgen describes rates and latencies in this way. A ``stddev`` of 0 means a constant.
    """

    mean: float
    stddev: float = 0.0
    low: float = 0.0
    high: float = math.inf

    def scaled(self, factor: float) -> Spread:
        """Return the same times on a clock that is slower by ``factor``."""
        return Spread(self.mean * factor, self.stddev * factor, self.low * factor, self.high * factor)

    def as_dict(self) -> dict[str, float]:
        """Return the numbers under the names that files use; without ``max`` if there is none."""
        entry = {"mean": self.mean, "stddev": self.stddev, "min": self.low}
        return entry if math.isinf(self.high) else {**entry, "max": self.high}

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if self.stddev == 0 else f"{self.mean:.6g} (stddev {self.stddev:.6g})"


class KeyShape(StrEnum):
    """How often each key of a field occurs."""

    UNIFORM = "uniform"  # all keys equally often
    ZIPF = "zipf"  # the key of rank r occurs in proportion to r to the power of minus the exponent
    HALF_NORMAL = "half-normal"  # storm-loadgen's skew: of the rank; its scale is a fifth of the keys


@dataclass(frozen=True, slots=True)
class Keys:
    """The distribution of a field's values, for a field that a grouping uses."""

    distinct: int
    shape: KeyShape = KeyShape.UNIFORM
    exponent: float = 1.0


@dataclass(frozen=True, slots=True)
class Emits:
    """What a component emits on one of its streams.

    Each call of its user code emits ``per_call`` tuples on average, each with ``bytes`` of payload. ``keys``
    are by field, for the fields that groupings use.
    """

    per_call: float
    bytes: int
    keys: Mapping[str, Keys] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """A component's behaviour.

    ``cost_us`` is the CPU time of one call, and ``input_cost_us`` that of executing a tuple of a (component,
    stream) where it differs. ``server`` names an external server that every call waits for, and ``server_us``
    is the service time that the call asks of it. ``emits`` holds every declared stream. ``tick_cost_us`` and
    ``tick_emits`` (tuples by stream) describe a tick tuple.
    """

    cost_us: Spread
    emits: Mapping[str, Emits] = field(default_factory=dict)
    input_cost_us: Mapping[tuple[str, str], Spread] = field(default_factory=dict)
    server: str = ""
    server_us: float = 0.0
    tick_cost_us: float = 0.0
    tick_emits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Defaults:
    """Figures for components about which nothing is known; an overlay file may give others.

    ``cost_us``: CPU time of one call at the reference clock, as of a bolt that parses or counts something
    small. ``per_call``: tuples on each stream that has a subscriber. ``bytes``: payload of a tuple, a short
    record. ``rate_per_s``: records per second of all executors of a spout together. ``keys``: distribution of
    a field that a grouping uses; the number of keys is that of storm-loadgen.
    """

    cost_us: float = 100.0
    per_call: float = 1.0
    bytes: int = 100
    rate_per_s: float = 100.0
    keys: Keys = Keys(2048)


Record = tuple[object, ...]

_NORMAL = NormalDist()
_WHOLE = 1e-9  # carried fractions this close to a whole tuple count as one


class StatedCosts:
    """The costs of a spout's or bolt's calls, drawn as its figures state them."""

    def __init__(self, name: str, figures: Figures) -> None:
        self._figures = figures
        self._usual = _draws(name, figures.cost_us)
        self._by_input = {
            source: _draws(f"{name}.{source[0]}.{source[1]}", spread)
            for source, spread in figures.input_cost_us.items()
        }

    def cost(self, given: tuple[object, ...]) -> Cost:
        """Draw the cost of a call for a spout's record, or for a tuple of this component and stream."""
        draw = self._usual
        if isinstance(given, Values):
            draw = self._by_input.get((given.source, given.stream), draw)
        return Cost(draw(), self._figures.server, self._figures.server_us)

    def tick_cost(self) -> Cost:
        """Return the cost of a tick."""
        return Cost(self._figures.tick_cost_us)


class _Stated(StatedCosts):
    """User code that costs and emits what its figures state, with values drawn for the fields of each stream.

    ``direct`` gives the number of tasks behind each direct stream; they are served in turn.
    """

    def __init__(self, component: Component, figures: Figures, direct: Mapping[str, int] = {}) -> None:
        super().__init__(component.id, figures)
        self._carried = dict.fromkeys(figures.emits, 0.0)
        self._tasks = {stream: cycle(range(tasks)) for stream, tasks in direct.items()}
        self._values = {
            stream: [_value(component.id, stream, name, figures.emits[stream]) for name in fields]
            for stream, fields in component.outputs.items()
        }

    def _emit_due(self, emit: Emit) -> None:
        """Emit what one call emits on every stream."""
        for stream, carried in self._carried.items():
            due = carried + self._figures.emits[stream].per_call
            whole = math.floor(due + _WHOLE)
            self._carried[stream] = due - whole
            for _ in range(whole):
                self._emit_one(stream, emit)

    def _emit_one(self, stream: str, emit: Emit) -> None:
        values = [draw() for draw in self._values[stream]]
        task = next(self._tasks[stream]) if stream in self._tasks else None
        emit(*values, stream=stream, size=self._figures.emits[stream].bytes, task=task)


class StatedSpout(_Stated, Spout):
    """A spout whose ``nextTuple`` emits what its figures state, over a number of ``calls``.

    ``given`` are values to emit in place of drawn ones, one record per call, on the component's first stream;
    other streams follow the figures.
    """

    def __init__(
        self,
        component: Component,
        figures: Figures,
        calls: int,
        *,
        given: Sequence[Record] = (),
        direct: Mapping[str, int] = {},
    ) -> None:
        super().__init__(component, figures, direct)
        self._calls, self._given = calls, given
        self._stream = next(iter(component.outputs), "")
        if given:
            self._carried.pop(self._stream, None)

    def records(self) -> Iterable[Record]:
        """Return the given records, or a number for each call."""
        return self._given or ((number,) for number in range(self._calls))

    def next_tuple(self, record: Record, emit: Emit) -> None:
        """Emit the record, if records are given, and what is due on other streams."""
        if self._given:
            emit(*record, stream=self._stream)
        self._emit_due(emit)


class StatedBolt(_Stated, Bolt):
    """A bolt that costs and emits what its figures state, whatever it receives."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit what is due."""
        self._emit_due(emit)

    def tick(self, emit: Emit) -> None:
        """Emit the stated number of tuples on each stream."""
        for stream, tuples in self._figures.tick_emits.items():
            for _ in range(round(tuples)):
                self._emit_one(stream, emit)


def _value(component: str, stream: str, field: str, emits: Emits) -> Callable[[], str]:
    keys = emits.keys.get(field)
    if keys is None:
        return lambda: field
    draw = SplitMix(string_hash(f"{component}.{stream}.{field}"))
    names = [f"{field}-{number}" for number in range(keys.distinct)]
    if keys.shape is KeyShape.UNIFORM:
        return lambda: draw.one(names)
    if keys.shape is KeyShape.ZIPF:
        cumulative = list(accumulate(rank**-keys.exponent for rank in range(1, keys.distinct + 1)))
        return lambda: names[min(len(names) - 1, bisect_right(cumulative, _unit(draw) * cumulative[-1]))]
    scale = len(names) / 5
    return lambda: names[min(len(names) - 1, int(abs(_normal(draw)) * scale))]


def _draws(name: str, spread: Spread) -> Callable[[], float]:
    if spread.stddev == 0:
        constant = min(max(spread.mean, spread.low), spread.high)
        return lambda: constant
    draw = SplitMix(string_hash(f"cost of {name}"))
    return lambda: min(max(spread.mean + spread.stddev * _normal(draw), spread.low), spread.high)


def _unit(draw: SplitMix) -> float:
    """Draw a number above 0 and below 1."""
    return (draw.below(1 << 52) + 0.5) / (1 << 52)


def _normal(draw: SplitMix) -> float:
    return _NORMAL.inv_cdf(_unit(draw))
