"""MF-Storm's Word Count (figures 1 to 3): from storm-starter; its spouts sleep 100 ms before each emit."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Samples, Tables, by_label, measurement
from storm_lab.experiments.trial import Trial, explained, under_trials
from storm_lab.papers.mfstorm.grid import (
    COMMON,
    JVM_START_S,
    SPLIT_US,
    TWEET_SLEEP_MS,
    cells,
    sleep_parameter,
    variant,
)
from storm_lab.papers.mfstorm.grid_experiment import SETTLED_VARIANTS
from storm_lab.papers.mfstorm.grid_readings import (
    LEVEL_TOLERANCE,
    WORKERS,
    averaged,
    constant_min,
    grid_claims,
    grid_values,
    mean_quotient_claim,
    minutes,
    share,
    since_submission,
)
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS, SCHEDULERS, playable_cells
from storm_lab.papers.mfstorm.starter import TWEET_WORD_COUNT, WORD_COUNT
from storm_lab.papers.mfstorm.tweet_wordcount import SLUG as TWEET_SLUG

SLUG = "mfstorm-wordcount"

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    sleep_parameter(100.0, "sleep of every spout executor before each emit (section on Word Count)"),
    SPLIT_US,
    JVM_START_S,
)

LATE = Trial(
    "late",
    "JVMs that start in 10 s",
    {JVM_START_S.name: 10.0},
    claims=("mfstorm-stable-5min",),
    reading=True,
    chosen_on=("mfstorm-stable-5min",),
)
"""The longest start that the emulator allows: the first tuple comes as late as on live Storm, or later."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid, the grid with late JVMs, and the tweet word count under the resource-aware scheduler.

    The last run is read for its number of slots.
    """

    def grid(values: Parameters) -> tuple[RunSpec, ...]:
        return cells(SLUG, WORD_COUNT, values)

    tweets = parameters.changed(sleep_ms=TWEET_SLEEP_MS)
    return (
        *grid(parameters),
        *under_trials(grid, parameters, (LATE,)),
        *cells(TWEET_SLUG, TWEET_WORD_COUNT, tweets, scenarios=("S6",), schedulers=(RAS,)),
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims that the runs of Word Count answer."""
    seeds = parameters.seeds
    cells = since_submission(tables, SLUG, WORD_COUNT, seeds)
    slots = {
        kind: grid_values(tables, slug, kind, WORKERS, seeds)["S6", RAS]
        for slug, kind in ((SLUG, WORD_COUNT), (TWEET_SLUG, TWEET_WORD_COUNT))
    }
    workers = "workers under the resource-aware scheduler in scenario 6, which has twelve slots"
    return (
        *grid_claims("fig3", cells, WORD_COUNT, (DEFAULT, ISOLATION)),
        mean_quotient_claim("mfstorm-fig3-avg-default", share(cells, WORD_COUNT, DEFAULT), (DEFAULT,)),
        mean_quotient_claim("mfstorm-fig3-avg-isolation", share(cells, WORD_COUNT, ISOLATION), (ISOLATION,)),
        by_label("mfstorm-ras-five-slots", slots, unit="slots", how=workers),
        *stable(tables, parameters),
        *explained(stable, tables, parameters, (LATE,)),
    )


def stable(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claim on when throughput is constant."""
    how = (
        "end of the first minute from which on the mean since submission (equation 2) changes by "
        f"less than {LEVEL_TOLERANCE:.0%} a minute; mean over all cells"
    )
    return (measurement("mfstorm-stable-5min", settled(tables, parameters.seeds), unit="min", how=how),)


def settled(tables: Tables, seeds: tuple[int, ...]) -> Samples:
    """When throughput stops changing, averaged over the cells; None if it never does in one of them."""
    names = [variant(*cell) for cell in playable_cells(WORD_COUNT)]
    return averaged([[constant_min(minutes(tables, SLUG, name, seed)) for seed in seeds] for name in names])


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Word Count under four schedulers in six scenarios",
    figure="Figures 1 to 3",
    parameters=PARAMETERS,
    notebook="mfstorm/grid.ipynb",
    metrics=("component_throughput_60s", "steady"),
    runs=runs,
    measure=measure,
    chosen=(LATE,),
    settling=(
        Settling(("mfstorm-fig3-s6-isolation",), variants=SETTLED_VARIANTS),
        Settling(("mfstorm-stable-5min",), variants=tuple(f"*-{name}" for name in SCHEDULERS)),
        Settling(("mfstorm-stable-5min",), variants=("*-late",), seeds=10, reading=LATE.label),
    ),
)
