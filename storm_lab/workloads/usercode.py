"""User code: what a topology's author writes. It really runs, once, over real input.

A spout yields the records that its ``nextTuple`` calls take from their source; a bolt executes tuples. Both
emit through a function that they are given, and state what each call costs. No time passes here: costs are
declared, and the emulator plays them. One object serves all tasks of a component. A stateful bolt must
therefore keep its state by grouping key, as the tasks of a real bolt can under a fields grouping.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from storm_lab.model.topology import DEFAULT_STREAM


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call of user code costs.

    ``cpu_us`` is CPU time at the trace's reference clock, in microseconds. ``server`` names an external
    server that the call waits for (such as a database for an insert); empty = none. ``server_us`` is the
    service time that the call asks of it. ``resets_timeout``: the call begins with ``collector.resetTimeout``
    of its tuple, because it will take long (from Storm 1.0; ignored before).
    """

    cpu_us: float
    server: str = ""
    server_us: float = 0.0
    resets_timeout: bool = False


class TupleFailedError(Exception):
    """Raised by a bolt's ``execute`` to fail its tuple; the tuples emitted by the call are not sent."""


class Values(tuple[object, ...]):
    """A tuple's values, with the component and the stream that they came from."""

    source: str
    stream: str

    @classmethod
    def of(cls, values: Iterable[object], source: str, stream: str) -> Values:
        """Return values with the ``source`` and the ``stream`` that they were emitted on."""
        made = cls(values)
        made.source = source
        made.stream = stream
        return made


class Emit(Protocol):
    """The emit function that user code is given."""

    def __call__(
        self, *values: object, stream: str = DEFAULT_STREAM, size: int | None = None, task: int | None = None
    ) -> None:
        """Emit one tuple.

        Args:
            values: one for each field that the stream declares.
            stream: a stream that the component declares.
            size: serialised payload in bytes; None = estimated from the values.
            task: for a direct stream, which of the subscriber's tasks gets it, counted from 0.
        """
        ...


class Spout(ABC):
    """A source of tuples."""

    @abstractmethod
    def records(self) -> Iterable[tuple[object, ...]]:
        """Return what successive ``nextTuple`` calls take from the source, for one pass over the input."""

    def next_tuple(self, record: tuple[object, ...], emit: Emit) -> None:
        """Turn one record into emits; by default one tuple with the record's values."""
        emit(*record)

    @abstractmethod
    def cost(self, record: tuple[object, ...]) -> Cost:
        """Return the cost of the ``nextTuple`` call for this record."""


class Bolt(ABC):
    """A step that executes tuples."""

    @abstractmethod
    def execute(self, values: Values, emit: Emit) -> None:
        """Handle one tuple. Emits are anchored to it, and it is acked when this returns.

        Raise `TupleFailedError` to fail it, as with ``collector.fail``.
        """

    @abstractmethod
    def cost(self, values: Values) -> Cost:
        """Return the cost of executing this tuple; called before `execute`."""

    def tick(self, emit: Emit) -> None:  # noqa: B027 - most bolts have no tick
        """Handle a tick tuple, for components with ``tick_seconds``; called once, after the whole input."""

    def tick_cost(self) -> Cost:
        """Return the cost of executing a tick tuple."""
        return Cost(0.0)


class SteadySpout(Spout):
    """A spout of the given ``records`` whose calls all cost ``each``."""

    def __init__(self, each: Cost, records: Iterable[tuple[object, ...]] = ()) -> None:
        self._each = each
        self._records = tuple(records)

    def records(self) -> Iterable[tuple[object, ...]]:
        """Return the records, in order."""
        return self._records

    def cost(self, record: tuple[object, ...]) -> Cost:
        """Return the same cost for every record."""
        return self._each


class SteadyBolt(Bolt):
    """A bolt whose calls all cost ``each``."""

    def __init__(self, each: Cost) -> None:
        self._each = each

    def cost(self, values: Values) -> Cost:
        """Return the same cost for every tuple."""
        return self._each
