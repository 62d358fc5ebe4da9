"""The specification of a run: everything that determines its result, as plain data.

An experiment returns it, and the emulator or real Storm plays it. This module imports no compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from storm_lab.emulator.bundle import Bundle
from storm_lab.emulator.control.control_plane import Service
from storm_lab.emulator.control.faults import FaultPlan, PlannedWorld
from storm_lab.emulator.control.migration.method import MigrationMethod, Restart
from storm_lab.emulator.control.times import ControlTimes, Timers
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.queue_sizes import QueueSizes, watermarks_of
from storm_lab.emulator.source import SourceKind, TopologyPlan, check_plan
from storm_lab.emulator.unreached import Unreached
from storm_lab.errors import UserError
from storm_lab.model import (
    Assignment,
    Cluster,
    InvalidAssignmentError,
    StormVersion,
    check_assignment,
    check_slots,
)
from storm_lab.model.checks import check_distinct, check_kinds, check_number, check_whole
from storm_lab.model.constant import check_constants
from storm_lab.model.executor import executors_of
from storm_lab.model.settings import (
    OF_TOPOLOGY,
    TIMERS,
    SettingValue,
    check_cluster_settings,
    check_settings_version,
)
from storm_lab.model.topology import MAX_TIME_S, MIN_TIME_S
from storm_lab.schedulers.contract import Scheduler


@dataclass(frozen=True, slots=True)
class EmulationSpec:
    """Everything that determines a run.

    Args:
        cluster: the worker nodes; Nimbus and ZooKeeper have machines of their own.
        version: the Storm version played.
        topologies: submitted in this order, at time 0 or each at its own time.
        scheduler: Nimbus's own scheduler.
        duration_s: virtual seconds.
        seed: of everything random.
        cost: costs of the message path.
        services: additions to Storm (monitors, generators, tuners), started in this order.
        migration: how assignments handed to Nimbus in operation are put into effect.
        faults: what happens to the cluster, and when.
        placement: a first assignment fixed by hand, for all topologies that it names completely.
        times: durations of the control plane.
        timers: Storm's periods and timeouts; None = those of the version, changed by ``settings``.
        zookeeper: ZooKeeper's speed and other load.
        window_s: length of the windows in which traffic and CPU are counted, for the log and the monitors.
        count_window_s: length of the windows in which the log counts tuples by task, as Storm's UI does.
        sample_every: log the executions of one root tuple in this many.
        bundle: how many tuples are played as one, at as many times the cost; the log counts bundles.
        warm_up_s: time at the start that the steady state leaves out, without effect on the run itself.
        settle_s: time after the last re-assignment that the steady state leaves out, too; None =
            re-assignments do not delay it.
        unreached: what becomes of messages without a connection; None = the version's own behaviour.
        control_only: play only Nimbus, ZooKeeper, supervisors and workers, without any tuples.
        settings: Storm's settings by full key, as in the ``storm.yaml`` of all machines: settings of the
            daemons and of the connections between workers, and defaults for topologies.
    """

    cluster: Cluster
    version: StormVersion
    topologies: tuple[TopologyPlan, ...]
    scheduler: Scheduler[Any]
    duration_s: float
    seed: int = 0
    cost: CostModel = field(default_factory=CostModel)
    services: tuple[Service, ...] = ()
    migration: MigrationMethod = field(default_factory=Restart)
    faults: FaultPlan = field(default_factory=FaultPlan)
    placement: Assignment | None = None
    times: ControlTimes = field(default_factory=ControlTimes)
    timers: Timers | None = None
    zookeeper: ZooKeeperPlan = field(default_factory=ZooKeeperPlan)
    window_s: float = 20.0
    count_window_s: float = 10.0
    sample_every: int = 1
    bundle: Bundle = field(default_factory=Bundle)
    warm_up_s: float = 0.0
    settle_s: float | None = None
    unreached: Unreached | None = None
    control_only: bool = False
    settings: Mapping[str, SettingValue] = field(default_factory=dict)

    def with_defaults(self) -> EmulationSpec:
        """Return the run with the cluster's settings as defaults of every topology's settings."""
        defaults = {key: value for key, value in self.settings.items() if key in OF_TOPOLOGY}
        if not defaults:
            return self
        plans = (
            replace(plan, topology=replace(plan.topology, settings={**defaults, **plan.topology.settings}))
            for plan in self.topologies
        )
        return replace(self, topologies=tuple(plans))


def check_spec(spec: EmulationSpec) -> None:
    """Refuse a run that cannot be played, before it is built; `UserError` names field, value and remedy."""
    check_kinds("the run", spec)
    for name in ("duration_s", "window_s", "count_window_s"):
        check_number("the run", name, getattr(spec, name), low=MIN_TIME_S, high=MAX_TIME_S, unit="s")
    check_number("the run", "warm_up_s", spec.warm_up_s, high=MAX_TIME_S, unit="s")
    check_whole("the run", "seed", spec.seed, low=-(2**63), high=2**63 - 1)
    check_whole("the run", "sample_every", spec.sample_every, low=1, high=2**31 - 1)
    check_slots(spec.cluster)
    check_cluster_settings(spec.settings)
    check_settings_version("the cluster", spec.settings, spec.version)
    if not spec.topologies:
        raise UserError("the run has no topologies", field="topologies", remedy="give at least one topology")
    check_distinct("the run", "topology", [plan.topology.id for plan in spec.topologies])
    for plan in spec.topologies:
        check_number(f"topology {plan.topology.id!r}", "submit_s", plan.submit_s, unit="s")
        if not 0 <= plan.submit_s < spec.duration_s:
            message = "a topology must be submitted during the run"
            remedy = f"give seconds, from 0 to less than {spec.duration_s:g}"
            raise UserError(message, field="submit_s", value=plan.submit_s, remedy=remedy)
        check_settings_version(f"topology {plan.topology.id!r}", plan.topology.settings, spec.version)
        if not spec.control_only:
            check_plan(plan)
    if not spec.control_only:
        watermarks_of(spec.settings)
        for plan in spec.with_defaults().topologies:
            QueueSizes.of(spec.version, plan.topology.settings)
    if spec.timers is not None and (both := [key for key in spec.settings if key in TIMERS]):
        message = "the run has timers of its own, which override this setting"
        remedy = f"set timers.{TIMERS[both[0]][0]} instead"
        raise UserError(message, field="settings", value=both[0], remedy=remedy)
    for constants in (spec.cost, spec.times, spec.zookeeper):
        check_constants(constants)
    topologies = tuple(plan.topology for plan in spec.topologies)
    submit_s = {plan.topology.id: plan.submit_s for plan in spec.topologies}
    unrated = frozenset(
        (plan.topology.id, spout)
        for plan in spec.topologies
        for spout, source in plan.sources.items()
        if source.kind is not SourceKind.RATE
    )
    world = PlannedWorld(spec.cluster, topologies, spec.version, spec.duration_s, submit_s, unrated)
    spec.faults.check(world)
    if spec.placement is None:
        return
    named = {executor.topology for executor in spec.placement.slots}
    wanted = [
        executor
        for plan in spec.topologies
        if plan.topology.id in named
        for executor in executors_of(plan.topology, spec.version)
    ]
    try:
        check_assignment(spec.placement, spec.cluster, wanted)
    except InvalidAssignmentError as error:
        raise UserError(str(error), field="placement", remedy="place every executor once") from error
