"""MF-Storm's experiments on one topology each (figures 1 to 10): four schedulers in six scenarios.

Word Count and Exclamation come from storm-starter; their spouts sleep 100 ms before each emit. The tweet
variants read 5,000 messages or 2,500 of their words, one every 50 ms per spout.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement
from storm_lab.experiments.trial import Trial, explained, under_trials
from storm_lab.papers.mfstorm import grid_readings as readings
from storm_lab.papers.mfstorm.grid import (
    COMMON,
    EXCLAIM_US,
    JVM_START_S,
    SPLIT_US,
    TWEET_SLEEP_MS,
    cells,
    sleep_parameter,
    variant,
)
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, RAS, SCHEDULERS, playable_cells
from storm_lab.papers.mfstorm.starter import EXCLAMATION, TWEET_EXCLAMATION, TWEET_WORD_COUNT, WORD_COUNT

GRIDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    WORD_COUNT: ("mfstorm-wordcount", (DEFAULT, ISOLATION)),
    EXCLAMATION: ("mfstorm-exclamation", (DEFAULT, ISOLATION, RAS)),
    TWEET_WORD_COUNT: ("mfstorm-tweet-wordcount", (DEFAULT, ISOLATION)),
    TWEET_EXCLAMATION: ("mfstorm-tweet-exclamation", (DEFAULT, ISOLATION, RAS)),
}
"""Topology -> the experiment that runs it, and the baselines that the paper averages over."""

_ISOLATION_S6 = ("S6-mf-storm", "S3-isolation")
"""Runs for scenario 6 of MF-Storm and isolation; isolation's run of scenario 3 stands for scenario 6."""


def grid_experiment(
    kind: str,
    own: tuple[Parameter, ...],
    *,
    title: str,
    figures: str,
    per_node: str,
    settling: Settling,
    further: Mapping[str, str] | None = None,
) -> Experiment:
    """The grid of a topology, with its ``own`` parameters, and the claims of its figure ``per_node``.

    ``further`` maps other claims on scenario 6 to their baselines.
    """
    slug, baselines = GRIDS[kind]
    by_default = f"mfstorm-{per_node}-s6-default"
    pairs = Settling((by_default,), variants=("S6-mf-storm", "S3-default"), reading=readings.INDEPENDENT_RUNS)

    def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
        found = readings.since_submission(tables, slug, kind, parameters.seeds)
        early = readings.since_submission(
            tables, slug, kind, parameters.seeds, until_s=readings.CONSTANT_FROM_S
        )
        return (
            *readings.grid_claims(per_node, found, kind, baselines),
            *(readings.s6_claim(claim, found, baseline) for claim, baseline in (further or {}).items()),
            *readings.independent_runs_claim(by_default, early, DEFAULT),
        )

    return Experiment(
        slug=slug,
        paper="MF-Storm",
        title=f"{title} under four schedulers in six scenarios",
        figure=figures,
        parameters=(*COMMON, *own),
        notebook="mfstorm/grid.ipynb",
        metrics=("component_throughput_60s", "steady"),
        runs=partial(cells, slug, kind),
        measure=measure,
        settling=(settling, pairs),
    )


EXCLAMATION_GRID = grid_experiment(
    EXCLAMATION,
    (sleep_parameter(100.0, " (section on Exclamation)"), EXCLAIM_US),
    title="Exclamation",
    figures="Figures 4 to 6",
    per_node="fig5",
    settling=Settling(("mfstorm-fig5-s6-isolation",), variants=_ISOLATION_S6),
)
TWEET_WORD_COUNT_GRID = grid_experiment(
    TWEET_WORD_COUNT,
    (sleep_parameter(TWEET_SLEEP_MS, " (section on tweet topologies)"), SPLIT_US),
    title="Tweet word count",
    figures="Figures 7, 8",
    per_node="fig8",
    settling=Settling(("mfstorm-fig8-s6-isolation",), variants=_ISOLATION_S6),
)
TWEET_EXCLAMATION_GRID = grid_experiment(
    TWEET_EXCLAMATION,
    (sleep_parameter(TWEET_SLEEP_MS, " (section on tweet topologies)"), EXCLAIM_US),
    title="Tweet exclamation",
    figures="Figures 9, 10",
    per_node="fig10",
    further={"mfstorm-fig10-s6-ras": RAS},
    settling=Settling(("mfstorm-fig10-s6-ras",), variants=("S6-mf-storm", "S6-resource-aware")),
)

