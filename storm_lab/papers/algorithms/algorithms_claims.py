"""What algorithms alone say about the papers' claims: schedulers, cycles, checksums and printed settings."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.papers.algorithms import mfstorm, nstorm, rstorm, tstorm, twitter

CLAIMS = (*twitter.CLAIMS, *tstorm.CLAIMS, *rstorm.CLAIMS, *nstorm.CLAIMS, *mfstorm.CLAIMS)


def measure(tables: None, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure every claim; there are no runs, and so no tables."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    return (
        *twitter.measure(parameters),
        *tstorm.measure(),
        *rstorm.measure(),
        *nstorm.measure(seeds),
        *mfstorm.measure(),
    )
