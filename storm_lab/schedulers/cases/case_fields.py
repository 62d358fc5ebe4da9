"""Checked reading of single values from a case's JSON.

Each function raises a `UserError` that names the value and its place (``what`` or ``owner``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar

from storm_lab.errors import UserError, check_known
from storm_lab.model.topology import MAX_AMOUNT

T = TypeVar("T")

_MOST = 1 << 63


def a_mapping(raw: Any, what: str) -> Mapping[str, Any]:
    """Check that ``raw`` is a JSON object and return it."""
    if not isinstance(raw, dict):
        raise UserError("must be a JSON object", field=what, value=raw)
    return raw


def a_sequence(raw: Any, what: str) -> list[Any]:
    """Check that ``raw`` is a JSON list and return it."""
    if not isinstance(raw, list):
        raise UserError("must be a JSON list", field=what, value=raw)
    return raw


def required(raw: Mapping[str, Any], key: str, owner: str) -> Any:
    """Return the value of a required key."""
    if key not in raw:
        raise UserError(f"{owner} needs it", field=key)
    return raw[key]


def a_name(raw: Any, what: str) -> str:
    """Return a text that is not empty; a whole number is converted to a text."""
    if isinstance(raw, bool) or not isinstance(raw, str | int) or raw == "":
        raise UserError("must be a text", field=what, value=raw if raw is not None else "null")
    text = str(raw)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(
            "contains half of a surrogate pair, which cannot be encoded", field=what, value=text
        ) from None
    return text


def a_row(raw: Any, length: int, what: str, shape: str) -> list[Any]:
    """Return a list of exactly ``length`` values; ``shape`` describes them in errors."""
    row = a_sequence(raw, what)
    if len(row) != length:
        raise UserError(f"a row must be {shape}", field=what, value=row)
    return row


def a_whole(raw: Any, what: str) -> int:
    """Return a whole number of at most 63 bits."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or raw % 1 != 0 or abs(raw) >= _MOST:
        raise UserError("must be a whole number", field=what, value=raw)
    return int(raw)


def a_whole_or_none(raw: Any, what: str) -> int | None:
    """Return a whole number, or None for None."""
    return None if raw is None else a_whole(raw, what)


def an_amount(raw: Any, what: str) -> float:
    """Return a finite number that is not negative."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise UserError("must be a number", field=what, value=raw)
    if not 0 <= raw <= MAX_AMOUNT:
        raise UserError(f"must not be negative or more than {MAX_AMOUNT:g}", field=what, value=raw)
    return float(raw)


class Fields:
    """The fields of one object in a case, which errors call ``owner``. Missing fields have defaults.

    Raises `UserError` for an unknown key, which is usually a misspelling.
    """

    def __init__(self, raw: Mapping[str, Any], owner: str, known: Set[str]) -> None:
        self.raw = raw
        self.owner = owner
        for key in raw:
            check_known("key", key, known, owner)

    def value(self, key: str, check: Callable[[Any, str], T], default: Any) -> T:
        """Return the value of a key, checked by one of the functions above."""
        return check(self.raw.get(key, default), f"{key} of {self.owner}")

    def items(self, key: str, check: Callable[[Any, str], T]) -> tuple[T, ...]:
        """Return the checked items of a list; none if there is no list."""
        return tuple(check(item, f"{key} of {self.owner}") for item in self.value(key, a_sequence, []))
