"""Storm's versions, as far as behaviour differs between them."""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.errors import UserError

_RELEASED = {(0, 8), (0, 9), (0, 10), (1, 0), (1, 1), (1, 2)} | {(2, minor) for minor in range(9)}
"""Major and minor numbers of the releases whose behaviour is known."""


@dataclass(frozen=True, slots=True, order=True)
class StormVersion:
    """A release of Apache Storm from 0.8 to 2.8, e.g. ``StormVersion.parse("0.9.7")``; else `UserError`."""

    parts: tuple[int, int, int]

    def __post_init__(self) -> None:
        if self.parts[:2] not in _RELEASED or not 0 <= self.parts[2] < 100:
            message, remedy = "is not a known version of Storm", "choose one from 0.8.0 to 2.8"
            raise UserError(message, field="storm version", value=str(self), remedy=remedy)

    @classmethod
    def parse(cls, text: str) -> StormVersion:
        """Parse ``major.minor.patch``; raise `UserError` if it is not three numbers or no known release."""
        pieces = str(text).strip().split(".")
        if len(pieces) != 3 or not all(p.isascii() and p.isdigit() and len(p) < 4 for p in pieces):
            remedy = "write it as three numbers, for example 0.9.7"
            raise UserError("is not a version of Storm", field="storm version", value=text, remedy=remedy)
        return cls((int(pieces[0]), int(pieces[1]), int(pieces[2])))

    def __str__(self) -> str:
        return ".".join(map(str, self.parts))


V0_8_2 = StormVersion((0, 8, 2))
V0_9_0 = StormVersion((0, 9, 0))
V0_9_2 = StormVersion((0, 9, 2))
V0_9_3 = StormVersion((0, 9, 3))
V0_9_4 = StormVersion((0, 9, 4))
V0_9_6 = StormVersion((0, 9, 6))
V0_9_7 = StormVersion((0, 9, 7))
V0_10_0 = StormVersion((0, 10, 0))
V1_0_0 = StormVersion((1, 0, 0))
V1_0_3 = StormVersion((1, 0, 3))
V1_0_6 = StormVersion((1, 0, 6))
V2_0_0 = StormVersion((2, 0, 0))
V2_8_8 = StormVersion((2, 8, 8))
