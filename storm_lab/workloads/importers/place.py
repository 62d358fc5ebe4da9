"""Places in files, and the notes that an importer makes about them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: a file, its line from 1 if lines are known, and the path of keys to it."""

    file: str
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where} {self.key}".rstrip()


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something that was read and could not be used.

    ``missing``: the topology cannot be played without it. Otherwise it is played without it, or with what the
    reason names in its place.
    """

    place: Place
    what: str
    reason: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.what}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Assumed:
    """A figure that is not stated: its component, what it is, its value, and where the value comes from."""

    component: str
    what: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.component}: {self.what} {self.value} ({self.reason})"


@dataclass(slots=True)
class Notes:
    """What an import reports, in the order in which it came up."""

    unusable: list[Unusable] = field(default_factory=list)
    assumed: list[Assumed] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Sentences about what was read and how."""

    def cannot_use(self, place: Place, what: str, reason: str, *, missing: bool = False) -> None:
        """Note, once, something that is left out."""
        item = Unusable(place, what, reason, missing)
        if item not in self.unusable:
            self.unusable.append(item)

    def missing(self, place: Place, what: str, reason: str) -> None:
        """Note something without which the topology cannot be played."""
        self.cannot_use(place, what, reason, missing=True)

    def assume(self, component: str, what: str, value: str, reason: str) -> None:
        """Note a figure that is not stated."""
        self.assumed.append(Assumed(component, what, value, reason))
