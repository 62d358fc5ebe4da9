"""Compares T-Storm's smooth re-assignment (section IV-D) with the plain one, and without one of its parts.

All runs are Word Count with gamma 1.8 and differ only in the hand-over. They measure the same load up to the
re-assignment, so they carry out the same new assignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from storm_lab.emulator.control.migration.method import MigrationMethod, Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, number_text
from storm_lab.experiments.readings import Samples, Tables, changes, measurement, of_run, per_seed
from storm_lab.papers.tstorm import word_count
from storm_lab.papers.tstorm.blade_runs import on_blades
from storm_lab.papers.tstorm.gamma_runs import COMPARED_FROM_S, FIRST_SCHEDULE_S, processing_ms
from storm_lab.papers.tstorm.testbed import COMMON, tstorm_variant
from storm_lab.papers.tstorm.word_count import WORKLOAD

SLUG = "tstorm-reassign-smoothing"

ID_BYTES = 8
"""An assignment id is a timestamp (section IV-D)."""

GAMMA = 1.8
VARIANT_SMOOTH = tstorm_variant(GAMMA)
"""Figure 6's own run."""
VARIANT_PLAIN = "plain"
VARIANT_NO_DISPATCHER = "no-dispatcher"
VARIANTS_NO_DELAY = ("no-kill-delay", "no-spout-delay")
VARIANT_DISPATCHER_COSTED = "dispatcher-costed"

AFTER_S = 120.0
"""Length of the window after the re-assignment: all its delays and two message timeouts."""
BEFORE_S = 60.0
TIME_OUT_MS = 30_000.0
"""Storm's default message timeout, which these topologies use."""
_BIN_S = 10.0

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "dispatch_us",
        4.0,
        "CPU to read a tuple's assignment id and pass it to the worker of that id; the same as for a hop "
        "inside a worker",
        within=(2, 10, "us"),
    ),
    Parameter(
        "dispatch_us_tried",
        (8.0, 15.0),
        "other costs of the dispatcher, played with the first seed only",
        within=(0, 15, "us"),
    ),
    *COMMON,
    *WORKLOAD,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Figure 6 with gamma 1.8, other hand-overs and dispatcher costs; `UserError`: unreadable text."""
    seeds, first = parameters.seeds, parameters.seeds[:1]
    text, main = parameters.text("text"), parameters.number("dispatch_us")
    usual = parameters.without("seeds", "text", "dispatch_us", "dispatch_us_tried").changed(gamma=GAMMA)
    settings = [
        (VARIANT_PLAIN, usual, seeds),
        *((name, usual, first) for name in (VARIANT_NO_DISPATCHER, *VARIANTS_NO_DELAY)),
        (VARIANT_DISPATCHER_COSTED, usual.changed(dispatch_us=main), seeds),
        *(
            (f"{VARIANT_DISPATCHER_COSTED}-{number_text(cost)}us", usual.changed(dispatch_us=cost), first)
            for cost in dict.fromkeys(parameters.numbers("dispatch_us_tried"))
            if cost != main
        ),
    ]
    return (
        *(word_count.run(VARIANT_SMOOTH, seed, usual, text) for seed in seeds),
        *(
            replace(word_count.run(variant, seed, values, text), experiment=SLUG, describe=describe)
            for variant, values, played in settings
            for seed in played
        ),
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run with the hand-over that its variant names."""
    described = on_blades(spec, word_count.plan(spec), steady_from=0.5)
    cost = dispatching(described.cost, spec.parameters)
    return replace(described, migration=hand_over(spec.variant), cost=cost)


def hand_over(variant: str) -> MigrationMethod:
    """The migration method of a variant: Storm's, T-Storm's, or T-Storm's without one part."""
    methods: dict[str, MigrationMethod] = {
        VARIANT_PLAIN: Restart(),
        VARIANT_NO_DISPATCHER: Smooth(dispatch_by_id=False),
        VARIANTS_NO_DELAY[0]: Smooth(kill_delay_s=0.0),
        VARIANTS_NO_DELAY[1]: Smooth(spout_delay_s=0.0),
    }
    return methods.get(variant, Smooth())


