"""Reads the counters of running workers window by window, for the load monitors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from storm_lab.emulator.source import TopologyPlan
from storm_lab.live.player_files import HOUSEKEEPING, Window, WorkerFile, thread_uses
from storm_lab.model import ACKER, Executor, Slot, StormVersion, executors_of


class WorkerTail:
    """Follows the files that a topology's workers write to its folder."""

    def __init__(self, plan: TopologyPlan, version: StormVersion, folder: Path) -> None:
        self.topology = plan.topology.id
        self._folder = folder
        executors = executors_of(plan.topology, version)
        self._by_task = {task: executor for executor in executors for task in executor.tasks}
        self._ackers = [task for task, executor in self._by_task.items() if executor.component == ACKER]
        self._tracked = {name for name, source in plan.sources.items() if source.anchored}
        self._files: dict[Path, WorkerFile] = {}

    def read_new(self) -> list[tuple[WorkerFile, Window]]:
        """Return the windows that have been written since the last call."""
        fresh: list[tuple[WorkerFile, Window]] = []
        for path in sorted(self._folder.glob("worker-*.jsonl")):
            file = self._files.setdefault(path, WorkerFile(path))
            known = len(file.windows)
            file.read()
            fresh += [(file, window) for window in file.windows[known:]]
        return fresh

    def ready(self, executors: Mapping[Executor, Slot], slot_of: Mapping[int, Slot]) -> bool:
        """Return whether all executors that record when they are ready have done so in the given slots."""
        up = {
            (task.task, slot_of.get(file.pid))
            for file in self._files.values()
            for task in file.tasks
            if task.closed_ns is None
        }
        return all(
            (task, slot) in up
            for executor, slot in executors.items()
            if executor.component != ACKER
            for task in executor.tasks
        )

    def cpu(self, file: WorkerFile, window: Window) -> dict[Executor, int]:
        """Return the CPU of each executor's threads in a window."""
        threads = ((key, name) for key, name, _ in window.threads)
        uses = thread_uses(threads, file.tasks, self._by_task)
        used: Counter[Executor] = Counter()
        for key, _, ns in window.threads:
            executor = self._by_task.get(uses[key].first_task)
            if executor is not None and uses[key].kind != HOUSEKEEPING:
                used[executor] += ns
        return used

    def traffic(self, window: Window) -> dict[tuple[str, int, int], int]:
        """Return the tuples from task to task in a window.

        Messages to and from ackers are not recorded. Storm sends one for each root tuple and each ack of a
        tuple that descends from one, to an acker that a random number selects, so each acker is given an
        equal share of them. Without root tuples that are tracked there are none.
        """
        sent: dict[tuple[str, int, int], int] = {}
        for source, target, tuples, _ in window.sent:
            sent[self.topology, source, target] = tuples
        if not self._ackers or not self._tracked:
            return sent
        for task, emitted, _, _, acked, failed, _ in window.tasks:
            spout = self._by_task[task].component in self._tracked
            to_acker = emitted if spout else acked + failed
            for number, acker in enumerate(self._ackers):
                sent[self.topology, task, acker] = _part(to_acker, number, len(self._ackers))
                if spout:
                    done = _part(acked + failed, number, len(self._ackers))
                    sent[self.topology, acker, task] = done
        return {pair: tuples for pair, tuples in sent.items() if tuples > 0}

    def failed(self, window: Window) -> int:
        """Return the number of root tuples that failed in a window."""
        return sum(row[5] for row in window.tasks if self._by_task[row[0]].component in self._tracked)


def _part(whole: int, number: int, parts: int) -> int:
    """Return part ``number`` of ``parts``, as equal as integers can be."""
    return (whole * (number + 1)) // parts - (whole * number) // parts
