"""T-Storm relieves an overloaded Word Count (section V, figure 9)."""

from __future__ import annotations

from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement
from storm_lab.experiments.trial import Trial, with_trials
from storm_lab.papers.tstorm import overload_relief as relief
from storm_lab.papers.tstorm.testbed import COMMON
from storm_lab.papers.tstorm.word_count import WORKLOAD, run

SLUG = "tstorm-overload-wordcount"

PARAMETERS: tuple[Parameter, ...] = (
    *relief.GAMMAS,
    relief.STREAMS,
    *COMMON,
    *WORKLOAD,
    Parameter(
        "rates_tried",
        (60.0,),
        "other lines per second, reader and stream, played with the first seed only: few enough for the "
        "five database bolts to keep up",
        within=(20, 500, "1/s"),
    ),
)
"""Two streams at figure 6's rate are more than the five database bolts can store on any number of nodes."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first with other gammas and rates; `UserError`: unreadable text."""
    make, excluded = partial(run, text=parameters.text("text")), ("text", "rates_tried")
    describe = relief.describe_word_count
    return relief.relief_runs(SLUG, describe, make, parameters, _trials(parameters), excluded)


def _trials(parameters: Parameters) -> tuple[Trial, ...]:
    label, claims = "{} lines a second, reader and stream", ("tstorm-fig9-recover",)
    return relief.rate_trials(parameters, label, claims)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 9."""
    seeds = parameters.seeds
    noticed = relief.detected_s(tables, relief.RELIEVED, seeds)
    recovered = {
        "drop": relief.drop(tables, relief.RELIEVED, seeds),
        "level-after": relief.after_ms(tables, relief.RELIEVED, seeds),
        "nodes-before": relief.nodes_at(tables, relief.RELIEVED, seeds, noticed),
        "nodes-after": relief.first_schedule_nodes(tables, relief.RELIEVED, seeds),
    }
    how = (
        f"{relief.DROP}, where at most {relief.MAX_FAILED_SHARE:.0%} of the tuples fail; nodes when the "
        "overload is noticed and in the first schedule made"
    )
    return (
        measurement("tstorm-fig9-detect", noticed, how=relief.NOTICED),
        measurement("tstorm-fig9-recover", recovered, how=how),
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
    measure=with_trials(measure, _trials),
)
