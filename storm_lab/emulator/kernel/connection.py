"""Connections between workers: a batch costs one system call for each of them, however many tuples it holds.

A transfer thread writes all that a batch has for one worker at once, and a reading thread takes all that has
arrived from one worker at once. So a thread that is behind shares its calls between many tuples, while at
light load every tuple pays for its own call. A thread that sends to many workers pays more than one that
sends to few.
"""

from __future__ import annotations

from storm_lab.emulator.state import rows
from storm_lab.emulator.state.jit import inline
from storm_lab.emulator.state.layout import State


@inline
def sender_of(k: State, worker: int, m: int) -> int:
    """Return the worker that a message came from, as its reader ``worker`` sees the topology; -1: unknown."""
    task = rows.message(k, m).source_task
    if task < 0:
        return -1
    executor = rows.route(k, rows.worker(k, worker).route + task).value
    return -1 if executor < 0 else rows.executor(k, executor).worker


@inline
def is_first(k: State, other: int, batch: int) -> bool:
    """Return whether a message is the first of its batch from or to worker ``other``, and so needs a call."""
    if other < 0:
        return True
    w = rows.worker(k, other)
    if w.last_batch == batch:
        return False
    w.last_batch = batch
    return True
