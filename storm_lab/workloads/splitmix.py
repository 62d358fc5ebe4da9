"""An integer random number generator: the same draws on every machine and with all library versions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MASK = 0xFFFF_FFFF_FFFF_FFFF


class SplitMix:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter and a mixing function."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def next64(self) -> int:
        """Return 64 random bits as an integer from 0."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to ``bound`` - 1; the bias is below ``bound`` / 2**64."""
        return (self.next64() * bound) >> 64

    def one(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.below(len(choices))]

    def place(self, cumulative: Sequence[int]) -> int:
        """Return an index, drawn by weights of which these are the cumulative sums."""
        return bisect_right(cumulative, self.below(cumulative[-1]))
