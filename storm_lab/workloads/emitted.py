"""What user code emits, checked as it is emitted."""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.errors import UserError
from storm_lab.model.topology import DEFAULT_STREAM, Component
from storm_lab.workloads.size import payload_bytes
from storm_lab.workloads.trace import LARGEST
from storm_lab.workloads.usercode import Emit

MOST_EMITS = 1_000_000
"""Emits of one call of user code. A call that never ends to emit is stopped here."""


@dataclass(slots=True)
class Emitted:
    """One emitted tuple: its stream, values, payload in bytes, and the task that a direct stream names."""

    stream: str
    values: tuple[object, ...]
    size: int
    task: int | None


def _is_size(size: object) -> bool:
    return isinstance(size, int) and 0 <= size <= LARGEST


def emit_call(component: Component, made: list[Emitted]) -> Emit:
    """The emit call of a component's user code, which adds to ``made``.

    It raises `UserError` for a stream that is not declared, a wrong number of values, a size that is not
    known or out of range, or more emits than one call may make.
    """
    name, outputs = component.id, component.outputs

    def emit(
        *values: object, stream: str = DEFAULT_STREAM, size: int | None = None, task: int | None = None
    ) -> None:
        if stream not in outputs:
            known = ", ".join(outputs) or "none"
            raise UserError(
                "emits on a stream that it does not declare",
                field=f"{name}.{stream}",
                remedy=f"declared are: {known}",
            )
        if len(values) != len(outputs[stream]):
            raise UserError(
                f"emits {len(values)} values where {len(outputs[stream])} fields are declared",
                field=f"{name}.{stream}",
                value=values,
                remedy="give one value for each of: " + ", ".join(outputs[stream]),
            )
        if size is None:
            try:
                size = payload_bytes(values)
            except TypeError as error:
                raise UserError(
                    str(error), field=f"{name}.{stream}", remedy="emit it with size=..."
                ) from None
        if not _is_size(size):
            raise UserError(
                "the size is out of range",
                field=f"{name}.{stream}",
                value=size,
                remedy="give bytes from 0",
            )
        if len(made) >= MOST_EMITS:
            raise UserError(
                f"one call emits more than {MOST_EMITS} tuples",
                field=f"{name}.{stream}",
                remedy="end the loop around emit",
            )
        made.append(Emitted(stream, values, size, task))

    return emit
