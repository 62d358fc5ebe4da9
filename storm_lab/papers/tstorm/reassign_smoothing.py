"""T-Storm's smooth re-assignment against the plain one, and without one of its parts (section IV-D).

All runs are Word Count with gamma 1.8 and differ in the hand-over alone: they measure the same load up to the
re-assignment, so they carry out the same new assignment.
"""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.tstorm import word_count
from storm_lab.papers.tstorm.blade_runs import on_blades, online_scheduling
from storm_lab.papers.tstorm.gamma_settings import gamma_settings
from storm_lab.papers.tstorm.reassign_smoothing_claims import (
    AT_ONCE,
    BY_SLOT,
    CLAIMS,
    DISPATCHED,
    GAMMA,
    METRICS,
    PLAIN,
    measure,
)
from storm_lab.papers.tstorm.testbed import COMMON, STORM
from storm_lab.papers.tstorm.word_count import WORKLOAD
from storm_lab.schedulers.storm.default import DefaultScheduler

SLUG = "tstorm-reassign-smoothing"

ID_BYTES = 8
"""An assignment id is a timestamp (section IV-D)."""

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "dispatch_us",
        4.0,
        "CPU to read a tuple's assignment id and hand it to the worker of that id; as a hop inside a worker",
        unit="us",
        low=2,
        high=10,
    ),
    Parameter(
        "dispatch_us_tried",
        (8.0, 15.0),
        "other costs of the dispatcher, played with the first seed only",
        unit="us",
        low=0,
        high=15,
    ),
    *COMMON,
    *WORKLOAD,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Figure 6's runs with gamma 1.8, and the same with other hand-overs and with the dispatcher's cost.

    Raises:
        UserError: the text cannot be read.
    """
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    declared = (*COMMON, *WORKLOAD)
    settings = dict(gamma_settings(declared, parameters, (GAMMA,), apart=("text",)))
    del settings[STORM]
    ((variant, values),) = settings.items()
    text = parameters.text("text")
    specs = [word_count.run(variant, seed, values, text) for seed in seeds]
    for name in (PLAIN, BY_SLOT, *AT_ONCE):
        specs += [_other(name, seed, values, text) for seed in (seeds if name == PLAIN else seeds[:1])]
    main = parameters.number("dispatch_us")
    specs += [_other(DISPATCHED, seed, values.changed(dispatch_us=main), text) for seed in seeds]
    return (
        *specs,
        *(
            _other(f"{DISPATCHED}-{cost:g}us", seeds[0], values.changed(dispatch_us=cost), text)
            for cost in dict.fromkeys(parameters.numbers("dispatch_us_tried"))
            if cost != main
        ),
    )


def _other(variant: str, seed: int, values: Parameters, text: str) -> RunSpec:
    return replace(word_count.run(variant, seed, values, text), experiment=SLUG, describe=describe)


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run with the hand-over that its variant names."""
    services, _ = online_scheduling(spec.parameters)
    plans, cost = (word_count.plan(spec),), dispatching(spec.parameters)
    return on_blades(spec, plans, DefaultScheduler(), services, hand_over(spec.variant), cost=cost)


def hand_over(variant: str) -> MigrationMethod:
    """The migration method of a variant: Storm's, T-Storm's, or T-Storm's without one part."""
    kill_at_once, emit_at_once = AT_ONCE
    methods: dict[str, MigrationMethod] = {
        PLAIN: Restart(),
        BY_SLOT: Smooth(dispatch_by_id=False),
        kill_at_once: Smooth(kill_delay_s=0.0),
        emit_at_once: Smooth(spout_delay_s=0.0),
    }
    return methods.get(variant, Smooth())


def dispatching(parameters: Parameters) -> CostModel | None:
    """The shared costs with those of the dispatcher on top; None where a run does not ask for them.

    Every tuple from another worker is longer by an assignment id, and its receiver pays for the look-up.
    """
    if "dispatch_us" not in parameters:
        return None
    usual = CostModel()
    return replace(
        usual,
        receive_us=usual.receive_us + parameters.number("dispatch_us"),
        header_bytes=usual.header_bytes + ID_BYTES,
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Smooth re-assignment: plain, smooth, and smooth without one of its parts",
    figure="section IV-D",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="tstorm/reassign_smoothing.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
