"""T-Storm's Throughput Test (section V, figure 5): T-Storm with three gammas against Storm's scheduler."""

from __future__ import annotations

from functools import partial

from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement, value_of
from storm_lab.experiments.trial import TRIALS, Trial, tried, under_trials, with_trials
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.papers.tstorm.blade_runs import on_blades
from storm_lab.papers.tstorm.chain import BOLT_MS
from storm_lab.papers.tstorm.gamma_runs import (
    FIRST_SCHEDULE_S,
    METRICS,
    at_time,
    consolidated_s,
    gain_claim,
    gamma_runs,
    minute_from,
    printed_gammas,
    spike_claim,
    stable_after,
)
from storm_lab.papers.tstorm.testbed import (
    COMMON,
    FULLER_HEAPS,
    FULLER_HEAPS_NAME,
    STORM,
    VERSION,
    WARM_UP_CALLS,
    tstorm_variant,
)
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import FIELDS, CountById, EmitRandomTexts, Identity

STABLE_S = 200.0
"""The paper compares the runs with gamma 1 from this time on."""

PRINTED_SPIKE_S = 381.0
"""Time of the spike in figure 5(b)."""
REASSIGNED_GAMMA = 1.7
"""The gamma for which the claims time the re-assignment."""
_LEVEL = "start of the first 10 s bin from which on the mean is within 10 % of its last level"
_PAPER_GAMMAS = {1.0: "5a", 1.7: "5b", 6.0: "5c"}

SLUG = "tstorm-throughput-test"
TOPOLOGY = "throughput-test"
SPOUTS = 5
WORKERS = 40
ACKERS = 10
CHARACTERS = 10 * 1024
"""Length of the random text: 10 KB (section V)."""

BY_ID = "by-id"
SHUFFLE = "shuffle"

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("gammas", (1.0, 1.7, 6.0), "consolidation factors to try (figure 5)", within=(1.0, 10.0)),
    *COMMON,
    Parameter(
        "spout_sleep_ms",
        5.0,
        "sleep in every nextTuple call; printed for section III only: 5 ms, at most 200 tuples/s per spout",
        within=(1.0, 20.0, "ms"),
    ),
    Parameter(
        "counting",
        BY_ID,
        "grouping of the counters, not printed: by the one identifier of each spout executor, as the public "
        "benchmark does, or shuffle",
        choices=(BY_ID, SHUFFLE),
    ),
    BOLT_MS,
    WARM_UP_CALLS,
    WARM_UP_CALLS.tried(
        (10000.0,),
        "other numbers of calls, played under Storm and with gamma 1.7, first seed only; 10,000 is HotSpot's "
        "own threshold",
    ),
    TRIALS,
)

_LEVELS = (
    "tstorm-fig5a-tstorm-ms",
    "tstorm-fig5a-storm-ms",
    "tstorm-fig5a-speedup",
    "tstorm-fig5b-speedup",
    "tstorm-fig5c-speedup",
)
_STABLE = ("tstorm-fig5a-storm-stable", "tstorm-fig5b-stable")
_WARM_LABEL = "code that is warm half-way after {} calls"
TRIED: tuple[Trial, ...] = (
    Trial(
        "fuller",
        FULLER_HEAPS_NAME,
        FULLER_HEAPS,
        claims=(*_LEVELS, *_STABLE, "tstorm-fig5b-spike"),
        reading=True,
        chosen_on=("tstorm-fig5a-speedup",),
    ),
    Trial(
        "calls4000",
        _WARM_LABEL.format(4000),
        {WARM_UP_CALLS.name: 4000.0},
        claims=_STABLE[:1],
        reading=True,
        chosen_on=_STABLE[:1],
    ),
    Trial(
        "b1",
        "bolts of 1 ms",
        {"bolt_ms": 1.0},
        only=tstorm_variant(1.0),
        claims=_LEVELS[:1],
        reading=True,
        chosen_on=_LEVELS[:1],
    ),
)
"""Trials, each played under Storm and with every gamma."""


def topology(parameters: Parameters) -> Topology:
    """Spout 5, identity 15, counter 15; ten ackers; forty workers asked for."""
    counting = (
        Subscription("identity", grouping=Grouping.FIELDS, fields=("id",))
        if parameters.text("counting") == BY_ID
        else Subscription("identity")
    )
    components = (
        Component("spout", SPOUTS, outputs={"default": FIELDS}),
        Component("identity", 15, inputs=(Subscription("spout"),), outputs={"default": FIELDS}),
        Component("counter", 15, inputs=(counting,)),
    )
    return Topology(TOPOLOGY, components, workers=WORKERS, ackers=ACKERS, name=TOPOLOGY)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The runs of the figure, and with the first seed those with other warm-ups and the trials."""

    def reassigned(values: Parameters) -> tuple[RunSpec, ...]:
        return figure_runs(values.changed(gammas=(REASSIGNED_GAMMA,)))

    return (
        *figure_runs(parameters),
        *under_trials(reassigned, parameters, _warm_ups(parameters)),
        *under_trials(figure_runs, parameters, TRIED),
    )


def figure_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Storm once and T-Storm once per gamma, for every seed."""
    make = partial(RunSpec, SLUG, describe=describe, storm_version=VERSION, sample_every=200)
    return gamma_runs(make, parameters, ("warm_up_calls_tried", TRIALS.name))


