"""Typed policy parameters from ``key=value`` texts, and checks on their ranges.

A policy's parameters are a frozen dataclass whose fields have defaults. Ranges stand beside the field, in its
metadata; see :func:`bounded` and :func:`one_of`.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterable
from typing import Any

from storm_lab.errors import UserError


def bounded(default: float, *, low: float | None = None, high: float | None = None, doc: str = "") -> Any:
    """A numeric field with an inclusive range."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "doc": doc})


def one_of(default: str, choices: tuple[str, ...], *, doc: str = "") -> Any:
    """A text field with a closed set of values."""
    return dataclasses.field(default=default, metadata={"choices": choices, "doc": doc})


def described(default: Any, doc: str) -> Any:
    """A field of any type with a word of explanation."""
    return dataclasses.field(default=default, metadata={"doc": doc})


def check_ranges(parameters: object) -> None:
    """Refuse values outside the ranges that the fields declare. Meant for ``__post_init__``.

    Raises:
        UserError: naming the parameter, the value and the range.
    """
    for field in dataclasses.fields(parameters):  # type: ignore[arg-type]
        value = getattr(parameters, field.name)
        choices = field.metadata.get("choices")
        if choices is not None and value not in choices:
            raise UserError(
                "not a known reading",
                field=field.name,
                value=value,
                remedy=f"use one of {', '.join(choices)}",
            )
        low, high = field.metadata.get("low"), field.metadata.get("high")
        if value is None or (low is None and high is None):
            continue
        if not math.isfinite(value):
            raise UserError("must be a finite number", field=field.name, value=value)
        if low is not None and value < low:
            raise UserError(f"must be at least {low:g}", field=field.name, value=value)
        if high is not None and value > high:
            raise UserError(f"must be at most {high:g}", field=field.name, value=value)


def parse_parameters(kind: type, texts: Iterable[str], *, owner: str) -> Any:
    """Build the parameter object ``kind`` from texts such as ``gamma=1.7``.

    Args:
        kind: a dataclass with defaults for all fields.
        texts: ``key=value`` pairs; later ones win over earlier ones of the same key.
        owner: name of the policy, for messages.

    Raises:
        UserError: a text without ``=``, an unknown key, a value of the wrong type or out of range.
    """
    hints = typing.get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind)}
    values: dict[str, object] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not separator:
            raise UserError("a parameter is written key=value", field="param", value=text)
        if key not in known:
            offered = ", ".join(sorted(known)) or "none"
            raise UserError(
                f"scheduler {owner!r} has no such parameter",
                field="param",
                value=key,
                remedy=f"it has: {offered}",
            )
        values[key] = _convert(value.strip(), hints[key], key)
    return kind(**values)


def _convert(text: str, hint: Any, key: str) -> object:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if text.lower() == "none":
            return None
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if hint is str:
        return text
    if hint is bool:
        if text.lower() in ("true", "yes", "1", "on"):
            return True
        if text.lower() in ("false", "no", "0", "off"):
            return False
        raise UserError("needs true or false", field=key, value=text)
    try:
        if hint is int:
            return int(text)
        if hint is float:
            return float(text)
    except ValueError:
        raise UserError(
            f"needs {'a whole number' if hint is int else 'a number'}", field=key, value=text
        ) from None
    raise UserError("cannot be given as text", field=key, value=text)
