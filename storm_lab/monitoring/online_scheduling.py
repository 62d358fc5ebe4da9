"""Online scheduling as one service (T-Storm, Fig. 4).

Monitors, load database, schedule generator and custom scheduler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.service import Sampler
from storm_lab.errors import UserError
from storm_lab.monitoring.custom_scheduler import CustomScheduler
from storm_lab.monitoring.generator import ACTOR, ScheduleGenerator
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.monitoring.overload import OverloadRule
from storm_lab.schedulers.contract import Scheduler


@dataclass(frozen=True, slots=True)
class Swap:
    """From ``at_s`` on the generator uses another policy, or the same one with other parameters."""

    at_s: float
    policy: Scheduler[Any]


@dataclass(frozen=True, slots=True)
class OnlineScheduling:
    """Settings of the loop from measured load to installed schedule.

    Args:
        policy: what the generator runs.
        monitor: the load monitors and their database.
        period_s: the generator's period, counted from the end of the initial period.
        fetch_s: the custom scheduler's period.
        overload: rule of overload detection; None switches it off.
        least_gain: part of the inter-node traffic (under overload: of the busiest node's load) that a
            schedule must save to be adopted for that.
        swaps: changes of policy in operation.
    """

    policy: Scheduler[Any]
    monitor: MonitorPlan = field(default_factory=MonitorPlan)
    period_s: float = 300.0
    fetch_s: float = 10.0
    overload: OverloadRule | None = field(default_factory=OverloadRule)
    least_gain: float = 0.05
    swaps: tuple[Swap, ...] = ()

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Begin to watch, generate and fetch.

        Raises:
            UserError: a period that is not positive, or a swap before the run.
        """
        self.begin(control, sampler)

    def begin(self, control: ControlPlane, sampler: Sampler) -> ScheduleGenerator:
        """As :meth:`start`; the generator, so that its policy can be swapped by hand."""
        for name in ("period_s", "fetch_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise UserError("a period must be positive", field=name, value=value, remedy="give seconds")
        monitor = self.monitor.begin(control, sampler)
        generator = ScheduleGenerator(
            control,
            monitor,
            self.policy,
            period_s=self.period_s,
            overload=self.overload,
            least_gain=self.least_gain,
        )
        CustomScheduler(control, monitor.database, self.fetch_s)
        for index, swap in enumerate(self.swaps):
            if not (math.isfinite(swap.at_s) and swap.at_s >= 0):
                raise UserError(
                    "a swap cannot happen before the run",
                    field=f"swaps[{index}].at_s",
                    value=swap.at_s,
                    remedy="give seconds, 0 or more",
                )
            control.clock.at(
                ns(swap.at_s), Rank.MONITOR, ACTOR, partial(generator.swap, swap.policy, "planned swap")
            )
        return generator
