"""Counts of verdicts, and the standing of each claim, which also considers its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from storm_lab.experiments.cause import Cause, load_causes
from storm_lab.experiments.measurement import Basis
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
        """Number of claims in the group."""
        return sum(self.counts)

    @property
    def cells(self) -> list[tuple[Outcome, int]]:
        """Verdict and count, best verdict first."""
        return list(zip(Outcome, self.counts, strict=True))


def by_paper(verdicts: Sequence[Verdict]) -> tuple[Tally, ...]:
    """A tally for each paper."""
    papers = dict.fromkeys(verdict.claim.paper for verdict in verdicts)
    return tuple(Tally.of(paper, [v for v in verdicts if v.claim.paper == paper]) for paper in papers)


def by_basis(verdicts: Sequence[Verdict]) -> tuple[Tally, ...]:
    """A tally for each basis."""
    return tuple(Tally.of(basis.value, [v for v in verdicts if v.basis is basis]) for basis in Basis)


class Standing(StrEnum):
    """Standing of a claim; the numbers of all four add up to all claims.

    ``READING``: not reproduced in the experiment's own setting, but under a stated reading or trial.
    ``IMPOSSIBLE``: shown to contradict other numbers of the same paper. ``OPEN``: everything else, including
    claims that no experiment can test.
    """

    REPRODUCED = "reproduced"
    READING = "reproduced under a stated reading"
    IMPOSSIBLE = "impossible as printed"
    OPEN = "open"


def standing(verdict: Verdict, cause: Cause | None) -> Standing:
    """Return the standing of one claim."""
    if verdict.outcome is Outcome.REPRODUCED:
        return Standing.REPRODUCED
    if any(reading.outcome is Outcome.REPRODUCED for reading in verdict.readings):
        return Standing.READING
    return Standing.IMPOSSIBLE if cause is not None and cause.impossible else Standing.OPEN


def count_chosen(verdicts: Iterable[Verdict]) -> int:
    """Number of claims that are reproduced only under readings that were chosen with the claim in view."""
    counting = [
        [reading for reading in verdict.readings if reading.outcome is Outcome.REPRODUCED]
        for verdict in verdicts
        if verdict.outcome is not Outcome.REPRODUCED
    ]
    return sum(bool(found) and all(each.basis is Basis.FITTED for each in found) for found in counting)


def count_standings(verdicts: Iterable[Verdict]) -> dict[Standing, int]:
    """Number of claims of each standing, in the order of `Standing`."""
    counted = Counter(standing(verdict, load_causes().get(verdict.claim.id)) for verdict in verdicts)
    return {each: counted[each] for each in Standing}
