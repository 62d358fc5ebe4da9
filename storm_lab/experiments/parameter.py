"""Parameters of experiments: what may be set, with type, range and reason.

The command line, the notebooks and the tests all check values with this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from storm_lab.errors import UserError, check_known
from storm_lab.model.checks import Allowed

_LONGEST_RANGE = 10_000

_Kind = TypeVar("_Kind")

ParameterValue = bool | int | float | str | tuple[int, ...] | tuple[float, ...]

Within = tuple[float | None, float | None] | tuple[float | None, float | None, str]
"""Lowest and highest allowed number, None for no bound, and their unit if they have one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of an experiment that a reader may change.

    The type is the default's: bool, int, float, str, or a tuple of numbers (with any float in it, of floats).
    ``within`` bounds a number, or every number of a tuple: ``(60, 3600, "s")``. ``choices`` lists the allowed
    texts; with ``is_file`` any other text is the path of a file. ``doc`` describes the parameter and gives
    the source of range and default. ``chosen_on`` names the claims that the default was chosen on, which are
    then fitted.
    """

    name: str
    default: ParameterValue
    doc: str
    within: Within = (None, None)
    choices: tuple[str, ...] = ()
    is_file: bool = False
    chosen_on: tuple[str, ...] = ()

    @property
    def low(self) -> float | None:
        """Lowest allowed number; None if there is none."""
        return self.within[0]

    @property
    def high(self) -> float | None:
        """Highest allowed number; None if there is none."""
        return self.within[1]

    @property
    def unit(self) -> str:
        """Unit of the number; empty if it has none."""
        return self.within[2] if len(self.within) == 3 else ""

    @property
    def allowed(self) -> Allowed:
        """Allowed values, or allowed numbers of a list."""
        kind = type(self.default)
        if isinstance(self.default, tuple):
            kind = float if any(isinstance(item, float) for item in self.default) else int
        return Allowed(kind, self.low, self.high, self.unit, () if self.is_file else self.choices)

    @property
    def type_name(self) -> str:
        """The type in words, for help texts and errors."""
        noun = self.allowed.noun.removeprefix("a ")
        return f"list of {noun}s" if isinstance(self.default, tuple) else noun

    @property
    def range_text(self) -> str:
        """The allowed values in words; empty when every value of the type is allowed."""
        if self.is_file:
            return "one of " + ", ".join(self.choices) + ", or the path of a file"
        return self.allowed.range_text

    def checked(self, value: object) -> ParameterValue:
        """Return ``value`` in this parameter's type: an integer as float, a list as tuple if need be.

        Raises `UserError`, which says what is allowed, for a wrong type or a value out of range.
        """
        items: Iterable[object] = (value,)
        if isinstance(self.default, tuple):
            if not isinstance(value, list | tuple):
                raise self._refusal(value, "has the wrong type")
            if not value:
                raise self._refusal(value, "is empty")
            items = value
        allowed = self.allowed
        for item in items:
            problem = allowed.problem_with(item)
            if problem is not None:
                raise self._refusal(value, problem)
        found = tuple(allowed.kind(item) for item in items)
        return found if isinstance(self.default, tuple) else found[0]

    def tried(self, values: tuple[int, ...] | tuple[float, ...], doc: str) -> Parameter:
        """The parameter ``<name>_tried``: a list of other values of this one."""
        return replace(self, name=f"{self.name}_tried", default=values, doc=doc, chosen_on=())

    def parsed(self, text: str) -> ParameterValue:
        """Parse a text: ``1.8``, ``true``, ``1,1.8,2.2``, ``1-5``; `UserError` as `checked`."""
        if self.is_file and text not in self.choices:
            # Notebooks run in another folder, where a relative path would mean another file.
            return str(Path(text).absolute())
        if isinstance(self.default, tuple):
            pieces = [piece.strip() for piece in text.strip("[]() ").split(",") if piece.strip()]
            return self.checked([number for piece in pieces for number in self._numbers(piece, text)])
        return self.checked(self.allowed.read(text))

    def _numbers(self, piece: str, whole: str) -> Iterable[object]:
        """The number in a piece of a list, or all numbers of a range such as ``1-5``."""
        allowed = self.allowed
        found = re.fullmatch(r"(\d{1,10})-(\d{1,10})", piece)
        if allowed.kind is float or found is None:
            return (allowed.read(piece),)
        first, last = int(found[1]), int(found[2])
        if not first <= last < first + _LONGEST_RANGE:
            raise self._refusal(whole, f"has a range that is reversed or longer than {_LONGEST_RANGE}")
        return range(first, last + 1)

    def _refusal(self, value: object, what: str) -> UserError:
        allowed = self.type_name + (f", {self.range_text}" if self.range_text else "")
        return UserError(what, field=f"parameter {self.name}", value=value, remedy=f"give a {allowed}")


def number_text(number: int | float) -> str:
    """Short text of a number that no other number has, for names."""
    short = f"{number:g}"
    return short if isinstance(number, float) and float(short) == number else repr(number)


def seed_parameter(doc: str, default: tuple[int, ...] = (1, 2, 3, 4, 5)) -> Parameter:
    """The parameter ``seeds`` of an experiment."""
    return Parameter("seeds", default, doc, within=(0, 2**31 - 1))


def with_defaults(declared: Sequence[Parameter], **defaults: ParameterValue) -> tuple[Parameter, ...]:
    """The same parameters, some of them with other defaults."""
    return tuple(replace(each, default=defaults.get(each.name, each.default)) for each in declared)


class Parameters(Mapping[str, ParameterValue]):
    """Checked values by name; compares and pickles by value. The getters return values of a known type."""

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
        """The values of ``names`` only, for instance those that one run depends on."""
        return Parameters({name: self._values[name] for name in names})

    def without(self, *names: str) -> Parameters:
        """All values except those of ``names``."""
        return Parameters({name: value for name, value in self._values.items() if name not in names})

    def changed(self, **values: ParameterValue) -> Parameters:
        """A copy with some values set."""
        return Parameters({**self._values, **values})

    @property
    def seeds(self) -> tuple[int, ...]:
        """The parameter ``seeds`` without repetition."""
        return tuple(dict.fromkeys(self.integers("seeds")))

    def with_first_seed(self) -> Parameters:
        """A copy with only the first of the seeds."""
        return self.changed(seeds=self.seeds[:1])

    def flag(self, name: str) -> bool:
        """A value that is true or false."""
        return self._of_type(name, bool, "true or false")

    def integer(self, name: str) -> int:
        """An integer."""
        return self._of_type(name, int, "a whole number")

    def number(self, name: str) -> float:
        """A number, as float."""
        return float(self._of_type(name, (int, float), "a number"))

    def text(self, name: str) -> str:
        """A text."""
        return self._of_type(name, str, "a text")

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers."""
        return tuple(int(item) for item in self._of_type(name, tuple, "a list"))

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of numbers, as floats."""
        return tuple(float(item) for item in self._of_type(name, tuple, "a list"))

    def _of_type(self, name: str, kind: type[_Kind] | tuple[type[_Kind], ...], what: str) -> _Kind:
        value = self._values[name]
        # bool is a subclass of int.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"parameter {name} is not {what}")
        return value


def check_parameters(declared: Iterable[Parameter], given: Mapping[str, object], owner: str) -> Parameters:
    """Return every declared parameter, with its value in ``given`` or its default.

    ``owner`` names what the parameters belong to, for the message. Raises `UserError` as `Parameter.checked`,
    or for an unknown name; the message then lists the known names and suggests one.
    """
    known = {parameter.name: parameter for parameter in declared}
    for name in given:
        check_known("parameter", name, known, owner)
    checked = {name: each.checked(given[name]) for name, each in known.items() if name in given}
    return Parameters({**{name: parameter.default for name, parameter in known.items()}, **checked})


def read_values(declared: Iterable[Parameter], texts: Iterable[str], owner: str) -> dict[str, ParameterValue]:
    """Parse ``name=value`` texts; `UserError`: no ``=``, a name twice, a device, or as `check_parameters`."""
    known = {parameter.name: parameter for parameter in declared}
    given: dict[str, ParameterValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise UserError("is not a parameter", field="param", value=text, remedy="write name=value")
        check_known("parameter", name, known, owner)
        if name in given:
            raise UserError("is given twice", field=f"parameter {name}", remedy="give it once")
        given[name] = known[name].parsed(value.strip())
        if known[name].is_file and given[name] not in known[name].choices:
            # Some devices, such as /dev/zero, have no end.
            path = Path(value.strip())
            with suppress(OSError):
                if path.is_char_device() or path.is_block_device() or path.is_fifo():
                    message, remedy = "is not a regular file", "give the path of a file"
                    raise UserError(message, field=f"parameter {name}", value=str(path), remedy=remedy)
    return given
