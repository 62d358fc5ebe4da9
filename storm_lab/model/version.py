"""Storm's versions, as far as behaviour differs between them.

A version is compared by its numeric parts; the text is kept for messages and manifests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering


@total_ordering
@dataclass(frozen=True, slots=True)
class StormVersion:
    """A release of Apache Storm, for example ``StormVersion.parse("0.9.7")``."""

    parts: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> StormVersion:
        """Read ``major.minor.patch``.

        Raises:
            ValueError: the text is not three numbers separated by dots.
        """
        pieces = text.strip().split(".")
        if len(pieces) != 3 or not all(piece.isdigit() for piece in pieces):
            raise ValueError(f"storm version {text!r}: write it as three numbers, for example 0.9.7")
        return cls((int(pieces[0]), int(pieces[1]), int(pieces[2])))

    def __lt__(self, other: StormVersion) -> bool:
        return self.parts < other.parts

    def __str__(self) -> str:
        return ".".join(str(part) for part in self.parts)


V0_8_2 = StormVersion((0, 8, 2))
V0_9_0 = StormVersion((0, 9, 0))
V0_9_3 = StormVersion((0, 9, 3))
V0_9_7 = StormVersion((0, 9, 7))
V0_10_0 = StormVersion((0, 10, 0))
V1_0_0 = StormVersion((1, 0, 0))
V1_0_6 = StormVersion((1, 0, 6))
V2_0_0 = StormVersion((2, 0, 0))
V2_8_8 = StormVersion((2, 8, 8))
