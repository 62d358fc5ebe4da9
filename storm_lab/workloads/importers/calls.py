"""What Python components did when they were run over real input, to be replayed as user code.

Recorded calls and given records are kept as compressed JSON in a file beside a topology's YAML, so that no
code has to run again.

The calls of each component are in the order in which `storm_lab.workloads.build.build_trace` makes them: the
spouts take turns, record by record, each record breadth first, and ticks follow at the end. A replay that is
asked for another order was made for another topology, and raises an error that says so.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from storm_lab.errors import UserError
from storm_lab.workloads.checks import Emitted
from storm_lab.workloads.importers.figures import Figures, StatedCosts
from storm_lab.workloads.java_values import as_java
from storm_lab.workloads.usercode import Bolt, Emit, Spout, TupleFailedError, Values

Input = tuple[str, str]  # component and stream that a tuple came from
KIND = "recording/1"
LARGEST = 512 * 1024 * 1024  # most bytes of a recording, unpacked
Given = Mapping[str, tuple[tuple[object, ...], ...]]


class RecordedCall(NamedTuple):
    """One call of user code; the values of its emits are those that JSON carries.

    ``source`` is where its tuple came from; None for a spout's call and a tick.
    """

    emits: tuple[Emitted, ...]
    source: Input | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """All calls, by component, and the tick of each bolt that has one; empty if no code was run."""

    spouts: Mapping[str, tuple[RecordedCall, ...]] = field(default_factory=dict)
    bolts: Mapping[str, tuple[RecordedCall, ...]] = field(default_factory=dict)
    ticks: Mapping[str, RecordedCall] = field(default_factory=dict)

    @property
    def components(self) -> frozenset[str]:
        """The components whose code was run."""
        return frozenset({*self.spouts, *self.bolts})

    def code(self, figures: Mapping[str, Figures]) -> dict[str, Spout | Bolt]:
        """Return user code that replays the calls, at the costs of ``figures``."""
        spouts = {name: _RecordedSpout(name, calls, figures[name]) for name, calls in self.spouts.items()}
        bolts = {
            name: _RecordedBolt(name, calls, figures[name], self.ticks.get(name))
            for name, calls in self.bolts.items()
        }
        return {**spouts, **bolts}


class _RecordedSpout(StatedCosts, Spout):
    """A spout that emits what its own code emitted; its records are the calls."""

    def __init__(self, name: str, calls: Iterable[RecordedCall], figures: Figures) -> None:
        self._calls = calls
        super().__init__(name, figures)

    def records(self) -> Iterable[tuple[object, ...]]:
        return ((call,) for call in self._calls)

    def next_tuple(self, record: tuple[object, ...], emit: Emit) -> None:
        (call,) = record
        assert isinstance(call, RecordedCall)
        _emit_all(call, emit)


class _RecordedBolt(StatedCosts, Bolt):
    """A bolt that emits what its own code emitted, call by call."""

    def __init__(
        self, name: str, calls: Iterable[RecordedCall], figures: Figures, tick: RecordedCall | None
    ) -> None:
        self._name = name
        self._calls = iter(calls)
        self._tick = tick
        super().__init__(name, figures)

    def execute(self, values: Values, emit: Emit) -> None:
        call = next(self._calls, None)
        if call is None or call.source != (values.source, values.stream):
            message = "the calls of this component were recorded in another topology"
            remedy = "run the Python again with the topology as it is now"
            raise UserError(message, field=self._name, remedy=remedy)
        if call.failed:
            raise TupleFailedError
        _emit_all(call, emit)

    def tick(self, emit: Emit) -> None:
        if self._tick is not None:
            _emit_all(self._tick, emit)


def _emit_all(call: RecordedCall, emit: Emit) -> None:
    for item in call.emits:
        emit(*map(as_java, item.values), stream=item.stream, size=item.size, task=item.task)


def recording_bytes(calls: RecordedCalls, given: Given) -> bytes:
    """Return the content of a recording file: the same for the same calls, on every machine and day."""
    content: dict[str, Any] = {"storm_lab": KIND, "given": dict(given)}
    if calls.components:
        content |= {"spouts": dict(calls.spouts), "bolts": dict(calls.bolts), "ticks": dict(calls.ticks)}
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(json.dumps(content, separators=(",", ":")).encode())
    return packed.getvalue()


def read_recording(path: Path) -> tuple[RecordedCalls, Given]:
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
            return RecordedCalls(), given
        calls = calls_of(content)
    except (ValueError, TypeError, LookupError, OverflowError, AttributeError, RecursionError):
        raise refusal("is damaged") from None
    return calls, given


def calls_of(content: Mapping[str, Any]) -> RecordedCalls:
    """Return the calls in the JSON of a recording (emits: stream, values, size, task).

    Raises `TypeError`, `ValueError`, `LookupError`, `AttributeError` or `OverflowError` if it is invalid.
    """
    return RecordedCalls(
        spouts={str(k): tuple(_call(*row) for row in rows) for k, rows in content["spouts"].items()},
        bolts={str(k): tuple(_call(*row) for row in rows) for k, rows in content["bolts"].items()},
        ticks={str(k): _call(*row) for k, row in content["ticks"].items()},
    )


def _call(emits: Any, source: Any, failed: Any) -> RecordedCall:
    return RecordedCall(
        emits=tuple(
            Emitted(str(stream), tuple(values), int(size), None if task is None else int(task))
            for stream, values, size, task in emits
        ),
        source=None if source is None else (str(source[0]), str(source[1])),
        failed=bool(failed),
    )
