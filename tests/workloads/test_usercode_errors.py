"""User code that raises or never ends is reported in one line with component and record."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

import pytest

from storm_lab.errors import UserError
from storm_lab.model.topology import Component, Subscription, Topology
from storm_lab.model.version import V0_9_7
from storm_lab.workloads import build, checks
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import (
    Bolt,
    Cost,
    Emit,
    Spout,
    SteadyBolt,
    SteadySpout,
    TupleFailedError,
    Values,
)
from storm_lab.workloads.workload_trace import WorkloadTrace


class Words(SteadySpout):
    def __init__(self) -> None:
        super().__init__(Cost(1.0), [("to",), ("be",)])


class Pass(SteadyBolt):
    def __init__(self) -> None:
        super().__init__(Cost(1.0))

    def execute(self, values: Values, emit: Emit) -> None:
        emit(*values)


def build_with(spout: Spout | None = None, bolt: Bolt | None = None, *, loop: bool = False) -> WorkloadTrace:
    inputs = (Subscription("words"), Subscription("count")) if loop else (Subscription("words"),)
    topology = Topology(
        "t",
        (
            Component("words", outputs={"default": ("word",)}),
            Component("count", inputs=inputs, outputs={"default": ("word",)}, tick_seconds=1.0),
        ),
    )
    return build_trace(topology, {"words": spout or Words(), "count": bolt or Pass()}, V0_9_7)


class RaisesInRecords(Words):
    def records(self) -> Iterator[tuple[object, ...]]:
        yield ("to",)
        raise OSError("the file is gone")


class RaisesInExecute(Pass):
    def execute(self, values: Values, emit: Emit) -> None:
        if values[0] == "be":
            raise KeyError(values[0])


class FailsInCost(Pass):
    def cost(self, values: Values) -> Cost:
        raise TupleFailedError


class RaisesInTick(Pass):
    def tick(self, emit: Emit) -> None:
        raise ValueError("two\nlines")


class ExitsInRecords(Words):
    def records(self) -> Iterator[tuple[object, ...]]:
        yield ("to",)
        sys.exit()


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def words(**methods: Callable[..., object]) -> Spout:
    """Return `Words` with other methods."""
    made: Spout = type("Changed", (Words,), methods)()
    return made


def passing(**methods: Callable[..., object]) -> Bolt:
    """Return `Pass` with other methods."""
    made: Bolt = type("Changed", (Pass,), methods)()
    return made


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (RaisesInRecords(), r"words\.records\(record 1\): raised OSError: .* gone \(test_user.*line \d+\)"),
        (
            words(next_tuple=lambda self, record, emit: emit(record[1])),
            r"words\.next_tuple\(\('to',\)\): raised IndexError",
        ),
        (
            words(cost=lambda self, record: Cost(float(record[0]))),
            r"words\.cost\(\('to',\)\): raised ValueError: could not convert",
        ),
        (
            RaisesInExecute(),
            r"count\.execute\(\('be',\)\): raised KeyError: 'be' \(test_usercode_errors\.py, line",
        ),
        (
            passing(cost=lambda self, values: Cost(1 / (len(values) - 1))),
            r"count\.cost\(\('to',\)\): raised ZeroDivisionError",
        ),
        (FailsInCost(), r"count\.cost\(\('to',\)\): raised .*TupleFailedError"),
        (RaisesInTick(), r"count\.tick\(a tick tuple\): raised ValueError: two lines"),
        (words(records=lambda self: ["to"]), r"words\.records: record 0, 'to', is not a tuple"),
        (words(records=lambda self: [("to",), 7]), r"words\.records: record 1, 7, is not a tuple"),
        (
            passing(cost=lambda self, values: Cost(None)),
            r"count\.cost: cpu_us of Cost\(cpu_us=None, .*\) is not a time",
        ),
        (passing(cost=lambda self, values: 3.0), r"count\.cost: 3\.0 is not a Cost; return a Cost"),
        (
            passing(cost=lambda self, values: Cost(1.0, "", 0, None)),
            "resets_timeout: the cost of a call of 'count' needs true or false, not None",
        ),
        (
            passing(cost=lambda self, values: Cost(1.0, 7, 5.0)),
            "server = 7: the cost of a call of 'count' needs a text",
        ),
        (
            passing(execute=lambda self, values, emit: sys.exit(3)),
            r"count\.execute\(\('to',\)\): raised SystemExit: 3 \(test_usercode",
        ),
        (ExitsInRecords(), r"words\.records\(record 1\): raised SystemExit"),
        (
            words(records=lambda self: [(Unprintable(),)], cost=lambda self, record: Cost(float("no price"))),
            r"cost\(<tuple whose repr raises RuntimeError>\): raised ValueError: .*no price",
        ),
        (
            passing(execute=lambda self, values, emit: emit(*values, size="10")),
            r"count\.default = '10': the size is out of range",
        ),
    ],
)
def test_an_error_names_component_and_record_in_one_line(code: Spout | Bolt, message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        build_with(code if isinstance(code, Spout) else None, code if isinstance(code, Bolt) else None)
    assert "\n" not in str(refusal.value)


def test_a_terminated_process_ends_even_inside_user_code() -> None:
    class Interrupted(Pass):
        def execute(self, values: Values, emit: Emit) -> None:
            sys.exit(128 + signal.SIGTERM)  # The signal handler of a pool's process raises this.

    with pytest.raises(SystemExit):
        build_with(bolt=Interrupted())


def test_a_version_as_a_string_is_refused() -> None:
    with pytest.raises(UserError, match=r"version = '0.8.2': a trace needs a StormVersion; give"):
        build_trace(Topology("t", (Component("words"),)), {"words": Words()}, "0.8.2")  # type: ignore[arg-type]


class Endless(Words):
    def records(self) -> Iterable[tuple[object, ...]]:
        return repeat(("to",))


class Twice(Pass):
    def execute(self, values: Values, emit: Emit) -> None:
        emit(*values)
        emit(*values)


class ForEver(Pass):
    def execute(self, values: Values, emit: Emit) -> None:
        while True:
            emit(*values)


def test_an_input_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "LONGEST_INPUT", 1000)
    with pytest.raises(UserError, match=r"words\.records: the spout yields more than 1000 records; end it"):
        build_with(Endless())


def test_an_input_with_too_many_calls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MOST_CALLS", 1000)
    with pytest.raises(UserError, match=r"more than 1000 calls of user code; end records\(\)"):
        build_with(Endless())


@pytest.mark.parametrize("bolt", [Pass(), Twice()], ids=["one for one", "doubling"])
def test_a_cycle_that_emits_for_ever_is_refused(bolt: Bolt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "LARGEST_TREE", 1000)
    with pytest.raises(UserError, match=r"count: one record .*; end the loop through stream count\.default"):
        build_with(bolt=bolt, loop=True)


def test_a_call_that_never_stops_emitting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_EMITS", 1000)
    with pytest.raises(UserError, match=r"count\.default: one call emits more than 1000 tuples"):
        build_with(bolt=ForEver())
