"""More seeds for claims that an experiment's own seeds leave unsettled.

If an interval over a few seeds reaches across an edge of a claim's band, it does not say on which side the
mean is (`storm_lab.reporting.verdict`). The runs that the claim is measured from, and no others, are then
played with more seeds, until it is settled or `MOST_SEEDS` have been played. Claims that the experiment's
seeds settle keep their mean over those.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters

MOST_SEEDS = 30
"""Most seeds that are ever played."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Claims, and the runs that are played with more seeds for them.

    ``variants`` are patterns (``S6-*``) of the variants that the claims are measured from. ``seeds`` is the
    number of seeds: 1, 2, 3, ... ``reading`` is the reading under which the claims are unsettled; by default
    the experiment's own setting. ``until_s`` ends the further runs early, once everything that the claims are
    measured from exists. ``metrics`` are the metric tables computed for the further seeds; by default all
    that the experiment declares. They must include the tables that the claims are measured from, and those
    that the notebook shows of all seeds.
    """

    claims: tuple[str, ...]
    variants: tuple[str, ...] = ("*",)
    seeds: int = MOST_SEEDS
    reading: str = ""
    until_s: float = 0.0
    metrics: tuple[str, ...] = ()

    def parameters(self, parameters: Parameters) -> Parameters:
        """The parameters with the larger number of seeds."""
        return parameters.changed(seeds=tuple(range(1, self.seeds + 1)))

    def played(self, parameters: Parameters) -> Parameters:
        """The parameters with which the further seeds are played."""
        more = self.parameters(parameters)
        return more.changed(duration_s=self.until_s) if self.until_s else more

    def needs(self, variant: str) -> bool:
        """Return whether the claims are measured from this variant's runs."""
        return any(fnmatchcase(variant, pattern) for pattern in self.variants)

    def settles(self, found: Measurement) -> bool:
        """Return whether this measurement belongs to one of the claims."""
        return found.claim_id in self.claims and found.reading == self.reading
