"""When a cluster counts as overloaded.

T-Storm (section IV) says that it detects it, not how; this is our rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Cluster, Executor
from storm_lab.monitoring.database import WindowLoad


@dataclass(frozen=True, slots=True)
class OverloadRule:
    """Overload is any of these, each for so many windows in a row.

    Args:
        node_fraction: a node's average load above this part of its CPU capacity ...
        node_windows: ... in so many windows.
        executor_fraction: an executor's CPU in the window above this part of one core ...
        executor_windows: ... in so many windows; a thread cannot use more than a core.
        queued: an executor's receive queue as long as this at the end of a window, in tuples ...
        queue_windows: ... in so many windows: a bottleneck that waits for a server fills queues, not cores.
        failure_windows: root tuples that fail for so many windows; 0 ignores failures. Spouts look
            for timeouts once a timeout, so failures come in bursts: they go on until ``failure_pause``
            windows have none.
        failure_pause: see there.
        rest_s: seconds in which a detection is not repeated: a new schedule needs time to come into effect.
    """

    node_fraction: float = 0.9
    node_windows: int = 1
    executor_fraction: float = 0.95
    executor_windows: int = 3
    queued: int = 500
    queue_windows: int = 3
    failure_windows: int = 0
    failure_pause: int = 2
    rest_s: float = 60.0


class OverloadDetector:
    """Applies a rule to one window after the other."""

    def __init__(self, rule: OverloadRule, cluster: Cluster) -> None:
        self.rule = rule
        self._cluster = cluster
        self._seen: set[Executor] = set()
        self._in_a_row: dict[tuple[str, str | Executor], int] = {}
        self._failing = 0
        self._without = 0

    def look(self, load: WindowLoad) -> str | None:
        """What is overloaded, in words, or None."""
        rule = self.rule
        hot, busy, blocked = [], [], []
        for node in self._cluster.nodes:
            _, average = load.nodes.get(node.id, (0.0, 0.0))
            over = average > rule.node_fraction * node.capacity_mhz
            if self._windows("node", node.id, over) >= rule.node_windows:
                hot.append(f"node {node.id} uses {average / node.capacity_mhz:.0%} of its CPU")
        self._seen |= load.executors.keys()
        for executor in sorted(self._seen):
            entry = load.executors.get(executor)
            over = entry is not None and entry.mhz_sample > (
                rule.executor_fraction * self._cluster.node(entry.slot.node).core_mhz
            )
            full = entry is not None and entry.queued >= rule.queued
            if self._windows("core", executor, over) >= rule.executor_windows:
                busy.append(f"executor {executor} fills a core")
            if 0 < rule.queue_windows <= self._windows("queue", executor, full):
                blocked.append(f"executor {executor} has a full queue")
        failed = sum(load.failed.values())
        self._without = 0 if failed else self._without + 1
        goes_on = failed or (self._failing and self._without < rule.failure_pause)
        self._failing = self._failing + 1 if goes_on else 0
        causes = [*hot, *busy, *blocked]
        if rule.failure_windows and self._failing >= rule.failure_windows:
            causes.append(f"root tuples have failed for {self._failing} windows")
        return causes[0] if causes else None

    def _windows(self, what: str, of: str | Executor, holds: bool) -> int:
        """For how many windows in a row something has held, this one included."""
        windows = self._in_a_row.get((what, of), 0) + 1 if holds else 0
        self._in_a_row[what, of] = windows
        return windows