_STABLE = "mfstorm-stable-5min"
LATE = Trial(
    "late",
    "JVMs that start in 10 s",
    {JVM_START_S.name: 10.0},
    claims=(_STABLE,),
    reading=True,
    chosen_on=(_STABLE,),
)
"""The longest start that the emulator allows: the first tuple comes as late as on live Storm, or later."""


def _word_count_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grid, the grid with late JVMs, and the tweet word count under the resource-aware scheduler.

    The last run is read for its number of slots.
    """
    grid = partial(cells, GRIDS[WORD_COUNT][0], WORD_COUNT)
    tweets = parameters.changed(sleep_ms=TWEET_SLEEP_MS)
    slug = GRIDS[TWEET_WORD_COUNT][0]
    return (
        *grid(parameters),
        *under_trials(grid, parameters, (LATE,)),
        *cells(slug, TWEET_WORD_COUNT, tweets, scenarios=("S6",), schedulers=(RAS,)),
    )


def _measure_word_count(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    seeds = parameters.seeds
    slug, baselines = GRIDS[WORD_COUNT]
    found = readings.since_submission(tables, slug, WORD_COUNT, seeds)
    slots = {
        kind: readings.grid_values(tables, GRIDS[kind][0], kind, readings.WORKERS, seeds)["S6", RAS]
        for kind in (WORD_COUNT, TWEET_WORD_COUNT)
    }
    workers = "workers under the resource-aware scheduler in scenario 6, which has twelve slots"
    return (
        *readings.grid_claims("fig3", found, WORD_COUNT, baselines),
        *(
            readings.mean_quotient_claim(
                f"mfstorm-fig3-avg-{name}", readings.share(found, WORD_COUNT, name), (name,)
            )
            for name in baselines
        ),
        measurement("mfstorm-ras-five-slots", slots, how=workers),
        *_measure_stable(tables, parameters),
        *explained(_measure_stable, tables, parameters, (LATE,)),
    )


def _measure_stable(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """When throughput is constant, averaged over the cells; None if it never is in one of them."""
    slug, seeds = GRIDS[WORD_COUNT][0], parameters.seeds
    names = [variant(*cell) for cell in playable_cells(WORD_COUNT)]
    by_cell = [
        [readings.constant_min(readings.minutes(tables, slug, name, seed)) for seed in seeds]
        for name in names
    ]
    how = (
        "end of the first minute from which on the mean since submission (equation 2) changes by "
        f"less than {readings.LEVEL_TOLERANCE:.0%} a minute; mean over all cells"
    )
    return (measurement(_STABLE, readings.averaged(by_cell), how=how),)


WORD_COUNT_GRID = Experiment(
    slug=GRIDS[WORD_COUNT][0],
    paper="MF-Storm",
    title="Word Count under four schedulers in six scenarios",
    figure="Figures 1 to 3",
    parameters=(*COMMON, sleep_parameter(100.0, " (section on Word Count)"), SPLIT_US, JVM_START_S),
    notebook="mfstorm/grid.ipynb",
    metrics=("component_throughput_60s", "steady"),
    runs=_word_count_runs,
    measure=_measure_word_count,
    chosen=(LATE,),
    settling=(
        Settling(("mfstorm-fig3-s6-isolation",), variants=_ISOLATION_S6),
        Settling((_STABLE,), variants=tuple(f"*-{name}" for name in SCHEDULERS)),
        Settling((_STABLE,), variants=("*-late",), seeds=10, reading=LATE.label),
    ),
)
