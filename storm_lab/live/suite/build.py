"""Building blocks of sittings: clusters, chains and their placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle

import numpy as np

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.times import ControlTimes, timers_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.cgroups import PERIOD_US
from storm_lab.live.suite.scene import Schedule
from storm_lab.model import (
    ACKER,
    Assignment,
    Cluster,
    Component,
    Executor,
    Node,
    Slot,
    StormVersion,
    Subscription,
    Topology,
    executors_of,
)
from storm_lab.model.machines import LIVE
from storm_lab.model.settings import SettingValue
from storm_lab.model.version import V1_0_0, V2_0_0
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import CountById, EmitRandomTexts, Identity
from storm_lab.workloads.usercode import Bolt, Spout

MACHINE_PART = 0.88
"""Part of the machine's cores that all nodes get together: as much as it gives to hosts
(`storm_lab.live.hosts.MACHINE_SHARE`), less the use of Nimbus and ZooKeeper.
"""
CORES = 2
"""Cores of the machine for which the suite is meant; larger machines have some left over."""

WATCHED_NS = 20_000
"""From this length on, the player checks its user code against its thread's CPU clock (`Burner.java`)."""
WATCHING_NS = 2_200
"""CPU that these checks add: four reads of the clock, each 0.56 us on a plain JVM of the second machine."""

SUBMISSION_S = 0.84
"""Time from a topology's submission to that of the next: the median of 229 on live Storm (0.3 to 3.9 s)."""

_DOWNLOAD_S, _DOWNLOAD_1_S, _DOWNLOAD_2_S = 0.1, 0.2, 1.6
"""Time until a supervisor has the code of a suite's topology, a small jar on the same machine: up to 0.10, in
1.x, in 2.x. The recorded plays of ``control`` take 0.1, 0.6 and 2.0 s in the median from an assignment until
the first worker starts on a node, reading and polling included.
"""

_TEXT = 40
"""Characters of a tuple's text; with its id that is about 60 bytes."""

SILENT = SourcePlan(SourceKind.RATE, rate_per_s=0.0)
"""A source without tuples until its turn."""


def quota_cluster(mhz: float, nodes: int = 2, cores: int = CORES) -> Cluster:
    """Return equal nodes that may each use the whole machine, limited to their share of it by quotas.

    For scenes that saturate: a throttled host waits for the next period, which distorts latencies.
    """
    quota = MACHINE_PART * CORES / nodes
    # If there is a core for each host, each has one of its own.
    shared = CORES if nodes * cores > CORES else None
    return Cluster(tuple(_node(number, cores, mhz, quota) for number in range(1, nodes + 1)), shared)


def free_cluster(mhz: float) -> Cluster:
    """Return two equal nodes that share the machine, for scenes that leave some of it idle."""
    return Cluster((_node(1, CORES, mhz), _node(2, CORES, mhz)), MACHINE_PART * CORES)


def _node(number: int, cores: int, mhz: float, quota: float | None = None) -> Node:
    return Node(
        f"n{number}",
        ports=tuple(range(6700, 6712)),
        cores=cores,
        core_mhz=mhz,
        memory_mb=6144.0,
        work_per_clock=LIVE,
        cpu_quota=quota,
        quota_period_ms=PERIOD_US / 1000,
    )


def placed(executors: Sequence[Executor], where: Mapping[str, Sequence[Slot]]) -> Assignment:
    """Deal the executors of each component to its slots in turn."""
    turns = {component: cycle(slots) for component, slots in where.items()}
    return Assignment.of([(executor, next(turns[executor.component])) for executor in executors])


SUITE_COST = CostModel(process_penalty=0.0)
"""No penalty for sharing caches with other workers: the player's bolts measure their work by their threads'
own CPU clocks, whatever else uses the caches, and nearly all other workers of a sitting are idle.
"""


