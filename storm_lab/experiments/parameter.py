"""Parameters of experiments: what may be set, of which type, in which range, and why.

The command line, the notebooks and the tests check values here, and nowhere else.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from storm_lab.errors import UserError

_LONGEST_RANGE = 10_000

ParameterValue = bool | int | float | str | tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing a reader may change about an experiment.

    The type is the default's: bool, int, float, str, or a tuple of numbers (a tuple with any float in it
    holds floats). ``low`` and ``high`` bound a number, or every number of a tuple; ``choices`` lists the
    texts that are allowed; with ``is_file`` any other text is the path of a file. ``doc`` says what it is and
    where range and default come from. ``chosen_on`` names the claims that were in view when the default was
    chosen, which makes them fitted ones; empty where it was chosen without.
    """

    name: str
    default: ParameterValue
    doc: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    is_file: bool = False
    chosen_on: tuple[str, ...] = ()

    @property
    def type_name(self) -> str:
        """The type in words, as help texts and errors print it."""
        if isinstance(self.default, tuple):
            return "list of numbers" if self._holds_floats else "list of whole numbers"
        return {bool: "true or false", int: "whole number", float: "number", str: "text"}[type(self.default)]

    @property
    def range_text(self) -> str:
        """The allowed values in words; empty when every value of the type is allowed."""
        if self.choices:
            return "one of " + ", ".join(self.choices) + (", or the path of a file" if self.is_file else "")
        unit = f" {self.unit}" if self.unit else ""
        if self.low is not None and self.high is not None:
            return f"{_short(self.low)} to {_short(self.high)}{unit}"
        if self.low is not None:
            return f"{_short(self.low)}{unit} or more"
        if self.high is not None:
            return f"{_short(self.high)}{unit} or less"
        return ""

    def checked(self, value: object) -> ParameterValue:
        """``value`` in this parameter's type.

        A whole number passes for a float, a list for a tuple; nothing else is converted.

        Raises:
            UserError: wrong type or out of range; names parameter and value and says what is allowed.
        """
        if isinstance(self.default, tuple):
            return self._checked_tuple(value)
        if isinstance(self.default, bool) and isinstance(value, bool):
            return value
        if isinstance(self.default, str) and isinstance(value, str):
            if self.choices and value not in self.choices and not self.is_file:
                raise self._refusal(value, "is not one of the allowed values")
            return value
        if not isinstance(self.default, bool | str):
            return self._checked_number(value, isinstance(self.default, float), value)
        raise self._refusal(value, "has the wrong type")

    def parsed(self, text: str) -> ParameterValue:
        """The value that ``text`` of a command line stands for: ``1.8``, ``true``, ``1,1.8,2.2``,
        ``1-5``.

        Raises:
            UserError: as `checked`.
        """
        if isinstance(self.default, bool):
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            if text.lower() not in words:
                raise self._refusal(text, "has the wrong type")
            return words[text.lower()]
        if isinstance(self.default, str):
            named = not self.is_file or text in self.choices
            # Notebooks run in a folder of their own, so a relative path would mean another file there.
            return self.checked(text if named else str(Path(text).absolute()))
        if isinstance(self.default, tuple):
            pieces = [piece.strip() for piece in text.strip("[]() ").split(",") if piece.strip()]
            return self.checked([number for piece in pieces for number in self._numbers(piece, text)])
        return self.checked(self._number(text, text))

    def _numbers(self, piece: str, whole: str) -> Iterable[int | float]:
        """The number of a piece of a list, or all from the first to the last of a range such as ``1-5``."""
        found = re.fullmatch(r"(\d{1,10})-(\d{1,10})", piece)
        if self._holds_floats or found is None:
            return (self._number(piece, whole),)
        first, last = int(found[1]), int(found[2])
        if not first <= last < first + _LONGEST_RANGE:
            raise self._refusal(whole, f"has a range that is upside down or longer than {_LONGEST_RANGE}")
        return range(first, last + 1)

    def _number(self, piece: str, whole: str) -> int | float:
        try:
            return int(piece)
        except ValueError:
            pass
        try:
            return float(piece)
        except ValueError:
            raise self._refusal(whole, "has the wrong type") from None

    @property
    def _holds_floats(self) -> bool:
        return isinstance(self.default, tuple) and any(isinstance(item, float) for item in self.default)

    def _checked_tuple(self, value: object) -> ParameterValue:
        if not isinstance(value, list | tuple):
            raise self._refusal(value, "has the wrong type")
        if not value:
            raise self._refusal(value, "is empty")
        if self._holds_floats:
            return tuple(float(self._checked_number(item, True, value)) for item in value)
        return tuple(int(self._checked_number(item, False, value)) for item in value)

    def _checked_number(self, item: object, as_float: bool, value: object) -> int | float:
        # True is an int to Python; nobody who writes a rate means it.
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise self._refusal(value, "has the wrong type")
        if isinstance(item, float) and not as_float:
            raise self._refusal(value, "has the wrong type")
        if not math.isfinite(item):
            raise self._refusal(value, "is not a finite number")
        if (self.low is not None and item < self.low) or (self.high is not None and item > self.high):
            raise self._refusal(value, "is out of range")
        return float(item) if as_float else item

    def _refusal(self, value: object, what: str) -> UserError:
        allowed = self.type_name + (f", {self.range_text}" if self.range_text else "")
        return UserError(what, field=f"parameter {self.name}", value=value, remedy=f"give a {allowed}")


