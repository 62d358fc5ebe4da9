"""One run of the emulator: cluster, topologies, control plane and data plane put together and played to the
end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from storm_lab.emulator.bundle import Bundle
from storm_lab.emulator.constant import check_constants
from storm_lab.emulator.control.clock import SECOND, Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.control.faults import FaultPlan, PlannedWorld
from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.placement_log import Placement
from storm_lab.emulator.control.plane import Plane
from storm_lab.emulator.control.service import Sampler, Service
from storm_lab.emulator.control.times import ControlTimes, Timers, check_timers, timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.loss import EmulationStoppedError
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.setup.logbook import Recorder
from storm_lab.emulator.source import TopologyPlan, check_source
from storm_lab.errors import UserError
from storm_lab.model import Assignment, Cluster, InvalidAssignmentError, StormVersion, check_assignment
from storm_lab.model.executor import executors_of
from storm_lab.schedulers.contract import Scheduler

Progress = Callable[[int, int], None]
"""Called with the virtual time reached and the planned end, both in nanoseconds."""

_PROGRESS_STEPS = 200
"""Most calls of it in a run: each brings the data plane up to date."""


@dataclass(frozen=True, slots=True)
class EmulationSpec:
    """All that decides a run.

    Args:
        cluster: the worker nodes; Nimbus and ZooKeeper have machines of their own.
        version: the Storm version played.
        topologies: submitted at time 0, in this order.
        scheduler: Nimbus's own scheduler.
        duration_s: virtual seconds.
        seed: of everything random.
        cost: costs of the message path.
        services: what acts beside Storm (monitors, generators, tuners), started in this order.
        migration: how assignments handed to Nimbus in operation are put into effect.
        faults: what happens to the cluster, and when.
        placement: a first assignment fixed by hand, for all topologies that it names completely.
        times: durations of the control plane.
        timers: Storm's periods and timeouts; None = those of the version.
        zookeeper: ZooKeeper's speed and other load.
        window_s: length of the windows in which traffic and CPU are counted, for the log and the monitors.
        sample_every: log the executions of one root tuple in this many.
        bundle: how many tuples are played as one, at as many times the cost; the log counts bundles.
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
    sample_every: int = 1
    bundle: Bundle = field(default_factory=Bundle)


@dataclass(frozen=True, slots=True)
class EmulationOutcome:
    """What a run leaves in memory; the measurements are in the tuple log.

    ``duration_ns`` is the virtual time reached; ``stopped`` says which stated limit ended the run before its
    planned end, and is empty otherwise. ``stays`` are the executors' stays in workers, ``final`` Nimbus's
    last assignment.
    """

    duration_ns: int
    stopped: str
    decisions: Sequence[Decision]
    stays: Sequence[Placement]
    final: Assignment


def check_spec(spec: EmulationSpec) -> None:
    """Refuse a run that cannot be, before anything is built.

    Raises:
        UserError: names the field, the value and the remedy.
    """
    for name, value in (("duration_s", spec.duration_s), ("window_s", spec.window_s)):
        if not (math.isfinite(value) and value > 0):
            raise UserError(
                "a time must be positive", field=name, value=value, remedy="give seconds, more than 0"
            )
    if not spec.topologies:
        raise UserError("there is nothing to run", field="topologies", remedy="give at least one topology")
    ids = [plan.topology.id for plan in spec.topologies]
    for twice in {name for name in ids if ids.count(name) > 1}:
        raise UserError("two topologies have this id", field="topologies", value=twice, remedy="rename one")
    for plan in spec.topologies:
        for spout in plan.topology.spouts:
            if spout.id not in plan.sources:
                raise UserError(
                    f"spout {spout.id!r} of topology {plan.topology.id!r} has no source",
                    field="sources",
                    value=sorted(plan.sources),
                    remedy="give each spout a SourcePlan",
                )
            check_source(spout.id, plan.sources[spout.id])
    if spec.timers is not None:
        check_timers(spec.timers)
    for constants in (spec.cost, spec.times, spec.zookeeper):
        check_constants(constants)
    spec.faults.check(
        PlannedWorld(
            spec.cluster, tuple(plan.topology for plan in spec.topologies), spec.version, spec.duration_s
        )
    )
    _check_placement(spec)


def _check_placement(spec: EmulationSpec) -> None:
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


class Emulation:
    """A run that has been checked and can be played once.

    Raises:
        UserError: the specification cannot be run.
    """

    def __init__(self, spec: EmulationSpec) -> None:
        check_spec(spec)
        self.spec = spec

    def run(self, recorder: Recorder | None = None, progress: Progress | None = None) -> EmulationOutcome:
        """Play the run and write its rows; the recorder is neither opened nor finished here.

        A limit that ends the run early is told in the outcome, not raised; what was recorded stays.
        """
        spec = self.spec
        plane = DataPlane(
            spec.cluster,
            spec.version,
            spec.cost,
            spec.topologies,
            seed=spec.seed,
            recorder=recorder,
            sample_every=spec.sample_every,
            bundle=spec.bundle,
        )
        control = self.wire(plane)
        end_ns = ns(spec.duration_s)
        if progress is not None:
            _report_progress(control, end_ns, progress)
        stopped = ""
        try:
            control.clock.run_until(end_ns)
            control.plane.now()
        except EmulationStoppedError as limit:
            stopped = str(limit)
            control.log.note("emulator", "stop", "run", stopped)
        plane.finish()
        control.finish()
        if recorder is not None:
            write_decisions(recorder, control.log.entries)
        return EmulationOutcome(
            duration_ns=control.clock.now_ns,
            stopped=stopped,
            decisions=tuple(control.log.entries),
            stays=control.placements.stays,
            final=control.nimbus.present,
        )

    def wire(self, plane: Plane) -> ControlPlane:
        """The control plane on a data plane, with services and faults started and topologies submitted."""
        spec = self.spec
        control = ControlPlane(
            spec.cluster,
            spec.version,
            plane,
            spec.scheduler,
            spec.migration,
            times=spec.times,
            timers=timers_of(spec.version) if spec.timers is None else spec.timers,
            zookeeper=spec.zookeeper,
            seed=spec.seed,
        )
        sampler = Sampler(control.clock, control.plane, ns(spec.window_s))
        for service in spec.services:
            service.start(control, sampler)
        spec.faults.start(control)
        for plan in spec.topologies:
            placement = None if spec.placement is None else spec.placement.of_topology(plan.topology.id)
            control.nimbus.submit(plan.topology, placement if placement and placement.slots else None)
        return control


def _report_progress(control: ControlPlane, end_ns: int, progress: Progress) -> None:
    def turn() -> None:
        # Progress that the data plane has not made yet would be a lie.
        control.plane.now()
        progress(control.clock.now_ns, end_ns)

    control.clock.every(max(SECOND, end_ns // _PROGRESS_STEPS), Rank.MONITOR, "progress", turn)


def write_decisions(recorder: Recorder, decisions: Sequence[Decision]) -> None:
    """Write the decision log to the tuple log's control table."""
    if decisions:
        recorder.append(
            "control",
            {
                "time_ns": np.array([entry.time_ns for entry in decisions], np.int64),
                "actor": [entry.actor for entry in decisions],
                "action": [entry.action for entry in decisions],
                "subject": [entry.subject for entry in decisions],
                "reason": [entry.reason for entry in decisions],
                "detail": [entry.detail_json for entry in decisions],
            },
        )
