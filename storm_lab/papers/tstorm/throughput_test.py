"""T-Storm's Throughput Test (section V, figure 5): T-Storm with three gammas against Storm's scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.papers.experiment import Advance, Experiment, RunSpec
from storm_lab.papers.parameter import Parameter, Parameters
from storm_lab.papers.tstorm.gamma_settings import gamma_settings
from storm_lab.papers.tstorm.testbed import COMMON, VERSION
from storm_lab.papers.tstorm.throughput_test_claims import CLAIMS, measure
from storm_lab.workloads.throughput import FIELDS

if TYPE_CHECKING:
    from storm_lab.emulator.source import TopologyPlan
    from storm_lab.tuplelog import RunWriter

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
    Parameter("gammas", (1.0, 1.7, 6.0), "consolidation factors to try (figure 5)", low=1.0, high=10.0),
    *COMMON,
    Parameter(
        "spout_sleep_ms",
        5.0,
        "sleep in every nextTuple call; printed for section III only, so 5 at most 200 tuples/s and spout",
        unit="ms",
        low=1.0,
        high=20.0,
    ),
    Parameter(
        "counting",
        BY_ID,
        "grouping of the counters, not printed: by the one identifier of each spout executor, as the public "
        "benchmark does, or shuffle",
        choices=(BY_ID, SHUFFLE),
    ),
)


def topology(parameters: Parameters) -> Topology:
    """Spout 5, identity 15, counter 15; ten ackers; forty workers asked for."""
    counting = (
        Subscription("identity", grouping=Grouping.FIELDS, fields=("id",))
        if parameters.text("counting") == BY_ID
        else Subscription("identity")
    )
    return Topology(
        id=TOPOLOGY,
        name=TOPOLOGY,
        workers=WORKERS,
        ackers=ACKERS,
        components=(
            Component("spout", SPOUTS, outputs={"default": FIELDS}),
            Component("identity", 15, inputs=(Subscription("spout"),), outputs={"default": FIELDS}),
            Component("counter", 15, inputs=(counting,)),
        ),
    )


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Storm once and T-Storm once per gamma, for every seed."""
    settings = gamma_settings(PARAMETERS, parameters, parameters.numbers("gammas"))
    return tuple(
        RunSpec(
            experiment=SLUG,
            variant=variant,
            seed=seed,
            parameters=values,
            emulate=emulate,
            storm_version=VERSION,
            sample_every=200,
        )
        for variant, values in settings
        for seed in dict.fromkeys(parameters.integers("seeds"))
    )


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and source of a run; the seed draws the spouts' texts and identifiers too."""
    from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
    from storm_lab.workloads.build import build_trace
    from storm_lab.workloads.throughput import CountById, EmitRandomTexts, Identity

    declared = topology(spec.parameters)
    trace = build_trace(
        declared,
        {
            "spout": EmitRandomTexts(SPOUTS, CHARACTERS, spec.seed),
            "identity": Identity(),
            "counter": CountById(),
        },
        spec.storm_version,
    )
    sleep_ns = round(spec.parameters.number("spout_sleep_ms") * 1e6)
    return TopologyPlan(declared, trace, {"spout": SourcePlan(SourceKind.SATURATED, sleep_ns=sleep_ns)})


def emulate(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Play one run."""
    from storm_lab.papers.tstorm.section_v import play_section_v

    play_section_v(spec, (plan(spec),), writer, advance)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Throughput Test: T-Storm against Storm's default scheduler",
    figure="Figure 5",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="tstorm/throughput_test.ipynb",
    runs=runs,
    measure=measure,
)
