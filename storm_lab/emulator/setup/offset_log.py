"""Offsets of Kafka-like sources: which lines are acked, which offset is stored, which lines come again.

A log deals its lines to partitions, one for each executor that reads it: partition i of n holds the lines
i, i + n, i + 2 n, ... At every multiple of ``checkpoint_ns`` its reader stores the *committed offset*, the
first line that is not yet acked; all lines before it are final. When a reader dies, its memory of acks is
lost, and its successor begins at the stored offset. So nothing is lost, and lines may be executed twice
(Storm@Twitter section 3.3.1; Storm's Kafka spout, 0.9 to 2.x).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.names import Names
from storm_lab.errors import UserError


class OffsetLog:
    """State of one log's readers: the stored offsets, and the lines acked beyond them."""

    def __init__(self, topology: str, component: int, sources: range, period_ns: int) -> None:
        self.topology = topology
        self.component = component
        self.sources = sources
        """Index of each partition's source."""
        self.period_ns = self.due_ns = period_ns
        self.stored = list(range(len(sources)))
        """For each partition, the line at which the next reader begins."""
        self._acked: dict[int, int] = {}

    @property
    def committed(self) -> int:
        """Number of lines that are final, counted from the partitions' starts."""
        return sum(line // len(self.stored) for line in self.stored)

    def ack(self, lines: Iterable[int], attempts: Iterable[int]) -> None:
        """Note that lines have been acked, each at its attempt."""
        self._acked.update(zip(lines, attempts, strict=True))

    def checkpoint(self) -> None:
        """Store the offsets of the first lines not yet acked."""
        acked, stride = self._acked, len(self.stored)
        for partition, line in enumerate(self.stored):
            while line in acked:
                del acked[line]
                line += stride
            self.stored[partition] = line

    def forget(self, partition: int) -> Mapping[int, int]:
        """Forget the acked lines after the stored offset of a reader that has died; return their attempts."""
        lost = [line for line in self._acked if line % len(self.stored) == partition]
        return {line: self._acked.pop(line) for line in lost}


class OffsetLogs:
    """All logs of a run, updated from the rows of finished roots."""

    def __init__(self, plans: Sequence[TopologyPlan], names: Names) -> None:
        sources = {plan.topology.id: plan.sources for plan in plans}
        self._logs: list[OffsetLog] = []
        for key, readers in names.readers.items():
            topology, spout = key
            first, period_ns = names.source_index[key], sources[topology][spout].checkpoint_ns
            partitions = range(first, first + len(readers))
            self._logs.append(OffsetLog(topology, names.component_index[key], partitions, period_ns))

    @property
    def next_checkpoint_ns(self) -> int:
        """When the next checkpoint is due; NEVER without logs."""
        return min((log.due_ns for log in self._logs), default=kinds.NEVER)

    def checkpoint(self, now_ns: int) -> None:
        """Store the offsets of the logs whose checkpoint is due."""
        for log in self._logs:
            if log.due_ns <= now_ns:
                log.due_ns += log.period_ns
                log.checkpoint()

    def collect_acks(self, k: Kernel) -> None:
        """Process the acks among the finished roots in the kernel's buffer, before it is emptied."""
        if not self._logs:
            return
        rows = k.root_row[: int(k.s[0].root_rows)]
        acked = rows["outcome"] == kinds.ACKED
        task, line, attempt = (rows[name][acked] for name in ("task", "line", "attempt"))
        component: NDArray[np.int64] = k.task["component"][task]
        for log in self._logs:
            of_log = component == log.component
            log.ack(line[of_log].tolist(), attempt[of_log].tolist())

    def forget(self, source: int) -> Mapping[int, int] | None:
        """Return the lines to emit again after a source's last reader has died; None if it is no log."""
        own = [log for log in self._logs if source in log.sources]
        return own[0].forget(source - own[0].sources.start) if own else None

    def committed_lines(self, topology_id: str) -> int:
        """Lines of a topology's logs that are final; `UserError` if it reads no log."""
        own = [log for log in self._logs if log.topology == topology_id]
        if not own:
            message = "no spout of this topology reads a log, so no offset is committed"
            remedy = "give a source a checkpoint_ns, or measure progress in acks"
            raise UserError(message, field="topology", value=topology_id, remedy=remedy)
        return sum(log.committed for log in own)
