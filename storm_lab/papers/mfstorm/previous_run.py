"""The previous run: where MF-Storm's traffic log comes from.

MF-Storm weights the edges of a topology's graph with the traffic of an earlier run. That run is played under
Storm's default scheduler and watched by load monitors. The load that they know at its end is passed to the
scheduler of the measured run. Nothing else is carried over.
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
class LoadRecorder:
    """Monitors that keep their final averages in ``load``; None as long as nothing has been measured."""

    monitor: MonitorPlan = field(default_factory=MonitorPlan)
    load: MeasuredLoad | None = None

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Start the monitors."""

        def record_load() -> None:
            self.load = control.nimbus.load()

        # Registered before the monitor's own action at the end, which closes its database.
        control.on_end(record_load)
        self.monitor.begin(control, sampler)


@dataclass(frozen=True, slots=True)
class TrafficLog:
    """Gives an earlier run's load to Nimbus's scheduler, unchanged for the complete run."""

    load: MeasuredLoad

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Make Nimbus use this load."""
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
    """Play the previous run and return the load that its monitors measured.

    Raises:
        UserError: the run was shorter than a window, or stopped.
    """
    recorder = LoadRecorder()
    spec = EmulationSpec(
        cluster=cluster,
        version=version,
        topologies=(plan,),
        scheduler=DefaultScheduler(),
        duration_s=duration_s,
        seed=seed,
        services=(recorder,),
        window_s=window_s,
    )
    outcome = Emulation(spec).run()
    if outcome.stopped or recorder.load is None or not recorder.load.traffic:
        message = "the previous run measured no traffic"
        raise UserError(message, field="previous_s", value=duration_s, remedy="increase previous_s")
    return TrafficLog(recorder.load)
