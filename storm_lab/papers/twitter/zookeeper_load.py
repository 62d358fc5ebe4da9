"""ZooKeeper under load (section 3.3.1): how many workers keep their heartbeats, and where writes come from.

Only the control plane is played: supervisors, workers and ZooKeeper, on machines with as many slots as cores.
A worker whose last heartbeat is too old counts as dead, is killed and started again.

All results come from the control events: workers that were started again, and captured writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.experiments.readings import Samples, Tables, details, measurement, of_run, per_seed
from storm_lab.model.topology import Component, Topology
from storm_lab.monitoring.write_capture import WriteCapture
from storm_lab.papers.twitter.testbed import VERSION, machines
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import FIELDS, EmitRandomTexts

SLUG = "twitter-zookeeper-load"
TOPOLOGIES = 20
"""Number of topologies behind the capture, as printed."""
OFFSETS_S = 2.0
"""Period at which a Kafka spout stores the offset of each partition (section 3.3.1)."""
SLOTS = 12
"""Slots per machine: typically as many as cores (section 2.1)."""
CAPTURE_S = 300.0
"""Virtual length of the captured run; the last minute is read."""

DEDICATED = "dedicated"
DATABASE = "database"
ELSEWHERE = "elsewhere"
CAPTURE = "capture"
WAITING = "-waiting"
"""Suffix of the variant in which a heartbeat's timer waits for its write."""

PARTITIONS = Parameter(
    "partitions",
    33,
    "mean partitions that a topology reads; 15 to 150 are printed, chosen to give the captured writes",
    within=(15, 150),
    chosen_on=("twitter-zk-kafka-writes",),
)
CAPTURED_WORKERS = Parameter(
    "captured_workers",
    472,
    "workers of the captured cluster; not printed, chosen to give Storm's share of the writes",
    within=(20, 1200),
    chosen_on=("twitter-zk-share", "twitter-zk-heartbeat-share"),
)
PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation of every cluster per seed, with its own phases of the supervisors' cycles"),
    Parameter(
        "large_seeds",
        1,
        "number of seeds for clusters of a thousand workers: a limit depends on rates and not on chance, as "
        "the smaller clusters show with every seed",
        within=(1, 100),
    ),
    Parameter(
        "duration_s",
        900.0,
        "virtual length of a run; slightly above the limit it takes long until the queue is too long",
        within=(300, 7200, "s"),
    ),
    *(
        Parameter(
            f"{name}_workers", counts, f"numbers of workers to try with {what}", within=(20, most, "workers")
        )
        for name, counts, what, most in (
            (DEDICATED, (300, 320, 340), "dedicated machines for ZooKeeper", 1000),
            (DATABASE, (1150, 1200, 1250), "database hardware", 3000),
            (ELSEWHERE, (1200,), "offsets and heartbeats stored outside ZooKeeper", 6000),
        )
    ),
    PARTITIONS,
    CAPTURED_WORKERS,
    Parameter(
        "heartbeat_timeout_s",
        30.0,
        "age at which a heartbeat counts as missed; 30 s by default in Storm, 15 s in a line of the text",
        within=(15, 60, "s"),
    ),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """One run per configuration, number of workers and seed, the captured one, and one of waiting timers."""
    shared = parameters.only(("duration_s", "partitions", "heartbeat_timeout_s"))
    settings = {
        workers_variant(configuration, count): (
            shared.changed(configuration=configuration, workers=count),
            seeds_of(parameters, configuration),
        )
        for configuration, counts in _tried(parameters).items()
        for count in counts
    }
    captured = shared.changed(
        configuration=DATABASE, workers=parameters.integer("captured_workers"), duration_s=CAPTURE_S
    )
    settings[CAPTURE] = captured, seeds_of(parameters, CAPTURE)
    most = workers_variant(DEDICATED, max(parameters.integers("dedicated_workers")))
    settings[most + WAITING] = settings[most][0].changed(timers_drift=True), parameters.seeds[:1]
    return tuple(
        RunSpec(SLUG, variant, seed, values, describe, VERSION)
        for variant, (values, seeds) in settings.items()
        for seed in seeds
    )


def _tried(parameters: Parameters) -> dict[str, tuple[int, ...]]:
    """Numbers of workers to try with each configuration."""
    return {name: parameters.integers(f"{name}_workers") for name in (DATABASE, ELSEWHERE, DEDICATED)}


def offset_writes_per_s(partitions: int) -> float:
    """Offsets that all topologies' Kafka spouts store per second, each of ``partitions`` partitions."""
    return TOPOLOGIES * partitions / OFFSETS_S


def zookeeper(configuration: str, offsets_per_s: float) -> ZooKeeperPlan:
    """ZooKeeper as in the paper's second, third or last configuration."""
    if configuration == DEDICATED:
        return ZooKeeperPlan.dedicated(offset_writes_per_s=offsets_per_s)
    moved = configuration == ELSEWHERE
    return ZooKeeperPlan(offset_writes_per_s=offsets_per_s, heartbeat_daemons=moved, offsets_elsewhere=moved)


