"""Prefetching of the rows that a queue's next messages will use.

A workload's trace and the messages of a long queue do not fit into a core's cache. Which record a message
names is known only when the message itself has been read. So each step prefetches what the next step reads:
first a message, then its record, then the record's emissions, then the records that these lead to.
Prefetching is a hint and changes no result.
"""

from __future__ import annotations

from storm_lab.emulator.state import rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

# In a shorter queue the messages are so recent that they are still in the cache.
_MIN_LENGTH = 3
# Emissions per cache line.
_EMISSIONS = 5


@inline
def fetch_emissions(k: State, record: int) -> None:
    """Prefetch the emissions of a record that has already been fetched."""
    if record >= 0:
        first = rows.record(k, record).first_emission
        rows.fetch_emission(k, first)
        rows.fetch_emission(k, first + _EMISSIONS)


@jit
def _fetch_next(k: State, m: int) -> None:
    message = rows.message(k, m)
    fetch_emissions(k, message.record)
    if message.next >= 0:
        second = rows.message(k, message.next)
        rows.fetch_record(k, second.record)
        rows.fetch_root(k, second.root)
        rows.fetch_message(k, second.next)


@inline
def fetch_queued(k: State, m: int, length: int) -> None:
    """Prefetch for ``m``, the first message of a queue of ``length``, and for those behind it."""
    if length >= _MIN_LENGTH:
        _fetch_next(k, m)
