"""The load monitors' moving average (T-Storm section IV-B): ``Y <- alpha * Y + (1 - alpha) * sample``."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from storm_lab.errors import UserError

K = TypeVar("K", bound=Hashable)


class MovingAverages(Generic[K]):
    """One average per key, started with the key's first sample; a small ``alpha`` forgets fast.

    A key that has once been seen and is missing from a later sample counts as a sample of zero there.

    Raises:
        UserError: ``alpha`` is not in [0, 1).
    """

    def __init__(self, alpha: float) -> None:
        if not 0 <= alpha < 1:
            raise UserError(
                "the weight of the past is out of range",
                field="alpha",
                value=alpha,
                remedy="give a number from 0 to less than 1",
            )
        self._alpha = alpha
        self._values: dict[K, float] = {}

    def add(self, sample: Mapping[K, float]) -> None:
        """Take in one window's sample."""
        for key in self._values.keys() - sample.keys():
            self._values[key] *= self._alpha
        for key, value in sample.items():
            old = self._values.get(key)
            self._values[key] = value if old is None else self._alpha * old + (1 - self._alpha) * value

    def __getitem__(self, key: K) -> float:
        return self._values[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    @property
    def values(self) -> Mapping[K, float]:
        """All averages, in order of first sight."""
        return self._values
