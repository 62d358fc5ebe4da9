"""MF-Storm's averages over topologies, scenarios and baselines, from the runs of the four topologies.

These runs belong to the other experiments and have their names, so nothing is played twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, number_text
from storm_lab.experiments.readings import Samples, Tables, measurement, quotients, value_of
from storm_lab.papers.mfstorm import grid_readings as readings
from storm_lab.papers.mfstorm.grid import COMMON, EXCLAIM_US, SPLIT_US, cells, variant
from storm_lab.papers.mfstorm.grid_experiments import GRIDS
from storm_lab.papers.mfstorm.placement import DEFAULT, MF_STORM, RAS, SCHEDULERS, comparable
from storm_lab.papers.mfstorm.starter import EXCLAMATION, TWEET_EXCLAMATION, TWEET_WORD_COUNT
from storm_lab.papers.mfstorm.testbed import SCENARIOS

SLUG = "mfstorm-summary"

ONE_SLOT_SCENARIOS = ("S1", "S2", "S3")
"""Scenarios with one slot per node."""

TRIED_MS = (20.0, 5.0, 2.0, 1.0, 0.5)
"""Sleeps of Exclamation's spouts tried besides the paper's 100 ms, down to an overload of its workers."""

_LEVEL = "tuples executed by all bolts per s after the warm-up"

Grids = dict[str, readings.Cells]

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    Parameter("sleep_ms", 100.0, "sleep in Word Count and Exclamation", within=(0, 1000, "ms")),
    Parameter("tweet_sleep_ms", 50.0, "sleep in the tweet topologies", within=(0, 1000, "ms")),
    SPLIT_US,
    EXCLAIM_US,
    Parameter(
        "sleeps_tried_ms",
        TRIED_MS,
        "other sleeps for Exclamation in scenario 6, first seed: up to which load the paper's result holds",
        within=(0.2, 1000, "ms"),
    ),
)

TRIED_S, TRIED_WARM_UP_S = 90.0, 50.0
"""Length and warm-up of the runs with other sleeps; long enough for receive queues to fill."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grids of the four topologies, and Exclamation with other sleeps."""
    made: list[RunSpec] = []
    for kind, (slug, _) in GRIDS.items():
        tweets = kind in (TWEET_WORD_COUNT, TWEET_EXCLAMATION)
        sleep_ms = parameters.number("tweet_sleep_ms" if tweets else "sleep_ms")
        made += cells(slug, kind, parameters.changed(sleep_ms=sleep_ms))
    short = parameters.with_first_seed().changed(duration_s=TRIED_S, warm_up_s=TRIED_WARM_UP_S)
    for sleep_ms in dict.fromkeys(parameters.numbers("sleeps_tried_ms")):
        values = short.changed(sleep_ms=sleep_ms)
        made += cells(SLUG, EXCLAMATION, values, scenarios=("S6",), prefix=tried_prefix(sleep_ms))
    return tuple(made)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims on the averages."""
    seeds = parameters.seeds
    per_node = all_grids(tables, readings.PER_NODE, seeds)
    raw = all_grids(tables, readings.THROUGHPUT, seeds)
    means = readings.averaged(list(shares(per_node).values()))
    overall = f"mean of the four topologies' mean quotients, {_LEVEL} and node; no improvement"
    low = {"throughput": one_slot_quotient(raw), "throughput-per-node": one_slot_quotient(per_node)}
    one_slot = f"MF-Storm / default, {_LEVEL}, mean over four topologies and scenarios 1 to 3"
    common = {name: mean_over_common_cells(per_node, name) for name in SCHEDULERS}
    comparable_cells = (
        f"{_LEVEL} and node, mean over the cells in which all schedulers use the slots asked for"
    )
    return (
        measurement("mfstorm-overall-148", means, how=overall),
        measurement("mfstorm-low-slots-equal", low, how=one_slot),
        measurement("mfstorm-isolation-worst", common, how=comparable_cells),
    )


def tried_prefix(sleep_ms: float) -> str:
    """Prefix of the names of the runs with another sleep."""
    return f"sleep{number_text(sleep_ms)}-"


def tried(tables: Tables, sleeps_ms: Sequence[float], seed: int) -> pd.DataFrame:
    """Exclamation in scenario 6: throughput by sleep (index, ms) and scheduler, in tuples/s; first seed."""
    own = tables.steady[tables.steady["experiment"] == SLUG]
    rows = {
        sleep_ms: [
            value_of(own, readings.THROUGHPUT, tried_prefix(sleep_ms) + variant("S6", scheduler), (seed,))[0]
            for scheduler in SCHEDULERS
        ]
        for sleep_ms in sleeps_ms
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(SCHEDULERS)).rename_axis("sleep, ms")


def all_grids(tables: Tables, column: str, seeds: tuple[int, ...]) -> Grids:
    """A column of every topology's grid."""
    return {
        kind: readings.grid_values(tables, slug, kind, column, seeds) for kind, (slug, _) in GRIDS.items()
    }


def shares(grids: Grids) -> dict[str, Samples]:
    """Each topology's mean quotient over scenarios and baselines, in percent."""
    return {
        kind: readings.mean_quotient_over_baselines(grids[kind], kind, baselines)
        for kind, (_, baselines) in GRIDS.items()
    }


def one_slot_quotient(grids: Grids) -> Samples:
    """MF-Storm over default in scenarios with one slot per node, averaged over topologies and scenarios."""
    pairs = [(cells, name) for cells in grids.values() for name in ONE_SLOT_SCENARIOS]
    return readings.averaged([quotients(cells[s, MF_STORM], cells[s, DEFAULT]) for cells, s in pairs])


def mean_over_common_cells(grids: Grids, scheduler: str) -> Samples:
    """A scheduler's mean over the cells that all schedulers share, so that schedulers can be ranked."""
    common = [(kind, name) for kind in grids for name in SCENARIOS if comparable(RAS, kind, name)]
    return readings.averaged([grids[kind][name, scheduler] for kind, name in common])


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Averages over topologies, scenarios and baselines",
    figure="discussion of results",
    parameters=PARAMETERS,
    notebook="mfstorm/summary.ipynb",
    metrics=("steady",),
    runs=runs,
    measure=measure,
)
