"""The tuple log: what one run leaves behind, table by table, column by column.

A run is one folder of Parquet files with a ``manifest.json``. Times are virtual, in integer nanoseconds since
the start of the run; sizes in bytes; CPU in milliseconds of one core. Each field's meaning stands in its
metadata under ``doc`` and is what the documentation prints. Every table starts with the column ``run``, which
the writer fills: it is the same in every row of a run and names the manifest that the rows belong to, so that
the logs of many runs can be read as one table.

Raise ``SCHEMA_VERSION`` whenever a column's name, type or meaning changes: older runs are then refused by
name.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1

_NAME = pa.dictionary(pa.int32(), pa.string())


def _column(name: str, kind: pa.DataType, doc: str, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


_RUN = _column("run", pa.int64(), "the run's digest (16 hexadecimal digits) as a signed 64-bit integer")


def _table(*columns: pa.Field) -> pa.Schema:
    return pa.schema([_RUN, *columns])


TABLES: dict[str, pa.Schema] = {
    "roots": _table(
        _column("root_id", pa.int64(), "running number of the root tuple within the run, from 0"),
        _column("topology", _NAME, "topology id"),
        _column("spout_task", pa.int32(), "task that emitted the root tuple"),
        _column("line", pa.int64(), "index of the source record in the workload trace (wraps around)"),
        _column(
            "attempt",
            pa.int16(),
            "0 for the first emission of the source record, 1 for its first replay, ...",
        ),
        _column("emit_ns", pa.int64(), "time of the spout's emit"),
        _column(
            "complete_ns", pa.int64(), "time at which the spout handled the ack or the failure", nullable=True
        ),
        _column(
            "outcome",
            _NAME,
            "acked | failed (timed out or failed by a bolt) | lost (its spout died) | pending",
        ),
        _column(
            "latency_ns", pa.int64(), "complete latency as this Storm version measures it", nullable=True
        ),
        _column(
            "sleep_ns", pa.int64(), "sleep inside nextTuple that the complete latency of this root contains"
        ),
    ),
    "executions": _table(
        _column("root_id", pa.int64(), "root tuple whose tree this tuple belongs to; -1 when not anchored"),
        _column("topology", _NAME, "topology id"),
        _column("component", _NAME, "component that executed the tuple"),
        _column("task", pa.int32(), "task that executed the tuple"),
        _column("source_task", pa.int32(), "task that emitted the tuple; -1 for the system (ticks)"),
        _column("worker", pa.int32(), "worker process, numbered through the run"),
        _column("node", _NAME, "node of the worker"),
        _column("locality", _NAME, "process | node | rack | cluster: how far the tuple travelled"),
        _column("enqueue_ns", pa.int64(), "time at which the tuple entered the executor's receive queue"),
        _column("start_ns", pa.int64(), "time at which the user-logic thread took it"),
        _column("end_ns", pa.int64(), "time at which execute returned"),
    ),
    "traffic": _table(
        _column("start_ns", pa.int64(), "start of the monitor window"),
        _column("end_ns", pa.int64(), "end of the monitor window"),
        _column("topology", _NAME, "topology id"),
        _column("source_component", _NAME, "component of the sending task"),
        _column("source_task", pa.int32(), "sending task"),
        _column("target_component", _NAME, "component of the receiving task"),
        _column("target_task", pa.int32(), "receiving task"),
        _column("locality", _NAME, "process | node | rack | cluster"),
        _column("tuples", pa.int64(), "tuples sent in the window"),
        _column("bytes", pa.int64(), "payload bytes sent in the window"),
    ),
    "counts": _table(
        _column("start_ns", pa.int64(), "start of the counting window"),
        _column("end_ns", pa.int64(), "end of the counting window"),
        _column("topology", _NAME, "topology id"),
        _column("component", _NAME, "component"),
        _column("task", pa.int32(), "task"),
        _column("emitted", pa.int64(), "tuples emitted (one per emit call)"),
        _column("transferred", pa.int64(), "copies sent (one per target task)"),
        _column("executed", pa.int64(), "tuples executed"),
        _column("acked", pa.int64(), "spouts: root tuples acked; bolts: tuples acked"),
        _column("failed", pa.int64(), "spouts: root tuples failed; bolts: tuples failed"),
        _column("execute_ns", pa.int64(), "time spent inside execute, waiting for servers included"),
    ),
    "cpu": _table(
        _column("start_ns", pa.int64(), "start of the monitor window"),
        _column("end_ns", pa.int64(), "end of the monitor window"),
        _column("node", _NAME, "node"),
        _column("topology", _NAME, "topology id; empty for the node's own work"),
        _column("worker", pa.int32(), "worker process, numbered through the run; -1 for the node's own work"),
        _column("component", _NAME, "component of the executor; empty for threads shared by the worker"),
        _column("task", pa.int32(), "first task of the executor; -1 for threads shared by the worker"),
        _column("thread", _NAME, "main | send | receive | transfer | housekeeping"),
        _column("cpu_ms", pa.float64(), "CPU time used in the window, milliseconds of one core"),
    ),
    "nodes": _table(
        _column("node", _NAME, "node"),
        _column("rack", _NAME, "rack"),
        _column("cores", pa.int32(), "physical cores"),
        _column("core_mhz", pa.float64(), "clock of one core, MHz"),
        _column("memory_mb", pa.float64(), "RAM, MB"),
    ),
    "placements": _table(
        _column("start_ns", pa.int64(), "time at which the executor was ready in this worker"),
        _column("end_ns", pa.int64(), "time at which it was stopped; null = ran to the end", nullable=True),
        _column("topology", _NAME, "topology id"),
        _column("component", _NAME, "component"),
        _column("start_task", pa.int32(), "first task of the executor"),
        _column("end_task", pa.int32(), "last task of the executor"),
        _column("worker", pa.int32(), "worker process, numbered through the run"),
        _column("node", _NAME, "node"),
        _column("port", pa.int32(), "port of the slot"),
    ),
    "control": _table(
        _column("time_ns", pa.int64(), "when it happened"),
        _column(
            "actor",
            _NAME,
            "nimbus | supervisor:<node> | worker:<n> | monitor | generator | scheduler | fault | ...",
        ),
        _column(
            "action",
            _NAME,
            "what was done, a verb: submit, assign, start-worker, kill-worker, re-assign, ...",
        ),
        _column("subject", pa.string(), "whom it was done to: topology, slot, worker, executor or node"),
        _column("reason", pa.string(), "why, in a few words"),
        _column("detail", pa.string(), "further facts as JSON with sorted keys"),
    ),
}

EMULATOR = "emulator"
LIVE = "live"
RUNTIMES = (EMULATOR, LIVE)
"""What may have played a run: the emulator, or real Storm."""

_NOT_OBSERVED = "enqueue_ns"
"""Column of ``executions`` that real Storm does not tell: it may be null in a live run."""


def tables_of(runtime: str) -> dict[str, pa.Schema]:
    """The tables of a run that this runtime has played. Raises `ValueError` for an unknown one."""
    if runtime == EMULATOR:
        return TABLES
    if runtime != LIVE:
        raise ValueError(f"unknown runtime {runtime!r}; there are {', '.join(RUNTIMES)}")
    executions = TABLES["executions"]
    place = executions.get_field_index(_NOT_OBSERVED)
    return TABLES | {"executions": executions.set(place, executions.field(place).with_nullable(True))}
