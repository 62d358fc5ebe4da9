"""Overheads of Storm and of acking (section 3.3.2), in machines and CPU, at 300 thousand messages per second.

Four programs read from Kafka. The first is a plain Java loop that deserialises and drops messages; it is only
calculated. The next two do the same as topologies that consist of spouts only, without and with acking. The
last is the original topology of three layers with two repartitions. Each topology is tried on more and more
machines until it keeps up: in the last minute, at least 99 % of the arriving messages are finished (acked if
there is acking, otherwise executed by the last component), and no more than twelve cores of a machine are
busy, at which the paper considers a machine full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pandas as pd

from storm_lab.emulator.bundle import Bundle
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.experiments.readings import Samples, Tables, measurement, of_run, per_seed
from storm_lab.experiments.trial import Trial, explained, under_trials
from storm_lab.model.topology import Topology
from storm_lab.model.version import StormVersion
from storm_lab.papers.twitter.event_counting import COUNT_US, READ
from storm_lab.papers.twitter.testbed import CORES, VERSION, counting, machines, passing, spouts, trace_of
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.client_events import ClientEventCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

SLUG = "twitter-overheads"
ACKS_OFF = "storm-no-acks"
ACKS_ON = "storm-acks"
ORIGINAL = "original"
TRIED = {ACKS_OFF: "machines_off", ACKS_ON: "machines_on", ORIGINAL: "machines_original"}
"""By program, the parameter with the numbers of machines on which it is tried."""

SETTLED_S = 180.0
"""Readings begin here: code is warm, and the backlog from the start of the workers is processed."""
MINUTE_S = 60.0
"""The last minute of a run is read."""
KEEPS_UP = 0.99
PHYSICAL_PERCENT = 100.0 * CORES
"""CPU of a machine as the paper counts it: twelve cores."""

TOPOLOGY = "deserialise"
PROCESSES = 10
"""Worker processes per machine, with and without acking (section 3.3.2)."""
THREADS = {ACKS_OFF: 38, ACKS_ON: 5}
"""Threads per process (section 3.3.2): two of the worker, the others two of each executor.

With acking that is one and a half executors in the mean: a reader in every process, an acker in every second.
"""
ORIGINAL_PROCESSES = 4
"""Worker processes per machine of the original topology; not printed."""

PRINTED_ACK_COST = Trial(
    "own-prices",
    "messages at a fifth of their price, so that acks cost what is printed",
    {"message_factor": 0.2},
    claims=("twitter-ovh-ack-machines", "twitter-ovh-ack-cpu", "twitter-ovh-ack-3x"),
    reading=True,
    # That three machines are enough follows from the CPU that they use.
    chosen_on=("twitter-ovh-ack-cpu", "twitter-ovh-ack-machines"),
)
"""Costs from the paper's machine: an acked message takes 92.4 us, a read 23.3 of them; here 90."""

