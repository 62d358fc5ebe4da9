"""T-Storm relieves an overloaded Word Count (section V, figure 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import MOST_SEEDS, Parameter, Parameters, with_defaults
from storm_lab.experiments.readings import Tables, beside, measured, measurement
from storm_lab.papers.tstorm.overload_relief import (
    GAMMAS,
    STREAMS,
    describe_word_count,
    rate_variant,
    relief_settings,
)
from storm_lab.papers.tstorm.relief_readings import (
    BEFORE_S,
    LOST_AT_MOST,
    NOTICED,
    RELIEVED,
    SETTLED_S,
    after_ms,
    before_ms,
    first_schedule_nodes,
    nodes_at,
    noticed_s,
    quotients,
)
from storm_lab.papers.tstorm.testbed import COMMON
from storm_lab.papers.tstorm.word_count import WORKLOAD, run

SLUG = "tstorm-overload-wordcount"

PARAMETERS: tuple[Parameter, ...] = (
    *GAMMAS,
    STREAMS,
    *with_defaults(COMMON, seeds=MOST_SEEDS),
    *with_defaults(WORKLOAD, lines_per_s=75.0),
    Parameter(
        "rates_tried",
        (60.0,),
        "other lines per second and stream, played with the first seed only: few enough for the five "
        "database bolts to store what comes",
        unit="1/s",
        low=20,
        high=500,
    ),
)
"""Two streams of figure 6's rate are more than the five database bolts can store on any number of nodes. The
rate was chosen on the time at which the overload is noticed, and it is still more than they can store; at
rates that they can, the overload is noticed later than printed. So both claims count as fitted."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first seed with others, and with other rates.

    Raises:
        UserError: the text cannot be read.
    """
    return tuple(
        replace(
            run(variant, seed, values, parameters.text("text")),
            experiment=SLUG,
            describe=describe_word_count,
        )
        for variant, seed, values in _settings(parameters)
    )


def _settings(parameters: Parameters) -> Iterator[tuple[str, int, Parameters]]:
    settings = relief_settings(PARAMETERS, parameters, file="text", apart=("rates_tried",))
    yield from settings
    _, seed, main = settings[0]
    for rate in _rates(parameters):
        yield rate_variant(rate), seed, main.changed(lines_per_s=rate * parameters.integer(STREAMS.name))


def _rates(parameters: Parameters) -> tuple[float, ...]:
    tried = dict.fromkeys(parameters.numbers("rates_tried"))
    return tuple(rate for rate in tried if rate != parameters.number("lines_per_s"))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 9, and the recovery at other rates."""
    first = parameters.changed(seeds=parameters.integers("seeds")[:1])
    return _measure(tables, parameters) + tuple(
        found
        for rate in _rates(parameters)
        for found in beside(
            _measure,
            tables,
            first,
            rate_variant(rate).removeprefix(RELIEVED),
            f"{rate:g} lines a second and stream",
            claims=("tstorm-fig9-recover",),
        )
    )


def _measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    noticed, after = noticed_s(tables, RELIEVED, seeds), after_ms(tables, RELIEVED, seeds)
    drop = quotients(before_ms(tables, RELIEVED, seeds), after)
    return (
        measurement("tstorm-fig9-detect", noticed, unit="s", how=NOTICED),
        Measurement(
            "tstorm-fig9-recover",
            (
                measured(drop, label="drop"),
                measured(after, label="level-after"),
                measured(nodes_at(tables, RELIEVED, seeds, noticed), label="nodes-before"),
                measured(first_schedule_nodes(tables, RELIEVED, seeds), label="nodes-after"),
            ),
            "mixed",
            f"mean processing time in the {BEFORE_S:g} s before the re-assignment over that from "
            f"{SETTLED_S:g} s on, where at most {LOST_AT_MOST:.0%} of the tuples fail; nodes when the "
            "overload is noticed and in the first schedule made",
        ),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Word Count in one worker: T-Storm notices the overload and spreads it",
    figure="Figure 9",
    parameters=PARAMETERS,
    notebook="tstorm/overload_wordcount.ipynb",
    metrics=("latency_10s", "failures_10s", "occupancy", "events", "control"),
    runs=runs,
    measure=measure,
)
