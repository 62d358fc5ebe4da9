"""Checks of values at the place where the user gives them, with errors that say what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from storm_lab.errors import UserError

_NOUNS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}
_NOUNS |= {"NoneType": "None", "ndarray": "an array"}
_FLAGS = dict.fromkeys(("true", "yes", "1", "on"), True) | dict.fromkeys(("false", "no", "0", "off"), False)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The values that a field accepts.

    ``kind`` is bool, int, float (which also accepts whole numbers) or str. ``low`` and ``high`` are inclusive
    bounds of a number. ``choices``, if not empty, lists all texts that are allowed.
    """

    kind: type
    low: float | None = None
    high: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """The type in words."""
        return _type_in_words(self.kind)

    @property
    def range_text(self) -> str:
        """The range or the choices in words; empty when every value of the type is allowed."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind in (bool, str):
            return ""
        unit = f" {self.unit}" if self.unit else ""
        if self.low is not None and self.high is not None:
            return f"{_number_text(self.low)} to {_number_text(self.high)}{unit}"
        if self.low is not None:
            return f"{_number_text(self.low)}{unit} or more"
        return "" if self.high is None else f"{_number_text(self.high)}{unit} or less"

    def problem_with(self, value: object) -> str | None:
        """Return what is wrong with a value, in words that follow its name, or None if it is allowed."""
        if self.kind in (bool, str):
            if not isinstance(value, self.kind):
                return "has the wrong type"
            return "is not one of the allowed values" if self.choices and value not in self.choices else None
        # True is a number in Python, but not a sensible rate. NumPy's numbers are accepted.
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind is int else Real):
            return "has the wrong type"
        number = cast(float, value)
        if not -math.inf < number < math.inf:
            return "is not a finite number"
        below = self.low is not None and number < self.low
        above = self.high is not None and number > self.high
        return "is out of range" if below or above else None

    def check(self, owner: str, field: str, value: object) -> None:
        """Raise `UserError` if a value is not allowed; it names owner, field, value and what is allowed."""
        if self.problem_with(value) is not None:
            raise _type_error(owner, field, value, self.noun, f"give {self.range_text or self.noun}")

    def read(self, text: str) -> bool | int | float | str:
        """Convert a command-line text to a value; return the text itself if it cannot be converted."""
        if self.kind is bool:
            return _FLAGS.get(text.lower(), text)
        for kind in (int, float) if self.kind is not str else ():
            try:
                return cast(float, kind(text))
            except ValueError:
                pass
        return text


def _number_text(bound: float) -> str:
    return f"{bound:g}" if bound != int(bound) or bound >= 1e12 else str(int(bound))


def _type_error(owner: str, field: str, value: object, wanted: str, remedy: str) -> UserError:
    # The error itself does not show a value of None.
    message = f"{owner} needs {wanted}" + (", not None" if value is None else "")
    return UserError(message, field=field, value=value, remedy=remedy)


def _type_in_words(kind: type) -> str:
    name = kind.__name__
    return _NOUNS.get(name) or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def check_kind(owner: str, field: str, value: object, kind: Any) -> None:
    """Raise `UserError` if a value is not of the annotated type ``kind``; it names owner, field and value.

    The items of tuples and mappings are checked, too. A list is accepted in place of a tuple. Numbers are not
    checked here, but with their range by `check_whole` and `check_number`.
    """
    choices = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = [get_origin(choice) or choice for choice in choices]
    if not {int, float, Any}.isdisjoint(kinds):
        return
    if not isinstance(value, (*kinds, list) if tuple in kinds else tuple(kinds)):
        wanted = remedy = " or ".join(map(_type_in_words, kinds))
        if isinstance(value, str) and hasattr(kinds[0], "parse"):
            remedy = f"{kinds[0].__name__}.parse({value!r})"
        elif issubclass(kinds[0], Enum):
            remedy = " or ".join(f"{kinds[0].__name__}.{member.name}" for member in kinds[0])
        elif isinstance(value, type):
            remedy = f"an instance of {kinds[0].__name__}"
        raise _type_error(owner, field, value, wanted, f"give {remedy}")
    item_types = get_args(kind)
    if kinds == [tuple] and item_types[1:] == (...,):
        for index, each in enumerate(cast(Sequence[object], value)):
            check_kind(owner, f"{field}[{index}]", each, item_types[0])
    elif kinds == [Mapping]:
        for key, each in cast(Mapping[object, object], value).items():
            check_kind(owner, f"a key of {field}", key, item_types[0])
            check_kind(owner, f"{field}[{key!r}]", each, item_types[1])


def check_kinds(owner: str, given: Any) -> None:
    """Check every field of a dataclass against its annotation, as `check_kind` does."""
    for name, kind in _field_types(given.__class__):
        check_kind(owner, name, getattr(given, name), kind)


@cache
def _field_types(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((item.name, hints[item.name]) for item in fields(cast(Any, kind)))


def check_whole(owner: str, field: str, value: object, *, low: int, high: int) -> None:
    """Raise `UserError` unless ``value`` is a whole number from ``low`` to ``high``."""
    Allowed(int, low, high).check(owner, field, value)


def check_number(
    owner: str, field: str, value: object, *, low: float = 0.0, high: float | None = None, unit: str = ""
) -> None:
    """Raise `UserError` unless ``value`` is a finite number from ``low`` to ``high``."""
    Allowed(float, low, high, unit).check(owner, field, value)


ID_RULE = "a printable text of 1 to 200 characters without slashes"


def is_id(text: str) -> bool:
    """Return whether a text may be an id: `ID_RULE`, as ids become file names and nodes of ZooKeeper."""
    return 1 <= len(text) <= 200 and text.isprintable() and "/" not in text and "\\" not in text


def check_id(owner: str, value: object) -> None:
    """Raise `UserError` unless a value is a text that `is_id`."""
    if not isinstance(value, str) or not value:
        raise _type_error(owner, "id", value, "a name", "give a text")
    if not is_id(value):
        raise UserError(f"{owner} cannot have this id", field="id", value=value, remedy=f"give {ID_RULE}")


def check_distinct(owner: str, noun: str, names: Sequence[object]) -> None:
    """Raise `UserError` if a name or number occurs twice; it names the duplicate."""
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise UserError(f"{owner} has this {noun} twice", field=noun, value=name, remedy="change one")
        seen.add(name)