def dispatching(usual: CostModel, parameters: Parameters) -> CostModel:
    """The usual costs, plus those of the dispatcher if the run asks for them.

    Every tuple from another worker is longer by an assignment id, and its receiver pays for the look-up.
    """
    if "dispatch_us" not in parameters:
        return usual
    receive_us = usual.receive_us + parameters.number("dispatch_us")
    return replace(usual, receive_us=receive_us, header_bytes=usual.header_bytes + ID_BYTES)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure both claims of section IV-D."""
    seeds = parameters.seeds
    costed, usual = (
        processing_ms(tables, variant, seeds, COMPARED_FROM_S)
        for variant in (VARIANT_DISPATCHER_COSTED, VARIANT_SMOOTH)
    )
    compared = {
        f"{label}/{name}": read(tables, variant, seeds)
        for label, read in (("lost", lost), ("excess", excess_ms_s))
        for name, variant in (("smooth", VARIANT_SMOOTH), ("plain", VARIANT_PLAIN))
    }
    how_compared = (
        f"from the re-assignment to {AFTER_S:g} s after it: root tuples that fail or are lost; sum over bins "
        f"of {_BIN_S:g} s of the processing time above that of the {BEFORE_S:g} s before, where tuples that "
        "fail or are lost take their time-out, ms * s"
    )
    how_added = (
        "100 * (with / without - 1), mean processing time of tuples that complete from "
        f"{COMPARED_FROM_S:g} s on, with and without the dispatcher's look-up and the id's bytes"
    )
    return (
        measurement("tstorm-smooth-reassign", compared, how=how_compared),
        measurement("tstorm-dispatcher-overhead", changes(costed, usual), how=how_added),
    )


def reassigned_s(tables: Tables, variant: str, seed: int) -> float | None:
    """Time at which the first generated schedule takes effect; None if there is none."""
    rows = of_run(tables.events, variant, seed)
    times = rows[(rows["kind"] == "re-assignment") & (rows["time_s"] > FIRST_SCHEDULE_S)]["time_s"]
    return float(times.min()) if len(times) else None


def lost(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Root tuples that fail or are lost during the re-assignment."""

    def count(seed: int, at: float) -> float:
        rows = _around(of_run(tables.failures_10s, variant, seed), at)
        return float(rows["failed"].sum() + rows["lost"].sum())

    return per_seed(count, seeds, [reassigned_s(tables, variant, seed) for seed in seeds])


def excess_ms_s(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Area between the processing time and its previous level, over the time of the re-assignment.

    A root tuple that fails or is lost counts with its timeout, lest losses be rewarded.
    """

    def area(seed: int, at: float) -> float | None:
        level = processing_ms(tables, variant, (seed,), at - BEFORE_S, at)[0]
        if level is None:
            return None
        done = _around(of_run(tables.latency_10s, variant, seed), at).set_index("t_s")
        rows = _around(of_run(tables.failures_10s, variant, seed), at).set_index("t_s")
        gone = rows["failed"] + rows["lost"]
        took_ms = (done["processing_mean_ms"] * done["tuples"]).add(gone * TIME_OUT_MS, fill_value=0.0)
        means = took_ms / done["tuples"].add(gone, fill_value=0.0)
        return float((means.dropna() - level).sum() * _BIN_S)

    return per_seed(area, seeds, [reassigned_s(tables, variant, seed) for seed in seeds])


def _around(bins: pd.DataFrame, at_s: float) -> pd.DataFrame:
    """The bins of a re-assignment, including those of the following `AFTER_S`."""
    return bins[(bins["t_s"] + _BIN_S > at_s) & (bins["t_s"] < at_s + AFTER_S)]


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Smooth re-assignment: plain, smooth, and smooth without one of its parts",
    figure="section IV-D",
    parameters=PARAMETERS,
    notebook="tstorm/reassign_smoothing.ipynb",
    metrics=("latency_10s", "failures_10s", "spikes", "events"),
    runs=runs,
    measure=measure,
)
