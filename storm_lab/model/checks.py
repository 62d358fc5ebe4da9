"""Refusing values that no topology or cluster can have, where they are given."""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.errors import UserError
from storm_lab.model.allowed import Allowed


def check_whole(owner: str, field: str, value: object, *, low: int, high: int) -> None:
    """Refuse what is no whole number from ``low`` to ``high``.

    Raises:
        UserError: names owner, field, value and range.
    """
    Allowed(int, low, high).check(owner, field, value)


def check_number(
    owner: str, field: str, value: object, *, low: float = 0.0, high: float | None = None, unit: str = ""
) -> None:
    """Refuse what is no finite number from ``low`` to ``high``.

    Raises:
        UserError: names owner, field, value and range.
    """
    Allowed(float, low, high, unit).check(owner, field, value)


def check_name(owner: str, field: str, value: object) -> None:
    """Refuse what is no text, or an empty one.

    Raises:
        UserError: names owner, field and value.
    """
    if not isinstance(value, str) or not value:
        # A value of None is not shown by the error itself.
        wanted = "a name, not None" if value is None else "a name"
        raise UserError(f"{owner} needs {wanted}", field=field, value=value, remedy="give a text")


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