@dataclass(frozen=True)
class Chain:
    """Spout, bolt1 and bolt2 with their slots; the executors of a component are dealt to its slots in turn.

    Args:
        name: of the topology.
        source: of its spout.
        spout, bolt1, bolt2: slots.
        acker: slots of the ackers; by default those of the spout.
        executors: of spout, bolt1 and bolt2.
        work_us: CPU of a call of bolt1 and of bolt2, at the clock of the machine.
        ackers: number of ackers.
        pending: largest number of a spout task's root tuples that are pending.
        submit_s: time of submission.
        settings: of the topology.
    """

    name: str
    source: SourcePlan
    spout: Sequence[Slot]
    bolt1: Sequence[Slot]
    bolt2: Sequence[Slot]
    acker: Sequence[Slot] = ()
    executors: tuple[int, int, int] = (1, 1, 1)
    work_us: tuple[float, float] = (0.0, 0.0)
    ackers: int = 1
    pending: int | None = None
    submit_s: float = 0.0
    settings: Mapping[str, SettingValue] = field(default_factory=dict)

    def where(self) -> Mapping[str, Sequence[Slot]]:
        """Return the slots by component."""
        ackers = self.acker or self.spout
        return {"spout": self.spout, "bolt1": self.bolt1, "bolt2": self.bolt2, ACKER: ackers}

    def plan(self, version: StormVersion, mhz: float) -> TopologyPlan:
        """Return the topology with its trace."""
        spouts, first, second = self.executors
        fields = {"default": ("id", "text")}
        topology = Topology(
            self.name,
            (
                Component("spout", spouts, outputs=fields),
                Component("bolt1", first, inputs=(Subscription("spout"),), outputs=fields),
                Component("bolt2", second, inputs=(Subscription("bolt1"),)),
            ),
            workers=len({slot for slots in self.where().values() for slot in slots}),
            ackers=self.ackers,
            max_spout_pending=self.pending,
            settings=self.settings,
        )
        code: dict[str, Spout | Bolt] = {
            "spout": EmitRandomTexts(100, _TEXT, 1),
            "bolt1": Identity(self.work_us[0]),
            "bolt2": CountById(self.work_us[1]),
        }
        trace = build_trace(topology, code, version, reference_mhz=mhz)
        return TopologyPlan(topology, trace, {"spout": self.source}, self.submit_s)


def in_one(name: str, source: SourcePlan, slot: Slot, **more: object) -> Chain:
    """Return a chain in one worker."""
    return Chain(name, source, (slot,), (slot,), (slot,), **more)  # type: ignore[arg-type]


def split(name: str, source: SourcePlan, here: Slot, there: Slot, **more: object) -> Chain:
    """Return a chain whose bolt1 is in another worker, so that both hops are remote."""
    return Chain(name, source, (here,), (there,), (here,), **more)  # type: ignore[arg-type]


def as_played(spec: EmulationSpec, cost: CostModel) -> EmulationSpec:
    """Return a description with a machine's costs, the player's own work, and one submission at a time."""
    plans = []
    free_s = 0.0
    for plan in spec.topologies:
        records = plan.trace.records.copy()
        records["cpu_ns"] += np.where(records["cpu_ns"] >= WATCHED_NS, WATCHING_NS, 0)
        submit_s = max(plan.submit_s, free_s)
        free_s = submit_s + SUBMISSION_S
        plans.append(replace(plan, trace=replace(plan.trace, records=records), submit_s=submit_s))
    clocked = replace(cost, clocked_us=WATCHED_NS / 1e3)
    return replace(spec, topologies=tuple(plans), cost=clocked)


def chains_in_turn(
    version: StormVersion,
    mhz: float,
    schedule: Schedule,
    chains: Sequence[Chain],
    *,
    sample_every: int,
    limit_cpu: bool = False,
) -> tuple[Schedule, EmulationSpec]:
    """Return a schedule, and the description of chains that are active by it on the suite's two nodes."""
    plans = tuple(chain.plan(version, mhz) for chain in chains)
    placement = Assignment()
    for chain, plan in zip(chains, plans, strict=True):
        placement = placement.merged(placed(executors_of(plan.topology, version), chain.where()))
    cluster = quota_cluster(mhz) if limit_cpu else free_cluster(mhz)
    return schedule, in_sequence(cluster, version, plans, placement, schedule, sample_every)


def in_sequence(
    cluster: Cluster,
    version: StormVersion,
    plans: Sequence[TopologyPlan],
    placement: Assignment,
    schedule: Schedule,
    sample_every: int,
) -> EmulationSpec:
    """Describe a sitting of topologies that keep their placement and are active in turn."""
    # As in Storm's code, new assignments wake supervisors at once (2.x: by a call).
    timers = timers_of(version)
    timers = timers if timers.pushes_assignments else replace(timers, supervisor_watch=True)
    download_s = _DOWNLOAD_S if version < V1_0_0 else _DOWNLOAD_1_S if version < V2_0_0 else _DOWNLOAD_2_S
    return EmulationSpec(
        cluster=cluster,
        version=version,
        topologies=tuple(plans),
        scheduler=DefaultScheduler(),
        cost=SUITE_COST,
        duration_s=schedule.now_s + 1.0,
        faults=FaultPlan(tuple(schedule.faults)),
        timers=timers,
        times=ControlTimes(code_download_s=download_s),
        placement=placement,
        window_s=1.0,
        count_window_s=1.0,
        sample_every=sample_every,
    )
