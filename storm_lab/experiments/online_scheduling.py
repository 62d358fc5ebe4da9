"""Settings of scheduling on measured load: T-Storm's monitors and generator, around any scheduler."""

from __future__ import annotations

from typing import Any

from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.monitoring.generator import OverloadRule
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.monitoring.online_scheduling import OnlineScheduling
from storm_lab.schedulers.contract import Scheduler

STEADY_S = 500.0
"""Start of the steady state; earlier values are left out (section V compares from here on)."""

LEAST_GAIN = 0.02
"""Share of the inter-node traffic that a schedule must save to be adopted for that reason alone.

Not printed. Figures 5, 6 and 8 show one re-assignment in 1000 s, so noise in the averages must not trigger
one.
"""

OVERLOAD_FRACTION = 0.9
"""Share of the CPU that Algorithm 1 may fill above which a node counts as overloaded; not printed."""

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation of every setting per seed; the paper prints one run each"),
    Parameter(
        "duration_s",
        600.0,
        "virtual length of a run; the paper's runs take 1000 s, whose last minutes are like those before",
        within=(60, 7200, "s"),
    ),
    Parameter(
        "alpha",
        0.5,
        "weight of the past in the monitors' moving average (section V, table of settings)",
        within=(0.0, 0.99),
    ),
    Parameter("monitor_s", 20.0, "period of the load monitors (section V)", within=(1, 300, "s")),
    Parameter("generation_s", 300.0, "period of the schedule generator (section V)", within=(20, 3600, "s")),
    Parameter("fetch_s", 10.0, "period at which schedules are fetched (section V)", within=(1, 300, "s")),
    Parameter(
        "capacity_fraction",
        0.9,
        "share of a node's CPU that Algorithm 1 may fill; the paper allows 'a fraction', without a number",
        within=(0.7, 1.0),
    ),
    Parameter(
        "overload_windows",
        3,
        "monitor windows in a row with a node above 90 % of what Algorithm 1 may fill, an executor that "
        "fills a core, or failed tuples, before T-Storm calls it an overload; the rule is not printed; "
        "fitted on figure 9's 120 s",
        within=(2, 15),
        chosen_on=("tstorm-fig9-detect",),
    ),
)
"""Seeds, length, monitors and schedule generator; the ranges cover what the paper leaves open."""


def generator(policy: Scheduler[Any], parameters: Parameters) -> OnlineScheduling:
    """Monitors, schedule generator and custom scheduler around a scheduler that reads measured load."""
    return OnlineScheduling(
        policy,
        monitor=MonitorPlan(alpha=parameters.number("alpha")),
        period_s=parameters.number("generation_s"),
        fetch_s=parameters.number("fetch_s"),
        least_gain=LEAST_GAIN,
        overload=overload_rule(parameters),
    )


def overload_rule(parameters: Parameters) -> OverloadRule:
    """T-Storm's rule for an overload, which is not printed: a sign that lasts ``overload_windows``.

    The signs are those that its monitors can read (section IV-B): a node's average load close to what
    Algorithm 1 may put there, or an executor that fills a core; and root tuples that fail, as in section III.
    Queue lengths are not used.
    """
    windows = parameters.integer("overload_windows")
    return OverloadRule(
        node_fraction=OVERLOAD_FRACTION * parameters.number("capacity_fraction"),
        node_windows=windows,
        executor_windows=windows,
        queue_windows=0,
        failure_windows=windows,
    )
