"""Parameters of policies: frozen dataclasses whose fields have defaults and allowed values.

Fields are made by :func:`parameter`; the command line gives values as ``key=value`` texts.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable
from typing import Any

from storm_lab.errors import UserError, check_known
from storm_lab.model.checks import Allowed


def parameter(
    default: Any, *, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """Declare a field with its default and its allowed values; ``docs/schedulers.md`` has the meanings."""
    allowed = Allowed(type(default), low, high, choices=choices)
    return dataclasses.field(default=default, metadata={"allowed": allowed})


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyParameters:
    """Base of checked parameters: a subclass is a frozen dataclass of fields made by `parameter`.

    Raises `UserError` with parameter, value and range if a field does not allow its value.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            field.metadata["allowed"].check("the scheduler", field.name, getattr(self, field.name))


def parse_parameters(kind: type, texts: Iterable[str], *, owner: str) -> Any:
    """Build the parameter object ``kind`` from ``key=value`` texts such as ``gamma=1.7``; later ones win.

    All fields of ``kind`` have defaults; ``owner`` is the policy's name, for messages. Raises `UserError` for
    a text without ``=``, an unknown key, or a value of the wrong type or out of range.
    """
    hints = typing.get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind)}
    values: dict[str, object] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not separator:
            raise UserError("a parameter must be key=value", field="param", value=text)
        check_known("parameter", key, known, f"scheduler {owner!r}", field="param")
        values[key] = _convert(value.strip(), hints[key], key)
    return kind(**values)


def _convert(text: str, hint: Any, key: str) -> object:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if text.lower() == "none":
            return None
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if hint not in (bool, int, float, str):
        raise UserError("cannot be given as a text", field=key, value=text)
    allowed = Allowed(hint)
    value = allowed.read(text)
    allowed.check("the scheduler", key, value)
    return hint(value)
