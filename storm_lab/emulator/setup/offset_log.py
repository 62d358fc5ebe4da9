"""Offsets of Kafka-like sources: what has been acked, what is stored, and what comes again after a death.

A log deals its lines out to partitions, one for each executor that reads it: partition i of n holds the lines
i, i + n, i + 2 n, ... Its reader emits them in this order. Every ``checkpoint_ns`` it stores the *committed
offset*, the first line that is not yet acked; all lines before it are done for good. When the reader dies its
memory of acks goes with it, and its successor begins at the stored offset: lines after it that had been acked
are emitted again. So nothing is lost, and lines may be executed twice (Storm@Twitter section 3.3.1; Storm's
Kafka spout, 0.9 to 2.x).

Checkpoints of all partitions of a log fall on the multiples of its period.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.state.kinds import ACKED, NEVER
from storm_lab.emulator.state.layout import Kernel
from storm_lab.emulator.state.names import Names
from storm_lab.errors import UserError


class Partition:
    """What the reader of one partition knows: the stored offset, and the lines acked from there on."""

    def __init__(self, first: int, stride: int) -> None:
        self._first = first
        self._stride = stride
        self._acked: dict[int, int] = {}
        self.stored = first
        """The line at which a successor begins."""

    @property
    def committed(self) -> int:
        """How many lines from the partition's start on are done for good."""
        return (self.stored - self._first) // self._stride

    def ack(self, line: int, attempt: int) -> None:
        """The line has been acked, at this attempt."""
        self._acked[line] = attempt

    def checkpoint(self) -> None:
        """Store the offset of the first line that is not acked."""
        while self.stored in self._acked:
            del self._acked[self.stored]
            self.stored += self._stride

    def forget(self) -> Mapping[int, int]:
        """Forget, as the reader has died, that the lines after the stored offset were acked.

        Returns these lines with their attempts.
        """
        acked, self._acked = self._acked, {}
        return acked


class OffsetLogs:
    """All logs of a run, by source index; fed with the rows of finished roots."""

    def __init__(self, plans: Sequence[TopologyPlan], names: Names) -> None:
        self._partitions: dict[int, Partition] = {}
        self._of_topology: dict[str, list[Partition]] = {}
        self._first: dict[int, tuple[int, int]] = {}
        """By component: its first source, and how many it has."""
        self._periods: dict[int, int] = {}
        # How many rows of the kernel's buffer have been taken in.
        self._taken = 0
        sources = {plan.topology.id: plan.sources for plan in plans}
        for (topology, spout), readers in names.readers.items():
            first, n = names.source_index[topology, spout], len(readers)
            self._first[names.component_index[topology, spout]] = (first, n)
            self._periods[first] = sources[topology][spout].checkpoint_ns
            own = [Partition(i, n) for i in range(n)]
            self._partitions.update(enumerate(own, start=first))
            self._of_topology.setdefault(topology, []).extend(own)
        self._due = dict(self._periods)

    @property
    def next_checkpoint_ns(self) -> int:
        """When the next checkpoint is due; NEVER without logs."""
        return min(self._due.values(), default=NEVER)

    def checkpoint(self, now_ns: int) -> None:
        """Store the offsets of the logs whose checkpoint is due."""
        for first, n in self._first.values():
            if self._due[first] <= now_ns:
                self._due[first] += self._periods[first]
                for index in range(first, first + n):
                    self._partitions[index].checkpoint()

    def emptied(self) -> None:
        """The kernel's buffer of finished roots begins anew."""
        self._taken = 0

    def take(self, k: Kernel) -> None:
        """Take in the acks among the roots that have finished since the last call."""
        if not self._partitions:
            return
        rows = k.root_row[self._taken : int(k.s[0].root_rows)]
        self._taken += len(rows)
        rows = rows[rows["outcome"] == ACKED]
        component: NDArray[np.int64] = k.task["component"][rows["task"]]
        for index, (first, n) in self._first.items():
            own = rows[component == index]
            for line, attempt in zip(own["line"].tolist(), own["attempt"].tolist(), strict=True):
                self._partitions[first + line % n].ack(line, attempt)

    def forget(self, source: int) -> Mapping[int, int] | None:
        """The last reader of a source has died: lines to be emitted again; None when the source is no log."""
        partition = self._partitions.get(source)
        return None if partition is None else partition.forget()

    def committed(self, topology_id: str) -> int:
        """Lines of a topology's logs that are done for good.

        Raises:
            UserError: it reads no log.
        """
        if topology_id not in self._of_topology:
            raise UserError(
                "no spout of this topology reads a log, so no offset is committed",
                field="topology",
                value=topology_id,
                remedy="give a source a checkpoint_ns, or measure progress in acks",
            )
        return sum(partition.committed for partition in self._of_topology[topology_id])
