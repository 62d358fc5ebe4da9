"""What the runs of Word Count say about the claims of MF-Storm's figure 3 and of its section on it."""

from __future__ import annotations

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measured, measurement
from storm_lab.papers.mfstorm.grid import variant
from storm_lab.papers.mfstorm.grid_claims import (
    LEVEL,
    PER_NODE,
    WORKERS,
    GridTables,
    Samples,
    averaged,
    by_seed,
    grid_claims,
    grid_values,
    minutes,
    settled_min,
    share,
    share_claim,
)
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS, SCHEDULERS, refusal
from storm_lab.papers.mfstorm.starter import TWEET_WORD_COUNT, WORD_COUNT
from storm_lab.papers.mfstorm.testbed import SCENARIOS
from storm_lab.papers.mfstorm.tweet_wordcount_claims import SLUG as TWEET_SLUG

SLUG = "mfstorm-wordcount"

CLAIMS = (
    "mfstorm-fig3-s6-default",
    "mfstorm-fig3-s6-isolation",
    "mfstorm-fig3-avg-default",
    "mfstorm-fig3-avg-isolation",
    "mfstorm-fig3-avg",
    "mfstorm-ras-five-slots",
    "mfstorm-stable-5min",
)
METRICS = ("component_throughput_60s", "steady")
"""The metric tables that the notebook and `measure` read."""


def measure(tables: GridTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that the runs of Word Count answer."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    cells = grid_values(tables, SLUG, WORD_COUNT, PER_NODE, seeds)
    slots = {
        kind: grid_values(tables, slug, kind, WORKERS, seeds)["S6", RAS]
        for slug, kind in ((SLUG, WORD_COUNT), (TWEET_SLUG, TWEET_WORD_COUNT))
    }
    return (
        *grid_claims("fig3", cells, WORD_COUNT, (DEFAULT, ISOLATION)),
        share_claim("mfstorm-fig3-avg-default", share(cells, WORD_COUNT, DEFAULT), (DEFAULT,)),
        share_claim("mfstorm-fig3-avg-isolation", share(cells, WORD_COUNT, ISOLATION), (ISOLATION,)),
        Measurement(
            "mfstorm-ras-five-slots",
            tuple(measured(samples, label=kind) for kind, samples in slots.items()),
            "slots",
            "workers under the resource-aware scheduler in scenario 6, which has twelve slots",
            Basis.ARITHMETIC,
        ),
        measurement(
            "mfstorm-stable-5min",
            settled(tables, seeds),
            unit="min",
            how="start of the first reading of 60 s from which on all are within "
            f"{LEVEL:.0%} of the last third's mean; mean over all cells",
        ),
    )


def settled(tables: GridTables, seeds: tuple[int, ...]) -> Samples:
    """When throughput no longer changes, mean over the cells; None where it does in one of them."""
    names = [
        variant(scenario, scheduler)
        for scenario in SCENARIOS
        for scheduler in SCHEDULERS
        if not refusal(scheduler, WORD_COUNT, scenario)
    ]
    return averaged(
        [by_seed(seeds, lambda seed, n=name: settled_min(minutes(tables, SLUG, n, seed))) for name in names]  # type: ignore[misc]
    )
