"""The names behind the kernel's indices, and the units of its times."""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Executor

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Names:
    """The names behind the kernel's indices."""

    nodes: tuple[str, ...]
    node_index: dict[str, int]
    topologies: tuple[str, ...]
    component_index: dict[tuple[str, str], int]  # (topology id, component id) -> index; in order
    first_task: dict[tuple[str, str], int]  # (topology id, component id) -> global task index
    executors: dict[str, tuple[Executor, ...]]  # topology id -> its executors
    source_index: dict[tuple[str, str], int]  # (topology id, spout id) -> its first source
    readers: dict[tuple[str, str], tuple[Executor, ...]]  # of logs: (...) -> readers of its sources, in order

    def source_of(self, executor: Executor) -> int:
        """Return the index of the source that an executor reads; -1 when it is not a spout."""
        key = (executor.topology, executor.component)
        first = self.source_index.get(key, -1)
        return first + self.readers[key].index(executor) if key in self.readers else first
