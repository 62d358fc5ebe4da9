"""The run before: where MF-Storm's traffic log comes from.

MF-Storm weighs the edges of a topology's graph with the traffic of an earlier run. That run is played under
Storm's default scheduler, watched by load monitors, and what they know at its end is handed to the scheduler
of the run that is measured. Nothing else is carried over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.service import Sampler
from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.model import Cluster, MeasuredLoad, StormVersion
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.schedulers.storm.default import DefaultScheduler


@dataclass(slots=True)
class Watch:
    """Monitors whose averages outlive the run, in ``load``; None while nothing has been measured."""

    monitor: MonitorPlan = field(default_factory=MonitorPlan)
    load: MeasuredLoad | None = None

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Begin to watch."""

        def keep() -> None:
            self.load = control.nimbus.load()

        # Before the monitor's own action at the end, which closes its database.
        control.at_end(keep)
        self.monitor.begin(control, sampler)


@dataclass(frozen=True, slots=True)
class TrafficLog:
    """Hands an earlier run's load to Nimbus's scheduler, unchanged for the whole run."""

    load: MeasuredLoad

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Lay the log beside Nimbus."""
        control.nimbus.load = lambda: self.load


def traffic_log(
    cluster: Cluster,
    plan: TopologyPlan,
    version: StormVersion,
    *,
    duration_s: float,
    window_s: float,
    seed: int,
) -> TrafficLog:
    """What monitors know after the earlier run; `UserError` if it was shorter than a window, or stopped."""
    watch = Watch()
    spec = EmulationSpec(
        cluster=cluster,
        version=version,
        topologies=(plan,),
        scheduler=DefaultScheduler(),
        duration_s=duration_s,
        seed=seed,
        services=(watch,),
        window_s=window_s,
    )
    outcome = Emulation(spec).run()
    if outcome.stopped or watch.load is None or not watch.load.traffic:
        message = "the previous run measured no traffic"
        raise UserError(message, field="previous_s", value=duration_s, remedy="make it longer")
    return TrafficLog(watch.load)
