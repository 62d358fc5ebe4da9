"""What a worker's Java threads do, told by their names.

Executors' threads carry component and tasks in their names: ``Thread-16-bolt1-executor[2, 2]`` in 2.x,
``Thread-5-bolt1-executor[2 2]`` in 1.x. In 0.9 they are called ``Thread-10-bolt1``, and the thread that was
started just before sends what the executor emits: ``Thread-9-disruptor-executor[2 2]-send-queue``, as in 1.x.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MAIN, SEND, RECEIVE, TRANSFER = "main", "send", "receive", "transfer"
HOUSEKEEPING, COMPILER, COLLECTOR, RECORDER = "housekeeping", "compiler", "collector", "recorder"

_SEND = re.compile(r"Thread-(\d+)-disruptor-executor\[(-?\d+),? (-?\d+)\]-send-queue")
_MAIN = re.compile(r"Thread-\d+-(.+)-executor\[(-?\d+),? (-?\d+)\]$")
_OLD_MAIN = re.compile(r"Thread-(\d+)-(.+)$")
_OTHER = (
    (RECORDER, re.compile(r"storm-lab-recorder")),
    (TRANSFER, re.compile(r"Worker-Transfer|disruptor-worker-transfer-queue|^client-worker|^New I/O client")),
    (RECEIVE, re.compile(r"[Nn]etty-server|worker-receiver-thread|^New I/O server")),
)


class ThreadUse(NamedTuple):
    """Kind of thread, and first task of the executor that it belongs to; -1 = the whole worker's."""

    kind: str
    first_task: int


def thread_uses(
    threads: Iterable[tuple[int, str]], components: Iterable[str], known: Mapping[int, int]
) -> dict[int, ThreadUse]:
    """What the threads of a worker do, by their ids.

    Args:
        threads: ids and whole names.
        components: of the topology, system components included.
        known: first task of the executor, of threads that have said it themselves.
    """
    listed = list(threads)
    names = set(components)
    # In 0.9 an executor's main thread is the one after its sender.
    follows = {int(found[1]) + 1: int(found[2]) for _, name in listed if (found := _SEND.match(name))}
    uses: dict[int, ThreadUse] = {}
    for key, name in listed:
        if key in known:
            uses[key] = ThreadUse(MAIN, known[key])
        elif found := _SEND.match(name):
            uses[key] = _of_executor(SEND, int(found[2]))
        elif found := _MAIN.match(name):
            uses[key] = _of_executor(MAIN, int(found[2]))
        elif (kind := _shared(name)) is not None:
            uses[key] = ThreadUse(kind, -1)
        elif (found := _OLD_MAIN.match(name)) and found[2] in names and int(found[1]) in follows:
            uses[key] = _of_executor(MAIN, follows[int(found[1])])
        else:
            uses[key] = ThreadUse(HOUSEKEEPING, -1)
    return uses


def _shared(name: str) -> str | None:
    return next((kind for kind, pattern in _OTHER if pattern.search(name)), None)


def _of_executor(kind: str, first_task: int) -> ThreadUse:
    # Tasks below 1 are those of Storm's own system bolt.
    return ThreadUse(kind, first_task) if first_task > 0 else ThreadUse(HOUSEKEEPING, -1)
