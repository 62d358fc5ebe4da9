"""More seeds, for the claims alone that an experiment's own seeds leave unsettled.

An interval over a few seeds that reaches across an edge of a claim's band does not say on which side the mean
lies (`storm_lab.reporting.verdict`). Then the runs that the claim is measured from, and no others, are played
with more seeds, until it is settled or `MOST_SEEDS` are played. Claims that the experiment's seeds settle
keep their mean over these.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters

MOST_SEEDS = 30
"""As many as are ever played."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Claims, and the runs that they need more seeds of.

    ``variants`` are patterns (``S6-*``) of the variants that the claims are measured from, ``seeds`` is how
    many of 1, 2, 3, ... these are played with, and ``reading`` the reading under which the claims are
    unsettled; by default the experiment's own setting. Where ``until_s`` is given, all that the claims are
    measured from is there by then, and the further seeds are played no longer. ``metrics`` are the metric
    tables that the further seeds get, those that the claims are measured from among them; by default all
    that the experiment declares. What the notebook shows of all seeds of such a variant has to be named, too.
    """

    claims: tuple[str, ...]
    variants: tuple[str, ...] = ("*",)
    seeds: int = MOST_SEEDS
    reading: str = ""
    until_s: float = 0.0
    metrics: tuple[str, ...] = ()

    def parameters(self, parameters: Parameters) -> Parameters:
        """The parameters with as many seeds."""
        return parameters.changed(seeds=tuple(range(1, self.seeds + 1)))

    def played(self, parameters: Parameters) -> Parameters:
        """The parameters that the further seeds are played with."""
        more = self.parameters(parameters)
        return more.changed(duration_s=self.until_s) if self.until_s else more

    def needs(self, variant: str) -> bool:
        """Whether the claims are measured from this variant's runs."""
        return any(fnmatchcase(variant, pattern) for pattern in self.variants)

    def settles(self, found: Measurement) -> bool:
        """Whether this measurement is one of the claims'."""
        return found.claim_id in self.claims and found.reading == self.reading
