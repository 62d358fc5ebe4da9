"""Durations and periods of the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType

from storm_lab.errors import UserError, check_known
from storm_lab.model import StormVersion
from storm_lab.model.checks import check_number
from storm_lab.model.constant import constant
from storm_lab.model.settings import TIMERS, TIMERS_OF_SLOTS, SettingValue, number_of
from storm_lab.model.topology import MAX_TIME_S, MIN_TIME_S
from storm_lab.model.version import V0_9_0, V0_9_3, V0_9_4, V0_10_0, V1_0_0, V1_0_3, V2_0_0


@dataclass(frozen=True, slots=True)
class ControlTimes:
    """Physical durations of the control plane, in seconds, each with its range and source."""

    jvm_start_s: float = constant(
        0.0,
        allowed=(0.0, 10.0),
        source="shortest time from the start of a worker JVM until it listens; applies if its CPU "
        "(jvm_start_cpu_s of the cost model) takes less; not in any paper",
    )
    code_download_s: float = constant(
        1.0,
        allowed=(0.0, 3.0),
        source="topology jar over the LAN, once per node and topology; physical range, not in any paper",
    )
    assignment_read_s: float = constant(
        0.015,
        allowed=(0.0, 0.05),
        source="time from a watch until a supervisor has read all assignments, one after the other; live "
        "Storm 0.9.2 launches both topologies' workers together, 30 to 50 ms after a scheduling round",
    )
    executor_start_s: float = constant(
        0.15,
        allowed=(0.02, 0.5),
        source="start of one executor thread in a running JVM: queues and prepare()",
    )
    sync_work_s: float = constant(
        0.05,
        allowed=(0.01, 0.1),
        source="N-Storm: CPU of a supervisor's sync, reading ZooKeeper and writing to its node's store; it "
        "does nothing else meanwhile; physical range, the paper only says that 300 ms cycles are too short",
    )
    poll_work_s: float = constant(
        0.01,
        allowed=(0.002, 0.03),
        source="N-Storm: CPU of a worker's poll of its node's store, during which it holds its map of "
        "executors; physical range, the paper only says that cycles of 100 ms are too short",
    )
    refresh_hold_s: float = constant(
        0.0001,
        allowed=(0.00001, 0.03),
        source="how long a worker's refresh of its connections, by any method, holds the lock under which "
        "its transfer thread sends; Storm 0.9's code copies one map under it, N-Storm's procedure may hold "
        "it for a whole poll",
    )
    round_work_s: float = constant(
        0.03,
        allowed=(0.0, 1.0),
        source="work of a Nimbus round within its timer, mk-assignments and do-cleanup; median of 21 rounds "
        "of real 0.9.7 with two supervisors and no topology, on two busy cores (15 to 305 ms)",
    )

    worker_exit_least_s: float = constant(
        2.5,
        allowed=(0.0, 10.0),
        source="2.x: shortest time from the terminate signal until a worker's process has ended; on real "
        "2.8.3 it was still running after 3 s in three of four cases, as its own shutdown hook also halts it "
        "after 3 s",
    )
    worker_exit_most_s: float = constant(4.5, (0.0, 10.0), "2.x: longest such time; uniform between the two")


class ExecutorsBegin(StrEnum):
    """When the executors of a new worker begin, by version."""

    AT_START = "at-start"
    """Up to 0.8: at once."""
    SPOUTS_CONNECTED = "spouts-connected"
    """0.9.0 to 0.9.3: bolts at once, spouts when their worker and its peers have connected. Storm's spouts do
    not wait, but the thread that sends for them waits for each connection in turn (``Client.connect``), so
    what they emit does not leave their worker before."""
    CONNECTED_AT_REFRESH = "connected-at-refresh"
    """0.9.4 to 1.x: when the worker has connected to all of its peers, which it notices only as it reads its
    topology's status, a second after its start and then every ``refresh_s``. (``worker.clj``: one timer,
    which sleeps for a second meanwhile, checks the connections and reads the status; on real 1.2.4 five
    workers began 1.0 to 1.5 s after that start, and one, whose peer came 3 s later, after 11.1 s.)"""
    CONNECTED = "connected"
    """2.x: when the worker has connected to all of its peers; it looks at once and then every second."""

    @property
    def waits(self) -> bool:
        """Whether bolts wait, too. What they receive meanwhile waits in their queues."""
        return self in (ExecutorsBegin.CONNECTED_AT_REFRESH, ExecutorsBegin.CONNECTED)


@dataclass(frozen=True, slots=True)
class Timers:
    """Storm's periods and timeouts, in seconds; :func:`timers_of` returns those of a version.

    Args:
        supervisor_watch: a change of the assignment is reported to supervisors, which act at once, as in
            Storm's code. The papers describe supervisors that poll, and by default they do so here.
        watches_changes: that report comes for every change. From 0.9.3 to 0.9.7 it comes only for topologies
            that come or go: supervisors register for versions of assignments, but the function that
            dispatches ZooKeeper's events (``cluster$mk_storm_cluster_state$fn``) does not know of these. On
            real 0.9.7 workers started 0.4, 1.4, 9.0 and 9.0 s after Nimbus had written a rebalance.
        heartbeat_by_sender: a heartbeat's age counts from its sending, not from when Nimbus saw it change.
        supervisor_timeout_s: timeout of a supervisor's ZooKeeper session, with which its entry disappears. No
            version reads ``nimbus.supervisor.timeout.secs`` (0.9.2, 0.9.7, 1.2.4, 2.8.3; on real 0.9.2 the
            round 32 s after a node's loss leaves the node out).
        rebalance_wait_s: None means the topology's message timeout.
        timer_sleep_s: longest sleep of the timers of Nimbus and workers, which notice a command or a watch
            only when they wake. None: until their next round or refresh (``timer.clj`` up to 0.9).
        slot_running_s, slot_idle_s: from 1.0.3, polling intervals of a slot while its worker runs and
            otherwise; ``slot_running_s`` 0 means one loop for all slots, every ``process_sync_s``.
        worker_halt_s: 1.0.3 to 1.x, time from the terminate signal until a worker's shutdown hook halts it
            (``Utils.addShutdownHookWithForceKillIn1Sec``); None: drawn from ``ControlTimes.worker_exit_*``.
        sleeps_after_crash: 1.0.3 to 1.x, a slot also sleeps ``worker_shutdown_s`` before it replaces a
            process that died by itself (``Slot.killAndRelaunchContainer``).
        worker_shutdown_s: wait of a supervisor between the terminate signal for a worker and its kill. Up to
            0.9.2 a worker is killed at once (classes of ``shutdown-worker``).
        executors_begin: when the executors of a new worker open their spouts and prepare their bolts.
        pushes_assignments: 2.x, Nimbus calls supervisors at once, and their sync is only the fallback.
        heartbeats_by_thrift: 2.x, workers' liveness goes directly to Nimbus, and statistics to ZooKeeper
            every ``statistics_s`` (0 = none).
        timers_drift: a timer is set again when its work is done; False: once a period.
        supervisors_apart_s: supervisors were started one after the other at this distance, in the order of
            the nodes; None: the phases of each supervisor are drawn independently.

    Raises:
        UserError: a period or timeout outside the possible range; names it.
    """

    nimbus_round_s: float = 10.0
    task_timeout_s: float = 30.0
    task_launch_s: float = 120.0
    supervisor_heartbeat_s: float = 5.0
    supervisor_timeout_s: float = 20.0
    assignment_sync_s: float = 10.0
    process_sync_s: float = 3.0
    worker_start_timeout_s: float = 120.0
    worker_timeout_s: float = 30.0
    worker_shutdown_s: float = 0.0
    worker_heartbeat_s: float = 1.0
    task_heartbeat_s: float = 3.0
    refresh_s: float = 10.0
    rebalance_wait_s: float | None = None
    timer_sleep_s: float | None = None
    supervisor_watch: bool = False
    watches_changes: bool = True
    schedules_at_submit: bool = True
    executors_begin: ExecutorsBegin = ExecutorsBegin.CONNECTED
    heartbeat_by_sender: bool = False
    slot_running_s: float = 0.0
    slot_idle_s: float = 1.0
    worker_halt_s: float | None = None
    sleeps_after_crash: bool = False
    statistics_s: float = 0.0
    pushes_assignments: bool = False
    heartbeats_by_thrift: bool = False
    timers_drift: bool = True
    supervisors_apart_s: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            field, value = f"timers.{item.name}", getattr(self, item.name)
            if isinstance(item.default, ExecutorsBegin):
                check_known("start of executors", value, list(ExecutorsBegin), "Storm", field=field)
            elif isinstance(item.default, bool):
                if not isinstance(value, bool):
                    raise UserError("a timer's switch must be true or false", field=field, value=value)
            elif value is not None or item.default is not None:
                least = 0.0 if item.name in _MAY_BE_ZERO else MIN_TIME_S
                check_number("a timer", field, value, low=least, high=MAX_TIME_S, unit="s")


_MAY_BE_ZERO = {
    "worker_shutdown_s", "rebalance_wait_s", "task_launch_s", "slot_running_s", "statistics_s",
    "supervisors_apart_s",
}  # fmt: skip


def timers_of(version: StormVersion, settings: Mapping[str, SettingValue] = MappingProxyType({})) -> Timers:
    """Return the timers of a Storm version: its defaults, except where ``settings`` gives other values."""
    given = {
        TIMERS_OF_SLOTS.get(key, timer) if version >= V1_0_3 else timer: number_of(settings, key, 0.0)
        for key, (timer, _) in TIMERS.items()
        if key in settings
    }
    return replace(_defaults(version), **given)  # type: ignore[arg-type]


def _defaults(version: StormVersion) -> Timers:
    if version >= V2_0_0:
        return Timers(
            slot_running_s=3.0,
            worker_shutdown_s=3.0,
            timer_sleep_s=1.0,
            pushes_assignments=True,
            heartbeats_by_thrift=True,
            task_heartbeat_s=1.0,
            statistics_s=60.0,
            schedules_at_submit=False,
        )
    if version >= V1_0_3:
        return Timers(
            slot_running_s=3.0,
            worker_shutdown_s=3.0,
            worker_halt_s=1.0,
            sleeps_after_crash=True,
            executors_begin=ExecutorsBegin.CONNECTED_AT_REFRESH,
            timer_sleep_s=1.0,
            schedules_at_submit=False,
        )
    if version >= V1_0_0:
        return Timers(
            worker_shutdown_s=1.0,
            timer_sleep_s=1.0,
            schedules_at_submit=False,
            executors_begin=ExecutorsBegin.CONNECTED_AT_REFRESH,
        )
    if version >= V0_9_4:
        return Timers(
            worker_shutdown_s=1.0,
            timer_sleep_s=1.0 if version >= V0_10_0 else None,
            watches_changes=version >= V0_10_0,
            executors_begin=ExecutorsBegin.CONNECTED_AT_REFRESH,
        )
    if version >= V0_9_0:
        return Timers(
            worker_shutdown_s=1.0 if version >= V0_9_3 else 0.0,
            watches_changes=version < V0_9_3,
            executors_begin=ExecutorsBegin.SPOUTS_CONNECTED,
        )
    return Timers(executors_begin=ExecutorsBegin.AT_START)
