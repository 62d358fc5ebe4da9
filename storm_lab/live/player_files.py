"""Reads the files of the Java player in a topology's folder: JSON lines of workers and binary rows of tasks.

The processes that write them may be killed at any moment, so a truncated last line and unwritten rows
(zeroes) are skipped.

The names of a worker's Java threads tell what they do. Threads of executors carry component and tasks:
``Thread-16-bolt1-executor[2, 2]`` in 2.x, ``Thread-5-bolt1-executor[2 2]`` in 1.x. In 0.9 they are called
``Thread-10-bolt1``; the thread that was started just before sends what the executor emits and is called
``Thread-9-disruptor-executor[2 2]-send-queue``, as in 1.x.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storm_lab.model import Executor

ROOT_ROW = np.dtype(
    [("emit_ns", "<i8"), ("end_ns", "<i8"), ("line", "<i8"), ("attempt", "<i4"), ("outcome", "<i4")]
)
"""The outcome is 0 (pending), 1 (acked) or 2 (failed)."""
EXECUTION_ROW = np.dtype(
    [("start_ns", "<i8"), ("end_ns", "<i8"), ("root", "<i8"), ("source", "<i4"), ("unused", "<i4")]
)

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


@dataclass(slots=True)
class OpenedTask:
    """A task's life in a worker; `incarnation` numbers its lives in the run from 0."""

    task: int
    incarnation: int
    opened_ns: int
    thread: int
    """Java's id of the thread that executes it."""
    closed_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A worker's counters over an interval of time."""

    start_ns: int
    end_ns: int
    tasks: Sequence[Sequence[int]]
    """task, emitted, transferred, executed, acked, failed, ns inside logged executions"""
    sent: Sequence[Sequence[int]]
    """source task, target task, tuples, bytes"""
    threads: Sequence[tuple[int, str, int]]
    """Java's id of a thread, its name, and its CPU in ns"""
    process_cpu_ns: int


@dataclass(slots=True)
class WorkerFile:
    """The file of one worker process, as far as it has been read. Times are CLOCK_MONOTONIC."""

    path: Path
    pid: int = 0
    """0 until the file's first line is complete."""
    port: int = 0
    supervisor: str = ""
    started_ns: int = 0
    recorded_ns: int = 0
    tasks: list[OpenedTask] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    notes: list[tuple[int, str, int]] = field(default_factory=list)
    """time, what (activate, deactivate, close), task"""
    _offset: int = 0

    def read(self) -> None:
        """Read the lines that have been completed since; `ValueError` if the file is not a worker's."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            for text in file:
                # An incomplete line is still being written, or its process was killed.
                if not text.endswith(b"\n"):
                    return
                self._offset += len(text)
                self._take(json.loads(text))

    def _take(self, line: Mapping[str, Any]) -> None:
        what = str(line.get("event"))
        if not self.pid:
            if what != "worker":
                raise ValueError(f"{self.path} does not begin with the line of a worker")
            words = str(line["command"]).split()
            self.supervisor = words[2] if len(words) > 2 else ""
            self.pid, self.port = line["pid"], line["port"]
            self.started_ns, self.recorded_ns = line["started_ns"], line["time_ns"]
        elif what == "task":
            self.tasks.append(OpenedTask(line["task"], line["incarnation"], line["time_ns"], line["thread"]))
        elif what == "window":
            self.windows.append(Window(**{name: line[name] for name in Window.__slots__}))
        else:
            self.notes.append((line["time_ns"], what, line["task"]))
            for task in self.tasks:
                if what == "close" and task.task == line["task"]:
                    task.closed_ns = line["time_ns"]


def read_workers(folder: Path) -> list[WorkerFile]:
    """Read the workers of a folder, ordered by their starts; `ValueError` if a file is not a worker's."""
    found = [WorkerFile(path) for path in sorted(folder.glob("worker-*.jsonl"))]
    for worker in found:
        worker.read()
    return sorted((worker for worker in found if worker.pid), key=lambda w: (w.started_ns, w.pid))


def read_rows(
    folder: Path, table: Literal["roots", "executions"]
) -> Iterator[tuple[int, int, NDArray[np.void]]]:
    """Yield task, incarnation and rows of each life of a task, in that order; row i of roots is root i."""
    row, written = (ROOT_ROW, "emit_ns") if table == "roots" else (EXECUTION_ROW, "end_ns")
    paths = folder.glob(f"{table}-*-*.bin")
    lives = sorted((tuple(map(int, path.stem.split("-")[1:])), path) for path in paths)
    for (task, incarnation), path in lives:
        rows = np.fromfile(path, row, count=path.stat().st_size // row.itemsize)
        # The last row may be incomplete; rows are written in order.
        last = np.flatnonzero(rows[written] != 0)
        yield task, incarnation, rows[: int(last[-1]) + 1 if len(last) else 0]


class ThreadUse(NamedTuple):
    """Kind of thread, and first task of the executor that it belongs to; -1 if it serves the whole worker."""

    kind: str
    first_task: int


def thread_uses(
    threads: Iterable[tuple[int, str]], tasks: Iterable[OpenedTask], by_task: Mapping[int, Executor]
) -> dict[int, ThreadUse]:
    """Determine what the threads of a worker do, by their ids.

    ``threads`` are ids and complete names, ``tasks`` those that have recorded which thread executes them,
    ``by_task`` all executors of the topology.
    """
    listed = list(threads)
    names = {executor.component for executor in by_task.values()}
    known = {entry.thread: by_task[entry.task].start for entry in tasks}
    # In 0.9 the number of an executor's main thread follows that of its send thread.
    follows = {int(found[1]) + 1: int(found[2]) for _, name in listed if (found := _SEND.match(name))}
    uses: dict[int, ThreadUse] = {}
    for key, name in listed:
        use = ThreadUse(HOUSEKEEPING, -1)
        if key in known:
            use = ThreadUse(MAIN, known[key])
        elif found := _SEND.match(name):
            use = ThreadUse(SEND, int(found[2]))
        elif found := _MAIN.match(name):
            use = ThreadUse(MAIN, int(found[2]))
        elif kinds := [kind for kind, pattern in _OTHER if pattern.search(name)]:
            use = ThreadUse(kinds[0], -1)
        elif (found := _OLD_MAIN.match(name)) and found[2] in names and int(found[1]) in follows:
            use = ThreadUse(MAIN, follows[int(found[1])])
        # Other tasks below 1 belong to Storm's own system bolt.
        of_system = use.kind in (MAIN, SEND) and use.first_task < 1
        uses[key] = ThreadUse(HOUSEKEEPING, -1) if of_system else use
    return uses
