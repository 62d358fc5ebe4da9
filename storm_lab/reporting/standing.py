"""Where a claim stands, its cause considered: reproduced, under a reading, impossible as printed, or open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

from storm_lab.experiments.cause import Cause
from storm_lab.reporting.verdict import Outcome, Verdict


class Standing(StrEnum):
    """The four add up to all claims.

    ``READING``: not reproduced in the experiment's own setting, but under a stated reading or trial.
    ``IMPOSSIBLE``: shown to contradict other numbers of the same paper. ``OPEN``: everything else, also what
    no experiment can test.
    """

    REPRODUCED = "reproduced"
    READING = "reproduced under a stated reading"
    IMPOSSIBLE = "impossible as printed"
    OPEN = "open"


def standing(verdict: Verdict, cause: Cause | None) -> Standing:
    """Where one claim stands."""
    if verdict.outcome is Outcome.REPRODUCED:
        return Standing.REPRODUCED
    if any(reading.outcome is Outcome.REPRODUCED for reading in verdict.readings):
        return Standing.READING
    return Standing.IMPOSSIBLE if cause is not None and cause.impossible else Standing.OPEN


def count_standings(verdicts: Iterable[Verdict], causes: Mapping[str, Cause]) -> dict[Standing, int]:
    """How many claims stand where, in the order of `Standing`."""
    counted = Counter(standing(verdict, causes.get(verdict.claim.id)) for verdict in verdicts)
    return {each: counted[each] for each in Standing}
