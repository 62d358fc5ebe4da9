"""Export of a run to Chrome's trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

A worker is shown as a process, an executor as a thread and an execution as a slice, with the time in the
queue among its arguments. Actions of Nimbus, supervisors and faults are instant events; the CPU of each node
is a counter. Format: "Trace Event Format" of the Chromium project, JSON object form. Times are microseconds
of virtual time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.atomic_file import atomic_file
from storm_lab.tuplelog.reader import Run

MAX_EVENTS = 500_000
"""Maximum number of executions in one file, which the viewers can handle."""

_MAX_TIME_S = 1e9
"""Latest time that may be given; it fits a log's nanoseconds."""

_US = 1000.0
_CONTROL = 1_000_000
"""Process number of the control plane's instant events."""
_NODES = 1_000_001

Event = dict[str, Any]


def write_chrome_trace(run: Run, path: Path, *, from_s: float = 0.0, to_s: float | None = None) -> int:
    """Write the run, or the part between two times, and return the number of executions written.

    Raises:
        UserError: a time is not a number of seconds, or ``to_s`` is before ``from_s``; there are no
            executions or more than viewers can handle; or the file cannot be written.
    """
    for field, value in (("--from", from_s), ("--to", from_s if to_s is None else to_s)):
        if not 0 <= value <= _MAX_TIME_S:
            remedy = f"give 0 to {_MAX_TIME_S:.0f} s"
            raise UserError("is not a valid time", field=field, value=value, remedy=remedy)
    if to_s is not None and to_s < from_s:
        message = f"it is before --from = {from_s:g}"
        raise UserError(message, field="--to", value=to_s, remedy="give a time after --from")
    end_ns = run.manifest.duration_ns if to_s is None else round(to_s * 1e9)
    start_ns = round(from_s * 1e9)
    inside = (pc.field("end_ns") > start_ns) & (pc.field("start_ns") < end_ns)
    executions = pq.read_table(run.path("executions"), filters=inside)
    if not 0 < executions.num_rows <= MAX_EVENTS:
        message = (
            f"has {executions.num_rows} executions between these times, but 1 to {MAX_EVENTS} can be shown"
        )
        remedy = "choose other times with --from and --to"
        raise UserError(message, field="run", value=run.run, remedy=remedy)
    remedy = "name a file in a folder that you may write to"
    if not path.name:
        raise UserError("this is not a file name", field="file", value=str(path), remedy=remedy)
    with (
        refused_by_system("the trace cannot be written", field="file", value=str(path), remedy=remedy),
        atomic_file(path) as part,
        part.open("w", encoding="utf-8") as file,
    ):
        about = json.dumps({"run": run.run})
        file.write(f'{{"displayTimeUnit":"ms","otherData":{about},"traceEvents":[\n')
        for number, event in enumerate(_events(run, executions, start_ns, end_ns)):
            file.write((",\n" if number else "") + json.dumps(event, separators=(",", ":")))
        file.write("\n]}\n")
    return int(executions.num_rows)


def _events(run: Run, executions: pa.Table, start_ns: int, end_ns: int) -> Iterator[Event]:
    yield from _names(run)
    for row in executions.to_pylist():
        # A live run does not record when a tuple entered the queue.
        waited = None if row["enqueue_ns"] is None else (row["start_ns"] - row["enqueue_ns"]) / _US
        yield {
            "name": row["component"],
            "cat": "execute",
            "ph": "X",
            "ts": row["start_ns"] / _US,
            "dur": (row["end_ns"] - row["start_ns"]) / _US,
            "pid": row["worker"],
            "tid": row["task"],
            "args": {
                "root": row["root_id"],
                "from task": row["source_task"],
                "travelled": row["locality"],
                "waited_us": waited,
            },
        }
    for row in run.table("control").to_pylist():
        if start_ns <= row["time_ns"] < end_ns:
            yield {
                "name": f"{row['action']} {row['subject']}",
                "cat": "control",
                "ph": "i",
                "s": "g" if row["actor"] == "fault" else "p",
                "ts": row["time_ns"] / _US,
                "pid": _CONTROL,
                "tid": 0,
                "args": {"actor": row["actor"], "reason": row["reason"]},
            }
    yield from _cpu(run, start_ns, end_ns)


def _names(run: Run) -> Iterator[Event]:
    """Yield the names of processes and threads."""
    yield _meta("process_name", _CONTROL, 0, "control plane")
    yield _meta("process_name", _NODES, 0, "CPU of nodes, cores")
    workers: dict[int, str] = {}
    for row in run.table("placements").to_pylist():
        workers[row["worker"]] = f"{row['node']}:{row['port']}"
        for task in range(row["start_task"], row["end_task"] + 1):
            yield _meta("thread_name", row["worker"], task, f"{row['component']} {task}")
    for worker, name in sorted(workers.items()):
        yield _meta("process_name", worker, 0, f"worker {worker}, {name}")


def _meta(what: str, pid: int, tid: int, name: str) -> Event:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _cpu(run: Run, start_ns: int, end_ns: int) -> Iterator[Event]:
    used: dict[tuple[int, int], dict[str, float]] = {}
    for row in run.table("cpu").to_pylist():
        if row["start_ns"] < end_ns and row["end_ns"] > start_ns:
            nodes = used.setdefault((row["start_ns"], row["end_ns"]), {})
            nodes[row["node"]] = nodes.get(row["node"], 0.0) + row["cpu_ms"]
    for (start, end), nodes in sorted(used.items()):
        for node, cpu_ms in sorted(nodes.items()):
            cores = {"cores": round(cpu_ms * 1e6 / (end - start), 4)}
            yield {"name": node, "ph": "C", "ts": max(start, start_ns) / _US, "pid": _NODES, "args": cores}
