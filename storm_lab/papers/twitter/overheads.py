"""Overheads of Storm and of acking (section 3.3.2), in machines and CPU, at 300 thousand messages per second.

Four programs read from Kafka. The first is a plain Java loop that deserialises and drops messages; it is only
calculated. The next two do the same as topologies that consist of spouts only, without and with acking. The
last is the original topology of three layers with two repartitions. Each topology is tried on more and more
machines until it keeps up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from storm_lab.emulator.bundle import Bundle
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.trial import Trial, explained, under_trials
from storm_lab.model.topology import Topology
from storm_lab.model.version import StormVersion
from storm_lab.papers.twitter import overheads_measures as measures
from storm_lab.papers.twitter.event_counting import COUNT_US, READ
from storm_lab.papers.twitter.testbed import VERSION, counting, machines, passing, spouts, trace_of
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.client_events import ClientEventCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

SLUG = "twitter-overheads"
TOPOLOGY = "deserialise"
PROCESSES = 10
"""Worker processes per machine, with and without acking (section 3.3.2)."""
THREADS_OFF = 38
"""Threads per process without acking, two of each executor and two of the worker among them."""
ORIGINAL_PROCESSES = 4
"""Worker processes per machine of the original topology; not printed."""

PRINTED_ACK_COST = Trial(
    "own-prices",
    "messages at a fifth of their price, so that acks cost what is printed",
    {"message_factor": 0.2},
    claims=(
        "twitter-ovh-ack-machines",
        "twitter-ovh-ack-cpu",
        "twitter-ovh-ack-3x",
    ),
    reading=True,
    # That three machines are enough follows from the CPU that they use.
    chosen_on=("twitter-ovh-ack-cpu", "twitter-ovh-ack-machines"),
)
"""Costs from the paper's own machine: an acked message takes the printed 92.4 us, of which a read is 23.3."""

EXPENSIVE_BOLTS = Trial(
    "logic40",
    "bolts of 40 us",
    {"logic_us": 40.0},
    claims=("twitter-ovh-orig-10",),
    chosen_on=("twitter-ovh-orig-10",),
    requested=True,
)
"""With the shared costs, bolts of 36 to 45 us lead to ten machines."""

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation of every setting per seed; the paper has one. Little is random here"),
    Parameter("messages_per_s", 300_000.0, "load (section 3.3.2)", unit="1/s", low=10_000, high=1_000_000),
    Parameter("bundle", 1000, "messages played as one, with the cost of all of them", low=1, high=2000),
    READ,
    Parameter(
        "logic_us",
        COUNT_US,
        "CPU of a bolt of the original topology for a message; not printed: that of a bolt that counts "
        "client events, as in section 3.4",
        unit="us",
        low=0,
        high=200,
    ),
    Parameter(
        "message_factor",
        1.0,
        "CPU of Storm's own code, of system calls and of waking threads, relative to the shared costs at the "
        "machine's clock; with 0.2 acks cost the printed 92.4 us per message",
        low=0.1,
        high=2.0,
    ),
    *(
        Parameter(measures.TRIED[program], counts, f"numbers of machines to try {how}", "machines", 1, 40)
        for program, counts, how in (
            (measures.ACKS_OFF, (1, 2), "without acking"),
            (measures.ACKS_ON, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15), "with acking"),
            (measures.ORIGINAL, (2, 5, 6, 7, 8, 9, 10, 11, 12), "with the original topology"),
        )
    ),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every program on every number of machines with every seed, with shared costs and the machine's own.

    The original topology is also played with more expensive bolts, with the first seed.
    """
    return (
        *_runs(parameters),
        *under_trials(_runs, parameters, (PRINTED_ACK_COST,)),
        *under_trials(lambda values: _runs(values, (measures.ORIGINAL,)), parameters, (EXPENSIVE_BOLTS,)),
    )


def _runs(parameters: Parameters, programs: Sequence[str] = tuple(measures.TRIED)) -> tuple[RunSpec, ...]:
    shared = parameters.only(("messages_per_s", "bundle", "read_us", "logic_us", "message_factor"))
    settings = [
        (measures.on_machines(program, count), shared.changed(program=program, machines=count))
        for program in programs
        for count in dict.fromkeys(parameters.integers(measures.TRIED[program]))
    ]
    return tuple(
        RunSpec(SLUG, variant, seed, values, describe, VERSION, sample_every=1000)
        for variant, values in settings
        for seed in parameters.seeds
    )


def topology(program: str, count: int) -> Topology:
    """The topology of a program for ``count`` machines."""
    if program == measures.ORIGINAL:
        workers = ORIGINAL_PROCESSES * count
        each = 4 * workers
        layers = (spouts(each), passing("first", each), counting("second", each, "first"))
        return Topology(TOPOLOGY, layers, workers=workers, ackers=0)
    workers = PROCESSES * count
    readers = (THREADS_OFF - 4) // 2 if program == measures.ACKS_OFF else 1
    ackers = workers if program == measures.ACKS_ON else 0
    return Topology(TOPOLOGY, (spouts(readers * workers),), workers=workers, ackers=ackers)


@lru_cache(maxsize=16)
def _trace(program: str, seed: int, read_us: float, logic_us: float, version: StormVersion) -> WorkloadTrace:
    """Cached, as it is the same for every number of machines."""
    costs = ClientEventCosts(
        read_us=read_us, distribute_us=logic_us, count_us=logic_us, aggregate_us=0.0, event_bytes=150
    )
    return trace_of(topology(program, 1), costs, seed, version, events=10_000, users=10_000_000)


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and source of a run."""
    values, program = spec.parameters, spec.parameters.text("program")
    read_us, logic_us = values.number("read_us"), values.number("logic_us")
    trace = _trace(program, spec.seed, read_us, logic_us, spec.storm_version)
    rate = values.number("messages_per_s")
    source = SourcePlan(SourceKind.RATE, rate_per_s=rate, anchored=program == measures.ACKS_ON)
    return TopologyPlan(topology(program, values.integer("machines")), trace, {"spout": source})


def cost_model(message_factor: float) -> CostModel:
    """The shared costs, with Storm's own code, system calls and wake-ups multiplied by a factor."""
    shared = CostModel()
    names = ("code_factor", "read_us", "write_us", "consumer_wake_us", "switch_us")
    return replace(shared, **{name: message_factor * getattr(shared, name) for name in names})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values = spec.parameters
    cluster = machines(values.integer("machines"))
    return replace(
        spec.described(cluster, (plan(spec),), DefaultScheduler(), measures.SETTLED_S + measures.MINUTE_S),
        cost=cost_model(values.number("message_factor")),
        # CPU of the last minute gets its own window; traffic is not read.
        window_s=measures.SETTLED_S,
        bundle=Bundle(values.integer("bundle")),
        warm_up_s=measures.SETTLED_S,
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.3.2, with the shared costs and under the trials."""
    return (
        *measures.measured(tables, parameters),
        *explained(measures.measured, tables, parameters, (PRINTED_ACK_COST,)),
        *explained(measures.measure_original, tables, parameters, (EXPENSIVE_BOLTS,)),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="What Storm and acking cost, in machines and CPU",
    figure="Section 3.3.2",
    parameters=PARAMETERS,
    notebook="twitter/overheads.ipynb",
    metrics=("throughput_60s", "component_throughput_60s", "node_cpu_60s"),
    runs=runs,
    measure=measure,
    chosen=(PRINTED_ACK_COST, EXPENSIVE_BOLTS),
)
