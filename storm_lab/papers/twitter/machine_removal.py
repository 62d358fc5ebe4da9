"""Machine removal (section 3.4, figures 9 and 10): three of sixteen machines fail every 15 minutes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, Experiment, RunSpec, Settling
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.papers.twitter.event_counting import (
    FULL_FROM_S,
    TOPOLOGY_NAMES,
    TOPOLOGY_PARAMETERS,
    counting,
    load_ramp,
)
from storm_lab.papers.twitter.fetches import FETCH_PARAMETERS, with_fetches
from storm_lab.papers.twitter.machine_removal_measures import (
    FETCH_READING,
    FETCH_TAG,
    SLOTS_TAG,
    SUPPLIED,
    SUPPLIED_AT_S,
    SUPPLIED_S,
    VARIANT,
    fresh_variant,
    measure,
    other_order,
    reading_seeds,
)
from storm_lab.papers.twitter.testbed import IN_TURN, SLOT_ORDERS, VERSION, machine_failures, machines
from storm_lab.papers.twitter.timeline import MACHINES, settled_from_s

SLUG = "twitter-machine-removal"

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation per seed; stable levels differ by about a per cent. The paper has one run"),
    Parameter("stage_s", 900.0, "time from one removal to the next (section 3.4)", "s", 180, 3600),
    Parameter(
        "bundle",
        600,
        "tuples played as one; a latency times the bundle must stay below the message timeout. 1 is the full "
        "scale with 4 x 10^8 root tuples and takes hours for each seed",
        low=1,
        high=1000,
    ),
    Parameter(
        "pending_tried",
        (5, 7),
        "other limits of pending tuples, played with the first seed on machines none of which has failed",
        low=5,
        high=20,
    ),
    Parameter("ackers_tried", (30, 40), "other numbers of ackers, as above", low=20, high=50),
    Parameter(
        "supply_million_a_min",
        4.5,
        "million events per minute that arrive in a run whose log is not always full: less than 13 machines "
        "can process. Three of its 16 machines fail; first seed only",
        low=1,
        high=20,
    ),
    Parameter(
        "slot_order",
        IN_TURN,
        "the Storm version whose slot order is used: up to 0.9.2 new workers fill machines in turn, from "
        "0.9.3 on those with most free slots first, so that workers are spread evenly after a removal. Not "
        "printed; the other order is played as a reading",
        choices=SLOT_ORDERS,
    ),
    *FETCH_PARAMETERS,
    Parameter("reading_seeds", 3, "number of seeds for the other order of slots", low=1, high=30),
    *TOPOLOGY_PARAMETERS,
)
TRIED_MACHINES = (16, 4)
TRIED_S = 90.0
"""Length of the full load in the short runs; the last two thirds count."""
SUPPLIED_BUNDLE = 300
SUPPLIED_TIMEOUT_S = 30.0
"""With few tuples in flight, latencies are short enough for Storm's own message timeout."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """One run of all stages per seed, runs for each reading, and additional short ones.

    The short ones have other windows, other numbers of ackers, or a log that is not always full.
    """
    first = parameters.seeds[:1]
    stages = parameters.only(("stage_s", "bundle", "slot_order", *TOPOLOGY_NAMES))
    other = stages.changed(slot_order=other_order(parameters))
    fetching = with_fetches(stages, parameters)
    settings: list[tuple[str, Parameters, Describe, Sequence[int]]] = [
        (VARIANT, stages, describe, parameters.seeds),
        (VARIANT + SLOTS_TAG, other, describe, reading_seeds(parameters)),
        (VARIANT + FETCH_TAG, fetching, describe, reading_seeds(parameters, FETCH_TAG)),
    ]
    pending, ackers = parameters.integer("max_spout_pending"), parameters.integer("ackers")
    tried = dict.fromkeys(
        [
            (pending, ackers),
            *((limit, ackers) for limit in parameters.integers("pending_tried")),
            *((pending, number) for number in parameters.integers("ackers_tried")),
        ]
    )
    fresh = parameters.only(("bundle", *TOPOLOGY_NAMES))
    for limit, number in tried:
        for count in TRIED_MACHINES:
            values = fresh.changed(machines=count, max_spout_pending=limit, ackers=number)
            settings.append((fresh_variant(count, limit, number), values, describe_fresh, first))
    supplied = parameters.only(("supply_million_a_min", *TOPOLOGY_NAMES)).changed(
        bundle=SUPPLIED_BUNDLE, message_timeout_s=SUPPLIED_TIMEOUT_S
    )
    settings.append((SUPPLIED, supplied, describe_supplied, first))
    return tuple(
        RunSpec(SLUG, variant, seed, values, described, VERSION, sample_every=500)
        for variant, values, described, seeds in settings
        for seed in seeds
    )


def removals(stage_s: float) -> FaultPlan:
    """At the end of each stage but the last, the machines with the highest numbers fail for good."""
    return FaultPlan.of_rows(
        [
            row
            for stage, (before, after) in enumerate(pairwise(MACHINES), start=1)
            for row in machine_failures(stage * stage_s, before, after)
        ]
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    stage_s = spec.parameters.number("stage_s")
    return counting(
        spec,
        cluster=machines(MACHINES[0]),
        faults=removals(stage_s),
        duration_s=stage_s * len(MACHINES),
        warm_up_s=settled_from_s(stage_s, 0),
        window_s=stage_s,
    )


def describe_fresh(spec: RunSpec) -> EmulationSpec:
    """Describe a short run at full load on machines none of which has failed."""
    return counting(
        spec,
        cluster=machines(spec.parameters.integer("machines")),
        faults=FaultPlan.of_rows(load_ramp()),
        duration_s=FULL_FROM_S + TRIED_S,
        warm_up_s=FULL_FROM_S + TRIED_S / 3,
        window_s=FULL_FROM_S + TRIED_S,
        ramped=True,
    )


def describe_supplied(spec: RunSpec) -> EmulationSpec:
    """Describe a run on 16 machines, three of which fail; its log fills slower than 13 machines can read."""
    failures = machine_failures(SUPPLIED_AT_S, *MACHINES[:2])
    arriving = spec.parameters.number("supply_million_a_min") * 1e6 / 60
    return counting(
        spec,
        cluster=machines(MACHINES[0]),
        faults=FaultPlan.of_rows([*load_ramp(arriving), *failures]),
        duration_s=SUPPLIED_S,
        warm_up_s=SUPPLIED_AT_S,
        window_s=SUPPLIED_S,
        ramped=True,
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="Machines are taken away from a running topology",
    figure="Figures 9 and 10",
    parameters=PARAMETERS,
    notebook="twitter/machine_removal.ipynb",
    metrics=(
        "latency_10s",
        "latency_60s",
        "steady_latency",
        "throughput_10s",
        "throughput_60s",
        "failures_60s",
        "stays",
        "node_cpu_60s",
    ),
    runs=runs,
    measure=measure,
    # In one run out of six Nimbus sees a removal in two rounds. From then on workers are spread less evenly.
    settling=(
        Settling(
            (
                "twitter-thr-13m",
                "twitter-lat-13m",
                "twitter-thr-10m",
                "twitter-lat-10m",
                "twitter-thr-7m",
                "twitter-lat-7m",
                "twitter-spike-size",
            ),
            variants=(VARIANT + FETCH_TAG,),
            reading=FETCH_READING,
            metrics=("latency_60s", "throughput_60s"),
        ),
        Settling(
            ("twitter-lat-10m", "twitter-spike-size"),
            variants=(VARIANT,),
            metrics=("latency_60s", "throughput_60s"),
        ),
    ),
)
