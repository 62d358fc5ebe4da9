"""Counts of verdicts, and the standing of each claim, which also considers its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from storm_lab.experiments.cause import Cause, load_causes
from storm_lab.experiments.measurement import Basis
from storm_lab.model.grouped import grouped
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
    papers = grouped(verdicts, lambda verdict: verdict.claim.paper)
    return tuple(Tally.of(paper, own) for paper, own in papers.items())


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


def chosen_readings(verdict: Verdict) -> tuple[Verdict, ...]:
    """The readings that reproduce a claim, if nothing else does and all were chosen with it in view."""
    if verdict.outcome is Outcome.REPRODUCED:
        return ()
    found = tuple(reading for reading in verdict.readings if reading.outcome is Outcome.REPRODUCED)
    return found if all(reading.basis is Basis.FITTED for reading in found) else ()


def count_chosen(verdicts: Iterable[Verdict]) -> int:
    """Number of claims that are reproduced only under readings that were chosen with the claim in view."""
    return sum(bool(chosen_readings(verdict)) for verdict in verdicts)


def tried_once(verdicts: Iterable[Verdict]) -> dict[str, tuple[str, ...]]:
    """Values that were tried with one seed, by label, with the claims that only such a value reproduces."""
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        readings = chosen_readings(verdict)
        if all(each.measurement and each.measurement.values[0].seeds == 1 for each in readings):
            for each in readings:
                found.setdefault(each.reading, []).append(verdict.claim.id)
    return {label: tuple(claims) for label, claims in found.items()}


def count_standings(verdicts: Iterable[Verdict]) -> dict[Standing, int]:
    """Number of claims of each standing, in the order of `Standing`."""
    counted = Counter(standing(verdict, load_causes().get(verdict.claim.id)) for verdict in verdicts)
    return {each: counted[each] for each in Standing}