EXPENSIVE_BOLTS = Trial(
    "logic35",
    "bolts of 35 us",
    {"logic_us": 35.0},
    claims=("twitter-ovh-orig-10",),
    chosen_on=("twitter-ovh-orig-10",),
    requested=True,
)
"""With the shared costs, bolts of 33 to 39 us lead to ten machines."""

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation of every setting per seed; the paper has one. Little is random here"),
    Parameter("messages_per_s", 300_000.0, "load (section 3.3.2)", within=(10_000, 1_000_000, "1/s")),
    Parameter("bundle", 1000, "messages played as one, with the cost of all of them", within=(1, 2000)),
    READ,
    Parameter(
        "logic_us",
        COUNT_US,
        "CPU of a bolt of the original topology for a message; not printed: that of a bolt that counts "
        "client events, as in section 3.4",
        within=(0, 200, "us"),
    ),
    Parameter(
        "message_factor",
        1.0,
        "CPU of Storm's own code, of system calls and of waking threads, relative to the shared costs at the "
        "machine's clock; with 0.2 acks cost nearly the printed 92.4 us per message",
        within=(0.1, 2.0),
    ),
    *(
        Parameter(TRIED[program], counts, f"numbers of machines to try {how}", within=(1, 40, "machines"))
        for program, counts, how in (
            (ACKS_OFF, (1, 2), "without acking"),
            (ACKS_ON, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15), "with acking"),
            (ORIGINAL, (2, 5, 6, 7, 8, 9, 10, 11, 12), "with the original topology"),
        )
    ),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every program on every number of machines, with shared costs and under the trials."""
    return (
        *_runs(parameters),
        *under_trials(_runs, parameters, (PRINTED_ACK_COST,)),
        *under_trials(lambda values: _runs(values, (ORIGINAL,)), parameters, (EXPENSIVE_BOLTS,)),
    )


def _runs(parameters: Parameters, programs: Sequence[str] = tuple(TRIED)) -> tuple[RunSpec, ...]:
    shared = parameters.only(("messages_per_s", "bundle", "read_us", "logic_us", "message_factor"))
    settings = [
        (on_machines(program, count), shared.changed(program=program, machines=count))
        for program in programs
        for count in dict.fromkeys(parameters.integers(TRIED[program]))
    ]
    return tuple(
        RunSpec(SLUG, variant, seed, values, describe, VERSION, sample_every=1000)
        for variant, values in settings
        for seed in parameters.seeds
    )


def topology(program: str, count: int) -> Topology:
    """The topology of a program for ``count`` machines."""
    if program == ORIGINAL:
        workers = ORIGINAL_PROCESSES * count
        each = 4 * workers
        layers = (spouts(each), passing("first", each), counting("second", each, "first"))
        return Topology(TOPOLOGY, layers, workers=workers, ackers=0)
    workers = PROCESSES * count
    executors = (THREADS[program] - 2) * workers // 2
    ackers = executors - workers if program == ACKS_ON else 0
    return Topology(TOPOLOGY, (spouts(executors - ackers),), workers=workers, ackers=ackers)


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
    source = SourcePlan(SourceKind.RATE, rate_per_s=rate, anchored=program == ACKS_ON)
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
        spec.described(cluster, (plan(spec),), DefaultScheduler(), SETTLED_S + MINUTE_S),
        cost=cost_model(values.number("message_factor")),
        # CPU of the last minute gets its own window; traffic is not read.
        window_s=SETTLED_S,
        bundle=Bundle(values.integer("bundle")),
        warm_up_s=SETTLED_S,
    )


_HOW_KEEPS_UP = (
    "fewest machines on which 99 % of the messages are finished in the last minute, with no more than twelve "
    "busy cores per machine; one machine fewer was tried, too"
)

_READ = ("thousand/s", "CPU % a machine")


def on_machines(program: str, count: int) -> str:
    """Variant of the runs of a program on ``count`` machines."""
    return f"{program}-{count}m"


def done_per_s(tables: Tables, parameters: Parameters, program: str, variant: str, seed: int) -> float:
    """Messages finished per second in the last minute."""
    if program == ACKS_ON:
        rows, column = of_run(tables.throughput_60s, variant, seed), "acked_per_s"
    else:
        rows = of_run(tables.component_throughput_60s, variant, seed)
        last, column = ("second", "executed_per_s") if program == ORIGINAL else ("spout", "emitted_per_s")
        rows = rows[rows["component"] == last]
    rates = rows.loc[rows["t_s"] >= SETTLED_S, column]
    return float(rates.mean()) * parameters.integer("bundle") if len(rates) else 0.0


def cpu_percent(tables: Tables, variant: str, seed: int) -> float | None:
    """CPU of a machine in use in the last minute (100 % is a core); None for a run that was not played."""
    rows = of_run(tables.node_cpu_60s, variant, seed)
    used = rows.loc[rows["t_s"] >= SETTLED_S, "cores_used"]
    return 100.0 * float(used.mean()) if len(used) else None


def machines_needed(
    tables: Tables, parameters: Parameters, program: str, tried: Sequence[int], seed: int
) -> int | None:
    """Smallest number tried that keeps up; None if none does, or if one machine fewer was not tried."""
    wanted = KEEPS_UP * parameters.number("messages_per_s")
    for count in sorted(set(tried)):
        variant = on_machines(program, count)
        if done_per_s(tables, parameters, program, variant, seed) < wanted:
            continue
        used = cpu_percent(tables, variant, seed)
        if used is not None and used <= PHYSICAL_PERCENT:
            return count if count - 1 in (0, *tried) else None
    return None


def by_machines(tables: Tables, parameters: Parameters) -> pd.DataFrame:
    """Every run's last minute: program, machines, seed, thousand/s (messages finished), CPU % a machine."""
    rows = []
    for program, name in TRIED.items():
        for count in sorted(set(parameters.integers(name))):
            variant = on_machines(program, count)
            for seed in dict.fromkeys(parameters.seeds):
                rate = done_per_s(tables, parameters, program, variant, seed) / 1000
                rows.append((program, count, seed, rate, cpu_percent(tables, variant, seed)))
    return pd.DataFrame(rows, columns=["program", "machines", "seed", *_READ])