def _warm_ups(parameters: Parameters) -> tuple[Trial, ...]:
    return tried(parameters, WARM_UP_CALLS.name, "u{}", _WARM_LABEL, claims=_STABLE)


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and source of a run; texts and identifiers of the spouts depend on the seed."""
    declared = topology(spec.parameters)
    service_us = spec.parameters.number("bolt_ms") * 1000
    trace = build_trace(
        declared,
        {
            "spout": EmitRandomTexts(SPOUTS, CHARACTERS, spec.seed),
            "identity": Identity(service_us),
            "counter": CountById(service_us),
        },
        spec.storm_version,
    )
    sleep_ns = round(spec.parameters.number("spout_sleep_ms") * 1e6)
    return TopologyPlan(declared, trace, {"spout": SourcePlan(SourceKind.SATURATED, sleep_ns=sleep_ns)})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    return on_blades(spec, plan(spec))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 5 that the runs with these gammas answer."""
    seeds = parameters.seeds
    found: list[Measurement] = []
    for gamma, figure in printed_gammas(parameters, _PAPER_GAMMAS).items():
        variant = tstorm_variant(gamma)
        found.append(gain_claim(f"tstorm-fig{figure}-speedup", tables, gamma, seeds, STABLE_S))
        if gamma == 1.0:
            found += _measure_start(tables, variant, seeds)
        if gamma == REASSIGNED_GAMMA:
            stable = stable_after(tables, variant, seeds)
            how = f"after the re-assignment, {_LEVEL}"
            found.append(measurement("tstorm-fig5b-stable", stable, how=how))
            found += spike_claim("tstorm-fig5b-spike", tables, variant, seeds, PRINTED_SPIKE_S)
    return tuple(found)


def _measure_start(tables: Tables, variant: str, seeds: tuple[int, ...]) -> list[Measurement]:
    over = consolidated_s(tables, variant, seeds)
    ours, storms = (minute_from(tables, played, seeds, over) for played in (variant, STORM))
    minute = "mean processing time of the minute after T-Storm's initial period"
    ready = "time at which the last executor of the initial assignment is ready and tuples complete"
    nodes = value_of(tables.steady, "nodes_last", variant, seeds)
    last = "nodes with an executor at the end of the run"
    workers = at_time(tables.occupancy, "workers", variant, seeds, FIRST_SCHEDULE_S)
    before = f"workers with an executor at {FIRST_SCHEDULE_S:g} s, before any schedule is generated"
    stable = value_of(tables.stabilisation, "stable_s", STORM, seeds)
    return [
        measurement("tstorm-fig5a-init-period", over, how=ready),
        measurement("tstorm-fig5a-nodes", nodes, how=last),
        measurement("tstorm-fig5a-workers", workers, how=before),
        measurement("tstorm-fig5a-tstorm-ms", ours, how=minute),
        measurement("tstorm-fig5a-storm-ms", storms, how=minute),
        measurement("tstorm-fig5a-storm-stable", stable, how=_LEVEL),
    ]


_G1, _G17, _G6 = (tstorm_variant(gamma) for gamma in (1.0, REASSIGNED_GAMMA, 6.0))
_MS, _LEVELLED = ("latency_10s",), ("stabilisation",)
_ONCE = ("steady_latency", "latency_distribution", "steady_traffic_share")
"""Tables of processing times, of the times at which they are level, and of values of a complete run."""

EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Throughput Test: T-Storm against Storm's default scheduler",
    figure="Figure 5",
    parameters=PARAMETERS,
    notebook="tstorm/throughput_test.ipynb",
    metrics=(*METRICS, *_LEVELLED, *_ONCE, "failures_60s", "spikes"),
    runs=runs,
    measure=with_trials(measure, lambda parameters: (*_warm_ups(parameters), *TRIED)),
    settling=(
        Settling(("tstorm-fig5a-speedup",), (f"{STORM}-fuller", f"{_G1}-fuller"), 30, FULLER_HEAPS_NAME, _MS),
        Settling(
            ("tstorm-fig5b-speedup",), (f"{STORM}-fuller", f"{_G17}-fuller"), 30, FULLER_HEAPS_NAME, _MS
        ),
        Settling(_STABLE[1:], (_G17,), 10, metrics=_LEVELLED),
        Settling(_STABLE[1:], (f"{_G17}-fuller",), 10, FULLER_HEAPS_NAME, _LEVELLED),
        Settling(_STABLE[:1], (f"{STORM}-calls4000",), 10, _WARM_LABEL.format(4000), _LEVELLED),
        Settling(("tstorm-fig5c-speedup",), (STORM, _G6), 10, metrics=_MS),
        Settling(_LEVELS[:1], (f"{_G1}-b1",), 30, "bolts of 1 ms"),
    ),
    chosen=TRIED,
)