def _short(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


class Parameters(Mapping[str, ParameterValue]):
    """Checked values by name; compares and pickles by value. The typed getters spare callers the casts."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, ParameterValue]) -> None:
        self._values = dict(sorted(values.items()))

    def __getitem__(self, name: str) -> ParameterValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Parameters({self._values!r})"

    def only(self, names: Iterable[str]) -> Parameters:
        """The values of ``names`` alone: those that one run depends on."""
        return Parameters({name: self._values[name] for name in names})

    def changed(self, **values: ParameterValue) -> Parameters:
        """A copy with some values set."""
        return Parameters({**self._values, **values})

    def flag(self, name: str) -> bool:
        """A value that is true or false."""
        value = self._values[name]
        if not isinstance(value, bool):
            raise TypeError(f"parameter {name} is not true or false")
        return value

    def integer(self, name: str) -> int:
        """A whole number."""
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"parameter {name} is not a whole number")
        return value

    def number(self, name: str) -> float:
        """A number, as float."""
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"parameter {name} is not a number")
        return float(value)

    def text(self, name: str) -> str:
        """A text."""
        value = self._values[name]
        if not isinstance(value, str):
            raise TypeError(f"parameter {name} is not a text")
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        value = self._values[name]
        if not isinstance(value, tuple):
            raise TypeError(f"parameter {name} is not a list")
        return tuple(int(item) for item in value)

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of numbers, as floats."""
        value = self._values[name]
        if not isinstance(value, tuple):
            raise TypeError(f"parameter {name} is not a list")
        return tuple(float(item) for item in value)


def check_parameters(declared: Iterable[Parameter], given: Mapping[str, object], owner: str) -> Parameters:
    """Every declared parameter, with the values of ``given`` where there are any and the defaults elsewhere.

    ``owner`` is what the parameters belong to, for the message.

    Raises:
        UserError: an unknown name (the message lists what exists and guesses what was meant), or as
            `Parameter.checked`.
    """
    known = {parameter.name: parameter for parameter in declared}
    for name in given:
        if name not in known:
            raise unknown_name("parameter", name, known, owner)
    return Parameters(
        {
            name: parameter.checked(given[name]) if name in given else parameter.default
            for name, parameter in known.items()
        }
    )


def parse_parameters(declared: Iterable[Parameter], texts: Iterable[str], owner: str) -> Parameters:
    """As `check_parameters`, from ``name=value`` texts of a command line.

    Raises:
        UserError: as `check_parameters`; also for a text without ``=`` and for a name given twice.
    """
    declared = tuple(declared)
    known = {parameter.name: parameter for parameter in declared}
    given: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise UserError("is not a parameter", value=text, remedy="write name=value")
        if name not in known:
            raise unknown_name("parameter", name, known, owner)
        if name in given:
            raise UserError("is given twice", field=f"parameter {name}", remedy="give it once")
        given[name] = known[name].parsed(value.strip())
    return check_parameters(declared, given, owner)


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str) -> UserError:
    """The error for a name that does not exist: a guess when one is close, and the list of those that do."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    listed = ", ".join(names) if names else "none"
    return UserError(
        f"{owner} has no such {kind}", field=kind, value=name, remedy=f"{guess}there are: {listed}"
    )
