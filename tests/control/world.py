"""Small worlds for the tests of the control plane: a cluster, a chain, and the daemons on a fake plane."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import MigrationMethod, Restart
from storm_lab.emulator.control.supervisor import Phases
from storm_lab.emulator.control.times import ControlTimes, Timers, timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Executor,
    Node,
    Slot,
    StormVersion,
    Subscription,
    Topology,
)
from storm_lab.model.settings import SettingValue
from storm_lab.model.version import V0_8_2
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.storm.default import DefaultScheduler
from tests.control.fake_plane import FakePlane

SAME_STARTS = CostModel(jvm_start_cpu_s=0.0)
"""Costs with which a worker's start takes the same time whatever else runs, by default 5 s."""


class Gather(Scheduler):  # type: ignore[type-arg]
    """A scheduler that puts everything into one slot."""

    name = "gather"
    version = "1"
    slot = Slot("node02", 6701)

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        pairs = [(e, self.slot) for executors in view.executors.values() for e in executors]
        status = {t.id: TopologyStatus(True, "") for t in view.topologies}
        return SchedulingResult(Assignment.of(pairs), status)


def cluster(nodes: int = 3, racks: int = 1, quota: float | None = None) -> Cluster:
    """Nodes node01, node02, ...; racks r0, r1, ... in turn; each may use ``quota`` cores."""
    names = [(f"node{i + 1:02}", f"r{i % racks}") for i in range(nodes)]
    return Cluster(tuple(Node(name, rack=rack, cpu_quota=quota) for name, rack in names))


def chain(workers: int = 3, executors: int = 3, topology_id: str = "chain") -> Topology:
    """spout -> bolt, with ``executors`` executors each and one acker."""
    return Topology(
        topology_id,
        (
            Component("spout", executors, outputs={"default": ("value",)}),
            Component("bolt", executors, inputs=(Subscription("spout"),)),
        ),
        workers=workers,
        ackers=1,
    )


def phases_at(sync_s: float, process_s: float = 0.0, beat_s: float = 0.0) -> Phases:
    """Phases with the first ticks at these seconds."""
    return Phases(ns(sync_s), ns(process_s), ns(beat_s))


def build(
    nodes: int | Cluster = 3,
    *,
    racks: int = 1,
    quota: float | None = None,
    version: StormVersion = V0_8_2,
    migration: MigrationMethod | None = None,
    timers: Timers | None = None,
    times: ControlTimes | None = None,
    cost: CostModel | None = None,
    zookeeper: ZooKeeperPlan | None = None,
    phases: dict[str, Phases] | None = None,
    seed: int = 1,
    settings: Mapping[str, SettingValue] = MappingProxyType({}),
) -> tuple[ControlPlane, FakePlane]:
    """A control plane on a fake data plane, nothing submitted yet."""
    plane = FakePlane()
    control = ControlPlane(
        nodes if isinstance(nodes, Cluster) else cluster(nodes, racks, quota),
        version,
        plane,
        DefaultScheduler(),
        migration or Restart(),
        cost=cost or SAME_STARTS,
        times=times or ControlTimes(jvm_start_s=5.0),
        timers=timers or timers_of(version),
        zookeeper=zookeeper or ZooKeeperPlan(),
        seed=seed,
        phases=phases,
        first_round_s=(timers or timers_of(version)).nimbus_round_s,
        settings=settings,
    )
    return control, plane


def run_to(control: ControlPlane, seconds: float) -> None:
    """Play the control plane up to and including a time."""
    control.clock.run_until(ns(seconds))


def running(
    seconds: float, topology: Topology, nodes: int = 3, **settings: Any
) -> tuple[ControlPlane, FakePlane]:
    """A topology submitted at 0 and played up to a time, on what `build` builds with these settings."""
    control, plane = build(nodes, **settings)
    control.nimbus.submit(topology)
    run_to(control, seconds)
    return control, plane


def fault(name: str, at_s: object, **fields: object) -> dict[str, object]:
    """A row of a fault plan."""
    return {"fault": name, "at_s": at_s, **fields}


def disturbance(
    at_s: float, back_s: float, name: str, undone_by: str = "", **fields: object
) -> list[dict[str, object]]:
    """Rows of a fault plan: a fault, and what undoes it later, if anything does."""
    return [fault(name, at_s, **fields)] + [fault(undone_by, back_s, **fields)] * bool(undone_by)


def seconds_of(control: ControlPlane, action: str, actor: str = "") -> list[float]:
    """Times of an action's entries in the decision log, rounded to milliseconds."""
    entries = [entry for entry in control.log.of(action) if entry.actor.startswith(actor)]
    return [round(entry.time_ns / 1e9, 3) for entry in entries]


def move(control: ControlPlane, slots: Mapping[Executor, Slot]) -> None:
    """Hand the present schedule to Nimbus with these executors in other slots."""
    moved = control.nimbus.present.merged(Assignment(slots))
    assert control.nimbus.install(moved, "moved by the test")


def move_a_bolt(control: ControlPlane) -> Executor:
    """Move a bolt to another worker, and return it."""
    mover, slots = executor_of(control, "bolt"), control.nimbus.present.slots
    move(control, {mover: next(slot for slot in slots.values() if slot != slots[mover])})
    return mover


def executor_of(
    control: ControlPlane, component: str, index: int = 0, topology_id: str = "chain"
) -> Executor:
    """An executor of a component, in order of tasks."""
    stored = control.nimbus.current(topology_id)
    assert stored is not None
    return sorted(e for e in stored.slots if e.component == component)[index]
