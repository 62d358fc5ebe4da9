"""Detection of overload.

T-Storm (section IV) says that overload is detected, but not how; this rule is storm_lab's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Cluster, Executor
from storm_lab.monitoring.database import WindowLoad


@dataclass(frozen=True, slots=True)
class OverloadRule:
    """Conditions of overload: a cluster is overloaded if any of them holds for a number of windows in a row.

    Args:
        node_fraction: a node's average load is above this part of its CPU capacity ...
        node_windows: ... in this many windows.
        executor_fraction: an executor's CPU in the window is above this part of one core ...
        executor_windows: ... in this many windows. A thread cannot use more than a core.
        queued: an executor's receive queue has at least this many tuples at the end of a window ...
        queue_windows: ... in this many windows. A bottleneck that waits for a server fills queues, not cores.
        failure_windows: root tuples fail for this many windows; 0 ignores failures. Spouts check for timeouts
            once per timeout, so failures come in bursts. A series of failures ends only after
            ``failure_pause`` windows without one.
        failure_pause: number of windows without failures that ends a series of failures.
        pause_s: seconds after a detection in which no other one is reported, because a new schedule needs
            time to take effect.
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
            if self._consecutive_windows("node", node.id, above) >= rule.node_windows:
                hot.append(f"node {node.id} uses {average / node.capacity_mhz:.0%} of its CPU")
        self._seen |= load.executors.keys()
        for executor in sorted(self._seen):
            entry = load.executors.get(executor)
            above = entry is not None and entry.mhz_sample > (
                rule.executor_fraction * self._cluster.node(entry.slot.node).core_mhz
            )
            full = entry is not None and entry.queued >= rule.queued
            if self._consecutive_windows("core", executor, above) >= rule.executor_windows:
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
