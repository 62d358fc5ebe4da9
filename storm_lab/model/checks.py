"""Refusing values that no topology or cluster can have, where they are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import cast

from storm_lab.errors import UserError


def check_whole(owner: str, field: str, value: object, *, low: int, high: int) -> None:
    """Refuse what is no whole number from ``low`` to ``high``.

    Raises:
        UserError: names owner, field, value and range.
    """
    # Numpy's whole numbers are some, too.
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise _refusal(owner, "a whole number", field, value, f"give {low} to {high}")


def check_number(
    owner: str, field: str, value: object, *, low: float = 0.0, high: float = math.inf, unit: str = ""
) -> None:
    """Refuse what is no finite number from ``low`` to ``high``.

    Raises:
        UserError: names owner, field, value and range.
    """
    number = cast("float", value)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and low <= number <= high and number < math.inf):
        bounds = f"{low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
        raise _refusal(owner, "a number", field, value, f"give {bounds} {unit}".rstrip())


def check_name(owner: str, field: str, value: object) -> None:
    """Refuse what is no text, or an empty one.

    Raises:
        UserError: names owner, field and value.
    """
    if not isinstance(value, str) or not value:
        raise _refusal(owner, "a name", field, value, "give a text")


def check_distinct(owner: str, noun: str, names: Sequence[object]) -> None:
    """Refuse a name or number that is there twice.

    Raises:
        UserError: names it.
    """
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise UserError(f"{owner} has this {noun} twice", field=noun, value=name, remedy="change one")
        seen.add(name)


def _refusal(owner: str, wanted: str, field: str, value: object, remedy: str) -> UserError:
    # A value of None is not shown by the error itself.
    instead = ", not None" if value is None else ""
    return UserError(f"{owner} needs {wanted}{instead}", field=field, value=value, remedy=remedy)
