"""How many claims got which verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from storm_lab.reporting.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one group of claims: one number for each `Outcome`, in its order."""

    name: str
    counts: tuple[int, ...]

    @classmethod
    def of(cls, name: str, verdicts: Iterable[Verdict]) -> Tally:
        """Count the verdicts of a group."""
        counted = Counter(verdict.outcome for verdict in verdicts)
        return cls(name, tuple(counted[outcome] for outcome in Outcome))

    @property
    def total(self) -> int:
        """All claims of the group."""
        return sum(self.counts)

    @property
    def cells(self) -> list[tuple[str, int]]:
        """Verdict and count, best verdict first."""
        return [(outcome.value, count) for outcome, count in zip(Outcome, self.counts, strict=True)]


def tallies(
    verdicts: Sequence[Verdict], names: Sequence[str], group: Callable[[Verdict], str]
) -> tuple[Tally, ...]:
    """A tally for each name, empty groups included; ``group`` gives a verdict's name."""
    return tuple(Tally.of(name, [v for v in verdicts if group(v) == name]) for name in names)
