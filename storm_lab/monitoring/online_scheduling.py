"""T-Storm's initial assignment (section IV-C) and online scheduling (Fig. 4), as services of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.emulator.control.nimbus import Status
from storm_lab.model import InvalidAssignmentError
from storm_lab.model.checks import check_kind, check_kinds, check_number
from storm_lab.model.topology import MIN_TIME_S
from storm_lab.monitoring.database import LoadDatabase
from storm_lab.monitoring.generator import ACTOR, OverloadRule, ScheduleGenerator
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.schedulers.contract import Scheduler


@dataclass(frozen=True, slots=True)
class InitialConsolidation:
    """Rebalance each topology to ``min(N_u, N_w)`` workers when it first runs under Nimbus's own scheduler.

    N_u is the number that its user asked for, N_w the number of nodes that have a slot for it.
    """

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Wait for the topologies."""
        done: set[str] = set()
        nimbus = control.nimbus

        def consolidate(topology_id: str) -> None:
            if topology_id in done:
                return
            done.add(topology_id)
            stored = nimbus.current(topology_id)
            assert stored is not None
            mine = set(stored.slots.values())
            others = set(nimbus.present.slots.values()) - mine
            nodes = [node for node in nimbus.live_cluster.nodes if any(s not in others for s in node.slots)]
            asked = nimbus.topologies[topology_id].workers
            workers = min(asked, len(nodes))
            if len(mine) <= workers and len({slot.node for slot in mine}) == len(mine):
                control.log.note("consolidator", "leave", topology_id, "no node has two workers of it")
                return
            reason = f"initial assignment: min({asked} workers asked for, {len(nodes)} nodes)"
            nimbus.rebalance(topology_id, workers=workers, reason=reason)

        nimbus.on_running(consolidate)


_PLUG_IN = "scheduler"


@dataclass(frozen=True, slots=True)
class Swap:
    """A change of policy: from ``at_s`` on, the generator uses another policy or other parameters."""

    at_s: float
    policy: Scheduler[Any]


@dataclass(frozen=True, slots=True)
class OnlineScheduling:
    """The loop from measured load to installed schedule, with its settings.

    Args:
        policy: the scheduling policy that the generator runs.
        monitor: the load monitors and their database.
        period_s: the generator's period, counted from the end of the initial period.
        fetch_s: the custom scheduler's period.
        overload: rule of overload detection; None switches it off.
        least_gain: smallest part of the inter-node traffic (under overload also of the busiest node's load)
            that a schedule must save to be adopted because of it.
        swaps: changes of policy during the run.
    """

    policy: Scheduler[Any]
    monitor: MonitorPlan = field(default_factory=MonitorPlan)
    period_s: float = 300.0
    fetch_s: float = 10.0
    overload: OverloadRule | None = field(default_factory=OverloadRule)
    least_gain: float = 0.05
    swaps: tuple[Swap, ...] = ()

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Start monitors, generator and custom scheduler; `UserError` for an invalid setting."""
        owner = "online scheduling"
        check_kinds(owner, self)
        for name in ("period_s", "fetch_s"):
            check_number(owner, name, getattr(self, name), low=MIN_TIME_S, unit="s")
        check_number(owner, "least_gain", self.least_gain, high=1.0)
        monitor = self.monitor.begin(control, sampler)
        generator = ScheduleGenerator(control, monitor, self)
        _start_custom_scheduler(control, monitor.database, self.fetch_s)
        for index, swap in enumerate(self.swaps):
            check_number("a swap", f"swaps[{index}].at_s", swap.at_s, unit="s")
            check_kind("a swap", f"swaps[{index}].policy", swap.policy, Scheduler)
            control.clock.at(
                ns(swap.at_s), Rank.MONITOR, ACTOR, partial(generator.swap, swap.policy, "planned swap")
            )


def _start_custom_scheduler(control: ControlPlane, database: LoadDatabase, fetch_s: float) -> None:
    """Start Nimbus's plug-in that installs the newest generated schedule (T-Storm IV-C).

    It polls the load database every ``fetch_s``; the phase of this cycle is drawn from the run's seed.
    """
    installed = 0

    def fetch() -> None:
        """Install the newest adopted schedule if it is new and Nimbus can accept it now."""
        nonlocal installed
        newest = database.newest_adopted()
        if newest is None or newest[0] <= installed:
            return
        number, assignment, cause = newest
        busy = any(
            control.nimbus.status.get(executor.topology) is Status.REBALANCING
            for executor in assignment.slots
        )
        if busy or not control.nimbus.up or not control.zookeeper.up:
            return
        installed = number
        live = {node.id for node in control.nimbus.live_cluster.nodes}
        gone = [node for node in assignment.nodes_used() if node not in live]
        if gone:
            reason = f"node {gone[0]} is no longer there"
            control.log.note(_PLUG_IN, "refuse-schedule", f"schedule {number}", reason)
            return
        try:
            control.log.note(_PLUG_IN, "fetch-schedule", f"schedule {number}", cause)
            control.nimbus.install(assignment, f"schedule {number}: {cause}")
        except InvalidAssignmentError as error:
            control.log.note(_PLUG_IN, "refuse-schedule", f"schedule {number}", str(error))

    phase = int(control.random("custom-scheduler").random() * ns(fetch_s))
    control.clock.every(ns(fetch_s), Rank.MONITOR, _PLUG_IN, fetch, first_ns=phase)