def topologies(workers: int) -> tuple[TopologyPlan, ...]:
    """Twenty topologies of nearly equal size, with one spout executor per worker and empty sources."""
    plans = []
    for number in range(TOPOLOGIES):
        own = workers // TOPOLOGIES + (number < workers % TOPOLOGIES)
        component = Component("spout", own, outputs={"default": FIELDS})
        topology = Topology(f"topology{number + 1:02d}", (component,), workers=own, ackers=0)
        trace = build_trace(topology, {"spout": EmitRandomTexts(1, 1, 0)}, VERSION)
        plans.append(TopologyPlan(topology, trace, {"spout": SourcePlan(SourceKind.RATE, anchored=False)}))
    return tuple(plans)


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run: the control plane alone."""
    values = spec.parameters
    workers, duration_s = values.integer("workers"), values.number("duration_s")
    return replace(
        spec.described(machines(-(-workers // SLOTS), SLOTS), topologies(workers), DefaultScheduler()),
        # In the paper late heartbeats kill workers, so their age counts, not when Nimbus saw them change.
        timers=replace(
            timers_of(VERSION),
            heartbeat_by_sender=True,
            # They are late only if the timer does not wait for its last write. Storm's own timer waits.
            timers_drift="timers_drift" in values,
            # No tuple is sent, so workers need not refresh their connections.
            refresh_s=duration_s,
            task_timeout_s=values.number("heartbeat_timeout_s"),
        ),
        zookeeper=zookeeper(values.text("configuration"), offset_writes_per_s(values.integer("partitions"))),
        services=(WriteCapture(),),
        window_s=duration_s,
        control_only=True,
    )


def seeds_of(parameters: Parameters, configuration: str) -> tuple[int, ...]:
    """Seeds with which a configuration is played: all for small clusters, the first ones for large ones."""
    seeds = parameters.seeds
    return seeds if configuration in (DEDICATED, CAPTURE) else seeds[: parameters.integer("large_seeds")]


def workers_variant(configuration: str, workers: int) -> str:
    """Variant of the runs of a configuration with ``workers`` workers."""
    return f"{configuration}-{workers}"


def restarted_workers(tables: Tables, configuration: str, workers: int, seed: int, tag: str = "") -> int:
    """Worker processes that were killed and started again; ``tag`` is the suffix of the variant's name."""
    rows = of_run(tables.control, workers_variant(configuration, workers) + tag, seed)
    return int((rows["action"] == "start-worker").sum()) - workers


def limit(tables: Tables, configuration: str, tried: Sequence[int], seeds: Sequence[int]) -> Samples:
    """Largest number of workers tried, by seed, with which and below which all kept their heartbeats."""

    def most(seed: int) -> float | None:
        kept = takewhile(
            lambda workers: not restarted_workers(tables, configuration, workers, seed), sorted(set(tried))
        )
        return max(map(float, kept), default=None)

    return [most(seed) for seed in seeds]


def limit_passed(tables: Tables, configuration: str, tried: Sequence[int], seeds: Sequence[int]) -> Samples:
    """The `limit`, by seed; None also if no number tried is above it, because it is then unknown."""
    found = limit(tables, configuration, tried, seeds)
    return [None if most == max(tried) else most for most in found]


def writes(tables: Tables, variant: str, seed: int) -> dict[str, int]:
    """Captured writes of the run's last full minute, by origin."""
    rows = of_run(tables.control, variant, seed)
    rows = rows[(rows["actor"] == "capture") & (rows["action"] == "writes")]
    last = rows[rows["time_s"] == rows["time_s"].max()]
    return {str(name): int(each["writes"]) for name, each in zip(last["subject"], details(last), strict=True)}


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.3.1."""
    tried = _tried(parameters)
    seeds = {name: seeds_of(parameters, name) for name in tried}
    how = (
        "largest number of workers tried with which none counted as dead within "
        f"{parameters.number('duration_s'):g} s, nor with fewer workers; with more, some did"
    )
    restarts = (
        "worker processes started again, with the fewest and with the most workers tried, the worse of the "
        "two kinds of hardware"
    )
    fix = (
        "writes that reach ZooKeeper's disk in the last minute, against the third configuration's; largest "
        "number of workers tried with which none counted as dead"
    )

    def limits(name: str) -> Samples:
        return limit_passed(tables, name, tried[name], seeds[name])

    def restarted(count: Callable[..., int], worse: Callable[..., int]) -> Samples:
        return [
            worse(
                restarted_workers(tables, name, count(tried[name]), seed)
                for name in (DEDICATED, DATABASE)
                if seed in seeds[name]
            )
            for seed in seeds[DEDICATED]
        ]

    def written(name: str) -> list[int]:
        variant = workers_variant(name, min(tried[name]))
        return [sum(writes(tables, variant, seed).values()) for seed in seeds[ELSEWHERE]]

    churn = {"below": restarted(min, max), "above": restarted(max, min)}
    written_left = per_seed(lambda new, old: 100 * new / old, written(ELSEWHERE), written(DATABASE))
    kept = limit(tables, ELSEWHERE, tried[ELSEWHERE], seeds[ELSEWHERE])
    left = {"writes-left": written_left, "workers": kept}
    return (
        measurement("twitter-zk-limit-dedicated", limits(DEDICATED), how=how),
        measurement("twitter-zk-limit-db-hw", limits(DATABASE), how=how),
        measurement("twitter-zk-churn", churn, how=restarts),
        measurement("twitter-zk-fix", left, how=fix),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="ZooKeeper's disk and the number of workers",
    figure="Section 3.3.1",
    parameters=PARAMETERS,
    notebook="twitter/zookeeper_load.ipynb",
    metrics=("control",),
    runs=runs,
    measure=measure,
)
