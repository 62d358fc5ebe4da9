"""Checks of a topology and its user code: refuse groupings, emits and costs that cannot be played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from storm_lab.errors import UserError, shown
from storm_lab.model.checks import check_kinds
from storm_lab.model.topology import DEFAULT_STREAM, Component, Grouping, Topology
from storm_lab.workloads.java_values import payload_bytes
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout
from storm_lab.workloads.workload_trace import LARGEST

_LONGEST_US = 3.6e9  # an hour
MOST_EMITS = 1_000_000  # most emits of one call of user code; this stops a call that emits endlessly


class Emitted(NamedTuple):
    """One emitted tuple: its stream, values, payload in bytes, and the task that a direct stream names."""

    stream: str
    values: tuple[object, ...]
    size: int
    task: int | None = None


def emit_call(component: Component, made: list[Emitted]) -> Emit:
    """Return the emit function for a component's user code; it adds tuples to ``made``.

    It raises `UserError` for a stream that is not declared, a wrong number of values, a size that is unknown
    or out of range, or more emits than one call may make.
    """
    name, outputs = component.id, component.outputs

    def refusal(stream: str, message: str, remedy: str, value: object = None) -> UserError:
        return UserError(message, field=f"{name}.{stream}", value=value, remedy=remedy)

    def emit(
        *values: object, stream: str = DEFAULT_STREAM, size: int | None = None, task: int | None = None
    ) -> None:
        if stream not in outputs:
            known = ", ".join(outputs) or "none"
            raise refusal(stream, "emits on a stream that it does not declare", f"declared are: {known}")
        fields = outputs[stream]
        if len(values) != len(fields):
            message = f"emits {len(values)} values where {len(fields)} fields are declared"
            raise refusal(stream, message, f"give one value for each of: {', '.join(fields)}", values)
        if size is None:
            try:
                size = payload_bytes(values)
            except TypeError as error:
                raise refusal(stream, str(error), "emit it with size=...") from None
        if not isinstance(size, int) or not 0 <= size <= LARGEST:  # type: ignore[redundant-expr]
            raise refusal(stream, "the size is out of range", "give bytes from 0", size)
        if len(made) >= MOST_EMITS:
            raise refusal(stream, f"one call emits more than {MOST_EMITS} tuples", "end the loop around emit")
        made.append(Emitted(stream, values, size, task))

    return emit


def check_cost(name: str, cost: object) -> None:
    """Raise `UserError` unless ``cost`` is a `Cost` with times from 0 to an hour."""
    if not isinstance(cost, Cost):
        raise UserError(f"{shown(cost)} is not a Cost", field=f"{name}.cost", remedy="return a Cost")
    # A trace has hundreds of thousands of costs, so the full check runs only if a type is wrong.
    if type(cost.server) is not str or type(cost.resets_timeout) is not bool:
        check_kinds(f"the cost of a call of {name!r}", cost)
    for time in ("cpu_us", "server_us"):
        if not _is_time(getattr(cost, time)):
            remedy = "give microseconds, from 0 to an hour"
            raise UserError(f"{time} of {shown(cost)} is not a time", field=f"{name}.cost", remedy=remedy)


def _is_time(value: object) -> bool:
    try:
        return bool(0 <= value <= _LONGEST_US)  # type: ignore[operator]
    except (TypeError, ValueError):
        return False


def check_code(topology: Topology, code: Mapping[str, Spout | Bolt]) -> None:
    """Raise `UserError` for a component without code, or for code that does not belong to the topology."""
    ids = [component.id for component in topology.components]
    for name in code:
        if name not in ids:
            raise UserError("there is code for a component that the topology lacks", field="code", value=name)
    for component in topology.components:
        if component.id not in code:
            raise UserError("there is no code for this component", field=component.id)
        wanted = Spout if component.is_spout else Bolt
        if not isinstance(code[component.id], wanted):
            message = f"the code must be a {wanted.__name__}"
            raise UserError(message, field=component.id, value=type(code[component.id]).__name__)


def check_groupings(topology: Topology) -> None:
    """Raise `UserError` for subscriptions to undeclared streams, and groupings by undeclared fields."""
    outputs = {component.id: component.outputs for component in topology.components}
    for component in topology.bolts:
        for subscription in component.inputs:
            where = f"{component.id} from {subscription.source}.{subscription.stream}"
            streams = outputs[subscription.source]
            fields = streams.get(subscription.stream)
            if fields is None:
                remedy = "declared are: " + (", ".join(streams) or "none")
                raise UserError("subscribes to a stream that is not declared", field=where, remedy=remedy)
            if subscription.grouping is Grouping.PARTIAL_KEY and not fields:
                message = "the partial-key grouping needs a field, and the stream has none"
                raise UserError(message, field=where, remedy="declare one, or choose another grouping")
            missing = [name for name in subscription.fields if name not in fields]
            if missing:
                message = f"the {subscription.grouping.value} grouping names a field that the stream lacks"
                remedy = f"its fields are: {', '.join(fields)}"
                raise UserError(message, field=where, value=missing[0], remedy=remedy)
