"""The schedule generator: a daemon that makes schedules from measured load (T-Storm section IV-C).

It runs a policy every ``period_s``, and immediately when overload is detected. It judges the result and
writes it to the load database, from which the custom scheduler fetches it. Root tuples that fail because an
assignment has just changed do not count as overload. The first period starts when the initial period is over,
that is when all topologies are active and all their executors report. Policy and parameters can be swapped
while the topologies run. T-Storm (section IV) says that overload is detected, but not how; the rule here is
storm_lab's own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.nimbus import Status
from storm_lab.emulator.control.zookeeper import Record
from storm_lab.model import Assignment, Cluster, Executor, MeasuredLoad
from storm_lab.model.checks import Allowed
from storm_lab.monitoring.database import GeneratedSchedule, LoadDatabase, WindowLoad, parameters_json
from storm_lab.monitoring.monitor import LoadMonitor
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.traffic import inter_node_traffic

if TYPE_CHECKING:
    from storm_lab.monitoring.online_scheduling import OnlineScheduling


@dataclass(frozen=True, slots=True)
class OverloadRule:
    """Conditions of overload: a cluster is overloaded if any of them holds for a number of windows in a row.

    A condition with a number of 0 is ignored.

    Args:
        node_fraction: a node's average load is above this part of its CPU capacity ...
        node_windows: ... in this many windows.
        executor_fraction: an executor's CPU in the window is above this part of one core ...
        executor_windows: ... in this many windows. A thread cannot use more than a core.
        queued: an executor's receive queue has at least this many tuples at the end of a window ...
        queue_windows: ... in this many windows. A bottleneck that waits for a server fills queues, not cores.
        failure_windows: root tuples fail for this many windows. Spouts check for timeouts once per timeout,
            so failures come in bursts. A series ends only after ``failure_pause`` windows without one.
        failure_pause: number of windows without failures that ends a series of failures.
        pause_s: seconds after a detection in which no other one is reported, because a new schedule needs
            time to take effect.

    Raises `UserError` for a number that is negative or not finite, or a part of a window.
    """

    node_fraction: float = 0.9
    node_windows: int = 1
    executor_fraction: float = 0.95
    executor_windows: int = 3
    queued: int = 500
    queue_windows: int = 3
    failure_windows: int = 0
    failure_pause: int = 2
    pause_s: float = 60.0

    def __post_init__(self) -> None:
        for item in fields(self):
            Allowed(type(item.default), low=0).check("an overload rule", item.name, getattr(self, item.name))


class OverloadDetector:
    """Applies an overload rule to one window after another."""

    def __init__(self, rule: OverloadRule, cluster: Cluster) -> None:
        self.rule = rule
        self._cluster = cluster
        self._seen: set[Executor] = set()
        self._consecutive: dict[tuple[str, str | Executor], int] = {}
        self._failing_windows = 0
        self._windows_without_failure = 0

    def check(self, load: WindowLoad) -> str | None:
        """Return what is overloaded, in words, or None."""
        rule = self.rule
        hot, busy, blocked = [], [], []
        for node in self._cluster.nodes:
            _, average = load.nodes.get(node.id, (0.0, 0.0))
            above = average > rule.node_fraction * node.capacity_mhz
            if 0 < rule.node_windows <= self._consecutive_windows("node", node.id, above):
                hot.append(f"node {node.id} uses {average / node.capacity_mhz:.0%} of its CPU")
        self._seen |= load.executors.keys()
        for executor in sorted(self._seen):
            entry = load.executors.get(executor)
            above = entry is not None and entry.mhz_sample > (
                rule.executor_fraction * self._cluster.node(entry.slot.node).core_mhz
            )
            full = entry is not None and entry.queued >= rule.queued
            if 0 < rule.executor_windows <= self._consecutive_windows("core", executor, above):
                busy.append(f"executor {executor} fills a core")
            if 0 < rule.queue_windows <= self._consecutive_windows("queue", executor, full):
                blocked.append(f"executor {executor} has a full queue")
        failed = sum(load.failed.values())
        self._windows_without_failure = 0 if failed else self._windows_without_failure + 1
        continues = failed or (self._failing_windows and self._windows_without_failure < rule.failure_pause)
        self._failing_windows = self._failing_windows + 1 if continues else 0
        causes = [*hot, *busy, *blocked]
        if rule.failure_windows and self._failing_windows >= rule.failure_windows:
            causes.append(f"root tuples have failed for {self._failing_windows} windows")
        return causes[0] if causes else None

    def _consecutive_windows(self, what: str, of: str | Executor, holds: bool) -> int:
        """Return for how many windows in a row a condition has held, this one included."""
        windows = self._consecutive.get((what, of), 0) + 1 if holds else 0
        self._consecutive[what, of] = windows
        return windows


ACTOR = "generator"


class ScheduleGenerator:
    """The schedule generator of one run, with the settings of its plan."""

    def __init__(self, control: ControlPlane, monitor: LoadMonitor, plan: OnlineScheduling) -> None:
        self._control = control
        self._database = monitor.database
        self._plan = plan
        self._detector = None if plan.overload is None else OverloadDetector(plan.overload, control.cluster)
        self._started = False
        self._paused_until_ns = 0
        self._running: dict[str, tuple[int, int]] = {}
        self.policy = plan.policy
        self._log_policy("the run begins")
        control.nimbus.on_running(self._on_running)
        # A command may have delayed the start, or removed the topology that it waited for.
        for record in (Record.STATUS, Record.ASSIGNMENT):
            control.zookeeper.watch(record, lambda _: self._look_later())
        monitor.after_window(self._check_overload)

    def swap(self, policy: Scheduler[Any], reason: str) -> None:
        """Use another policy, or the same policy with other parameters, from the next generation on."""
        self.policy = policy
        self._log_policy(reason)

    def _log_policy(self, reason: str) -> None:
        policy, now = self.policy, self._control.clock.now_ns
        parameters = parameters_json(policy.parameters)
        self._database.write_swap(now, policy.name, policy.version, parameters)
        self._control.log.note(
            ACTOR, "use-policy", policy.name, reason, version=policy.version, parameters=parameters
        )

    def _on_running(self, topology_id: str) -> None:
        assignment = self._control.nimbus.current(topology_id)
        assert assignment is not None
        self._running[topology_id] = (assignment.id, self._control.clock.now_ns)
        self._look_later()

    def _look_later(self) -> None:
        # Ranked last at this instant, because another actor may ask for a rebalance at the same time.
        clock = self._control.clock
        if not self._started:
            clock.at(clock.now_ns, Rank.MONITOR, ACTOR, self._start_when_all_run)

    def _start_when_all_run(self) -> None:
        nimbus = self._control.nimbus
        if self._started or not nimbus.topologies:
            return
        for topology_id in nimbus.topologies:
            assignment = nimbus.current(topology_id)
            if assignment is None or self._running.get(topology_id, (-1, 0))[0] != assignment.id:
                return
        if any(status is not Status.ACTIVE for status in nimbus.status.values()):
            return
        self._started = True
        self._control.log.note(ACTOR, "start-clock", "cluster", "the initial period is over")
        period_ns = ns(self._plan.period_s)
        self._control.clock.every(period_ns, Rank.MONITOR, ACTOR, lambda: self.generate("periodic"))

    def _check_overload(self, load: WindowLoad) -> None:
        if self._detector is None:
            return
        failed = {name: count for name, count in load.failed.items() if not self._recently_moved(name)}
        cause = self._detector.check(replace(load, failed=failed))
        now = self._control.clock.now_ns
        if cause is None or not self._started or now < self._paused_until_ns:
            return
        self._paused_until_ns = now + ns(self._detector.rule.pause_s)
        self._control.log.note(ACTOR, "detect-overload", "cluster", cause)
        self.generate(f"overload: {cause}", overloaded=True)

    def _recently_moved(self, topology_id: str) -> bool:
        """Return whether root tuples lost by a topology's newest assignment may still fail.

        They fail within two message timeouts, because a spout checks for timeouts once per timeout.
        """
        nimbus = self._control.nimbus
        assignment, topology = nimbus.current(topology_id), nimbus.topologies.get(topology_id)
        if assignment is None or topology is None:
            return True
        running, since_ns = self._running.get(topology_id, (-1, 0))
        until_ns = since_ns + 2 * ns(topology.message_timeout_s)
        return running != assignment.id or self._control.clock.now_ns < until_ns

    def generate(self, cause: str, *, overloaded: bool = False) -> None:
        """Run the policy on the newest load, judge its schedule and write it to the database."""
        control = self._control
        if not control.nimbus.topologies:
            control.log.note(ACTOR, "skip-schedule", "cluster", "no topology is left")
            return
        made = generate(
            self._database,
            self.policy,
            SchedulingView(
                topologies=tuple(control.nimbus.topologies.values()),
                cluster=control.nimbus.live_cluster,
                version=control.version,
                present=control.nimbus.present,
                seed=control.seed,
            ),
            now_ns=control.clock.now_ns,
            cause=cause,
            overloaded=overloaded,
            least_gain=self._plan.least_gain,
        )
        if made is None:
            control.log.note(ACTOR, "skip-schedule", "cluster", "nothing has been measured yet")
            return
        number, schedule = made
        control.log.note(
            ACTOR,
            "generate-schedule" if schedule.adopted else "reject-schedule",
            f"schedule {number}",
            schedule.verdict,
            cause=cause,
            nodes=len(schedule.assignment.nodes_used()),
            workers=len(set(schedule.assignment.slots.values())),
        )


def generate(
    database: LoadDatabase,
    policy: Scheduler[Any],
    view: SchedulingView,
    *,
    now_ns: int,
    cause: str,
    overloaded: bool = False,
    least_gain: float = 0.0,
) -> tuple[int, GeneratedSchedule] | None:
    """Run one generation: read the averages, run the policy, judge the schedule and write it.

    A generator in another process needs only this and :meth:`LoadDatabase.open`; the custom scheduler in the
    running emulation fetches what it writes. The load of ``view`` is replaced by the load in the database.
    ``overloaded`` and ``least_gain`` are as in `judge`. Returns the schedule and its number, or None if
    nothing has been measured yet.
    """
    load = database.load()
    if load is None:
        return None
    view = replace(view, load=load)
    result = ask(policy, view, case=f"{cause} generation at {now_ns / 1e9:g} s")
    adopted, verdict = judge(view, result, overloaded=overloaded, least_gain=least_gain)
    schedule = GeneratedSchedule(
        generated_ns=now_ns,
        scheduler=policy.name,
        version=policy.version,
        parameters=parameters_json(policy.parameters),
        cause=cause,
        adopted=adopted,
        verdict=verdict,
        assignment=result.assignment,
    )
    return database.write_schedule(schedule), schedule


def busiest_node_mhz(assignment: Assignment, load: MeasuredLoad) -> float:
    """Return the CPU of the busiest node: the sum of the averages of the executors placed there."""
    nodes: dict[str, float] = {}
    for executor, slot in assignment.slots.items():
        nodes[slot.node] = nodes.get(slot.node, 0.0) + load.cpu_mhz.get(executor, 0.0)
    return max(nodes.values(), default=0.0)


def judge(
    view: SchedulingView, result: SchedulingResult, *, overloaded: bool, least_gain: float = 0.0
) -> tuple[bool, str]:
    """Adopt a complete schedule that differs if it saves traffic or nodes, or relieves an overload.

    Returns whether it is adopted, and why.
    T-Storm does not say when a re-assignment is worthwhile; this rule is storm_lab's own. If the cluster is
    ``overloaded``, a schedule that takes load off the busiest node is adopted too. ``least_gain`` is the
    smallest part of the inter-node traffic, or of the busiest node's load, that counts as a saving. It keeps
    noise in the measured load from moving workers. The view's load must not be None.
    """
    for topology_id, status in result.status.items():
        if not status.scheduled:
            return (False, f"no complete schedule: {status.message}")
        if len(result.assignment.of_topology(topology_id).slots) < len(view.executors[topology_id]):
            return (False, f"no complete schedule: some executors of {topology_id} have no slot")
    if dict(result.assignment.slots) == dict(view.present.slots):
        return (False, "the schedule is the present one")
    load, remaining_share = view.load or MeasuredLoad(), 1 - least_gain
    before = inter_node_traffic(view.present.slots, load.traffic)
    after = inter_node_traffic(result.assignment.slots, load.traffic)
    nodes_before, nodes_after = len(view.present.nodes_used()), len(result.assignment.nodes_used())
    change = f"{before:.1f} to {after:.1f} tuples/s between nodes, {nodes_before} to {nodes_after} nodes"
    if after < before * remaining_share:
        return (True, f"less inter-node traffic: {change}")
    if nodes_after < nodes_before:
        return (True, f"fewer nodes: {change}")
    if overloaded:
        before_mhz = busiest_node_mhz(view.present, load)
        after_mhz = busiest_node_mhz(result.assignment, load)
        if after_mhz < before_mhz * remaining_share:
            return (True, f"overload: busiest node {before_mhz:.0f} to {after_mhz:.0f} MHz, {change}")
    return (False, f"no gain: {change}")
