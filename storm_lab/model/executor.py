"""Tasks and executors: how Storm numbers tasks and divides them into executors, and the load of executors.

In Storm 0.8 to 2.x a topology's tasks are numbered from 1, component by component in the order of their ids,
system components included, and divided into contiguous executors, larger ones first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from storm_lab.model.topology import ACKER, Topology
from storm_lab.model.version import V0_9_0, StormVersion


class Executor(NamedTuple):
    """A thread of a topology that runs the tasks ``start`` to ``end`` of one component."""

    topology: str
    start: int
    end: int
    component: str

    @property
    def tasks(self) -> range:
        """Task ids, ascending."""
        return range(self.start, self.end + 1)

    def __str__(self) -> str:
        return f"{self.component}[{self.start},{self.end}]"


@dataclass(frozen=True, slots=True)
class MeasuredLoad:
    """Load of executors and traffic between them, smoothed by the monitor's moving average.

    CPU is in MHz (``cpu seconds per second * core clock``, T-Storm section IV-B). Traffic is in tuples per
    second from one executor to another; pairs without traffic are absent.
    """

    cpu_mhz: Mapping[Executor, float] = field(default_factory=dict)
    traffic: Mapping[tuple[Executor, Executor], float] = field(default_factory=dict)
    node_mhz: Mapping[str, float] = field(default_factory=dict)


def acker_count(topology: Topology, version: StormVersion) -> int:
    """Return the number of ackers; the default is 1 in 0.8 and one per requested worker from 0.9 on."""
    if topology.ackers is not None:
        return topology.ackers
    return topology.workers if version >= V0_9_0 else 1


def integer_divided(total: int, parts: int) -> list[int]:
    """Divide ``total`` into ``parts`` whole numbers that differ by at most 1, larger ones first."""
    quotient, remainder = divmod(total, parts)
    return [quotient + 1] * remainder + [quotient] * (parts - remainder)


def executors_of(topology: Topology, version: StormVersion) -> tuple[Executor, ...]:
    """Return all executors of ``topology`` in order of their first task, ackers included."""
    shape = {c.id: (c.executors, c.task_count) for c in topology.components}
    ackers = acker_count(topology, version)
    shape[ACKER] = (ackers, ackers)
    executors: list[Executor] = []
    next_task = 1
    for component_id in sorted(shape):
        count, tasks = shape[component_id]
        count = min(count, tasks)
        first = next_task
        next_task += tasks
        for size in integer_divided(tasks, count) if count else []:
            executors.append(Executor(topology.id, first, first + size - 1, component_id))
            first += size
    return tuple(executors)
