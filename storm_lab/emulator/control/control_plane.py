"""The control plane of one run: its daemons, connected to each other and to one clock, and its services.

Services are additions to a run besides Storm itself, such as monitors, generators and tuners.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from storm_lab.emulator.attempts import BackOff
from storm_lab.emulator.control.clock import Rank, SteppedPlane, VirtualClock, ns
from storm_lab.emulator.control.connections import Connections
from storm_lab.emulator.control.decision_log import DecisionLog
from storm_lab.emulator.control.fleet import Fleet
from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.nimbus import Nimbus
from storm_lab.emulator.control.supervisor import Phases, Supervisor
from storm_lab.emulator.control.times import ControlTimes, Timers
from storm_lab.emulator.control.zookeeper import ZooKeeper, ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.plane import Plane, WindowSample
from storm_lab.emulator.unreached import Unreached, unreached_of
from storm_lab.model import Cluster, StormVersion
from storm_lab.model.settings import SettingValue
from storm_lab.schedulers.contract import Scheduler


class ControlPlane:
    """Holds Nimbus, ZooKeeper, one supervisor per node, and their workers; it makes no decisions itself.

    The arguments are those of `EmulationSpec`. ``plane`` is the data plane, or another object with its
    interface; ``cost`` gives the CPU of a JVM's start. ``phases`` sets the cycles of some nodes' supervisors,
    which are drawn otherwise, and so is Nimbus's first round without ``first_round_s``.

    Every random number comes from ``random.Random`` seeded with the text ``<seed>/<purpose>``, so the draws
    of one part do not depend on the others.
    """

    def __init__(
        self,
        cluster: Cluster,
        version: StormVersion,
        plane: Plane,
        scheduler: Scheduler[Any],
        migration: MigrationMethod,
        *,
        cost: CostModel,
        times: ControlTimes,
        timers: Timers,
        zookeeper: ZooKeeperPlan,
        seed: int,
        phases: dict[str, Phases] | None = None,
        first_round_s: float | None = None,
        unreached: Unreached | None = None,
        settings: Mapping[str, SettingValue] = MappingProxyType({}),
    ) -> None:
        self.cluster = cluster
        self.version = version
        self.cost = cost
        self.times = times
        self.timers = timers
        self.seed = seed
        self.back_off = BackOff.of(version, settings)
        self.unreached = unreached_of(version) if unreached is None else unreached
        self._end_callbacks: list[Callable[[], None]] = []
        self.clock = VirtualClock()
        self.plane = SteppedPlane(plane, self.clock)
        self.log = DecisionLog(self.clock)
        self.zookeeper = ZooKeeper(self.clock, zookeeper)
        self.connections = Connections(self)
        if first_round_s is None:
            first_round_s = self.random("nimbus").random() * timers.nimbus_round_s
        self.nimbus = Nimbus(self, scheduler, ns(first_round_s))
        self.fleet = Fleet(self)
        self.migration = migration.begin(self)
        self.supervisors = {
            node.id: Supervisor(self, node, (phases or {}).get(node.id) or self._phases(node.id))
            for node in cluster.nodes
        }

    def _phases(self, node: str) -> Phases:
        """Draw the phases of a supervisor's cycles, each uniformly over its period.

        With ``supervisors_apart_s`` only the first one's phases are drawn, and the others follow.
        """
        timers = self.timers
        rng, later_ns = self.random(f"supervisor/{node}"), 0
        if timers.supervisors_apart_s is not None:
            rng = self.random("supervisors")
            later_ns = ns(timers.supervisors_apart_s) * self.cluster.nodes.index(self.cluster.node(node))
        periods_s = (timers.assignment_sync_s, timers.process_sync_s, timers.supervisor_heartbeat_s)
        return Phases(*((int(rng.random() * ns(each_s)) + later_ns) % ns(each_s) for each_s in periods_s))

    def random(self, purpose: str) -> random.Random:
        """Return a new generator that depends on the seed and on ``purpose`` only."""
        return random.Random(f"{self.seed}/{purpose}")

    def on_end(self, action: Callable[[], None]) -> None:
        """Run ``action`` at the end of the run, in the order of registration."""
        self._end_callbacks.append(action)

    def finish(self) -> None:
        """End the run: log what is outstanding and run the registered actions."""
        self.connections.finish()
        for action in self._end_callbacks:
            action()


@runtime_checkable
class Service(Protocol):
    """Settings of a service."""

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Register cycles, listeners and callbacks in one run, before the topologies are submitted."""


class Sampler:
    """Reads the data plane's counters once per window and calls the listeners in order of registration."""

    def __init__(self, clock: VirtualClock, plane: SteppedPlane, window_ns: int) -> None:
        self.window_ns = window_ns
        self._plane = plane
        self._listeners: list[Callable[[WindowSample], None]] = []
        clock.every(window_ns, Rank.MONITOR, "monitor", self._sample)

    def listen(self, listener: Callable[[WindowSample], None]) -> None:
        """Call ``listener`` with every sample from now on."""
        self._listeners.append(listener)

    def _sample(self) -> None:
        sample = self._plane.now().sample(with_traffic=bool(self._listeners))
        for listener in self._listeners:
            listener(sample)