def spread_over_seeds(found: pd.DataFrame) -> str:
    """Mean, minimum and maximum of `by_machines` over the seeds, as a text table."""
    groups = found.groupby(["program", "machines"], sort=False)[list(_READ)]
    return groups.agg(["mean", "min", "max"]).round(0).to_string()


def java_percent(parameters: Parameters) -> float:
    """CPU of the plain loop (100 % is a core), which consists of its reads only."""
    return parameters.number("messages_per_s") * parameters.number("read_us") / 1e6 * 100


def _needed(tables: Tables, parameters: Parameters, program: str) -> list[int | None]:
    tried = parameters.integers(TRIED[program])
    return [machines_needed(tables, parameters, program, tried, seed) for seed in parameters.seeds]


def measure_original(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claim about the original topology, from its runs alone."""
    needed = _needed(tables, parameters, ORIGINAL)
    return (measurement("twitter-ovh-orig-10", needed, how=_HOW_KEEPS_UP),)


def measured(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.3.2."""
    seeds = parameters.seeds
    java = java_percent(parameters)

    def total_cpu(program: str, counts: Sequence[int | None]) -> Samples:
        """CPU of all machines, in % of a core, on the smallest number that keeps up."""
        of_one = per_seed(
            lambda count, seed: cpu_percent(tables, on_machines(program, count), seed), counts, seeds
        )
        return per_seed(lambda count, used: count * used, counts, of_one)

    off: Samples = [cpu_percent(tables, on_machines(ACKS_OFF, 1), seed) for seed in seeds]
    needed_on = _needed(tables, parameters, ACKS_ON)
    cost = per_seed(
        lambda plain, acked: (acked - plain) / plain,
        total_cpu(ACKS_OFF, _needed(tables, parameters, ACKS_OFF)),
        total_cpu(ACKS_ON, needed_on),
    )
    needed_by_java = [float(math.ceil(java / PHYSICAL_PERCENT))]
    rounded = "CPU of the reads over twelve cores, rounded up"
    product = "messages times the CPU of a read, which is this number over the messages"
    both: dict[str, Samples] = {"storm-no-acks": off, "plain-java": [java]}
    one_machine = "CPU of a machine in the last minute, one machine"
    three_machines = "CPU of a machine in the last minute, three machines"
    acked = [cpu_percent(tables, on_machines(ACKS_ON, 3), seed) for seed in seeds]
    added = "CPU of all machines on the fewest that keep up, less that without acking, over the latter"
    return (
        *measure_original(tables, parameters),
        measurement("twitter-ovh-java-machines", needed_by_java, how=rounded),
        measurement("twitter-ovh-java-cpu", [java], how=product),
        measurement("twitter-ovh-storm-noack-cpu", off, how=one_machine),
        measurement("twitter-ovh-noack-le-java", both, how=one_machine),
        measurement("twitter-ovh-ack-machines", needed_on, how=_HOW_KEEPS_UP),
        measurement("twitter-ovh-ack-cpu", acked, how=three_machines),
        measurement("twitter-ovh-ack-3x", cost, how=added),
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.3.2, with the shared costs and under the trials."""
    return (
        *measured(tables, parameters),
        *explained(measured, tables, parameters, (PRINTED_ACK_COST,)),
        *explained(measure_original, tables, parameters, (EXPENSIVE_BOLTS,)),
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
