"""The tables and columns of the tuple log, the record of one run.

Times are virtual, in integer nanoseconds since the start of the run; sizes are in bytes; CPU is in
milliseconds of one core. Every table starts with the column ``run``, which the writer fills, so that the logs
of many runs can be read as one table. Raise ``SCHEMA_VERSION`` whenever a column's name, type or meaning
changes; older runs are then refused with that reason.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1

_INT, _LONG = pa.int32(), pa.int64()
_NAME = pa.dictionary(_INT, pa.string())
_RUN = ("run", _LONG, "the run's digest (16 hexadecimal digits) as a signed 64-bit integer")


def _table(*columns: tuple[str, pa.DataType, str] | tuple[str, pa.DataType, str, bool]) -> pa.Schema:
    """Make a schema from name, type, meaning and, if given, nullability of each column."""
    return pa.schema(
        pa.field(name, kind, nullable=bool(nullable), metadata={"doc": doc})
        for name, kind, doc, *nullable in (_RUN, *columns)
    )


TABLES: dict[str, pa.Schema] = {
    "roots": _table(
        ("root_id", _LONG, "running number of the root tuple within the run, from 0"),
        ("topology", _NAME, "topology id"),
        ("spout_task", _INT, "task that emitted the root tuple"),
        ("line", _LONG, "number of the line, from 0 on; lines repeat when the workload trace is over"),
        (
            "attempt",
            pa.int16(),
            "0 for the first emission of the line, 1 for its first replay, ... (at most 32767)",
        ),
        ("emit_ns", _LONG, "time of the spout's emit"),
        ("complete_ns", _LONG, "time at which the spout handled the ack or the failure", True),
        (
            "outcome",
            _NAME,
            "acked | failed (timed out or failed by a bolt) | lost (its spout died) | pending",
        ),
        ("latency_ns", _LONG, "complete latency as this Storm version measures it", True),
        ("sleep_ns", _LONG, "sleep inside nextTuple that the complete latency of this root contains"),
    ),
    "executions": _table(
        ("root_id", _LONG, "root tuple that this tuple descends from, anchored or not"),
        ("topology", _NAME, "topology id"),
        ("component", _NAME, "component that executed the tuple"),
        ("task", _INT, "task that executed the tuple"),
        ("source_task", _INT, "task that emitted the tuple; -1 for the system (ticks)"),
        ("worker", _INT, "worker process, numbered through the run"),
        ("node", _NAME, "node of the worker"),
        ("locality", _NAME, "process | node | rack | cluster: how far the tuple travelled"),
        ("enqueue_ns", _LONG, "time at which the tuple entered the executor's receive queue"),
        ("start_ns", _LONG, "time at which the user-logic thread took it"),
        ("end_ns", _LONG, "time at which execute returned"),
    ),
    "traffic": _table(
        ("start_ns", _LONG, "start of the monitor window"),
        ("end_ns", _LONG, "end of the monitor window"),
        ("topology", _NAME, "topology id"),
        ("source_component", _NAME, "component of the sending task"),
        ("source_task", _INT, "sending task"),
        ("target_component", _NAME, "component of the receiving task"),
        ("target_task", _INT, "receiving task"),
        ("locality", _NAME, "process | node | rack | cluster"),
        ("tuples", _LONG, "tuples sent in the window"),
        ("bytes", _LONG, "payload bytes sent in the window"),
    ),
    "counts": _table(
        ("start_ns", _LONG, "start of the counting window"),
        ("end_ns", _LONG, "end of the counting window"),
        ("topology", _NAME, "topology id"),
        ("component", _NAME, "component"),
        ("task", _INT, "task"),
        ("emitted", _LONG, "tuples emitted (one per emit call)"),
        ("transferred", _LONG, "copies sent (one per target task)"),
        ("executed", _LONG, "tuples executed"),
        ("acked", _LONG, "spouts: root tuples acked; bolts: tuples acked"),
        ("failed", _LONG, "spouts: root tuples failed; bolts: tuples failed"),
        ("execute_ns", _LONG, "time spent inside execute, waiting for servers included"),
    ),
    "cpu": _table(
        ("start_ns", _LONG, "start of the monitor window"),
        ("end_ns", _LONG, "end of the monitor window"),
        ("node", _NAME, "node"),
        ("topology", _NAME, "topology id; empty for the node's own work"),
        ("worker", _INT, "worker process, numbered through the run; -1 for the node's own work"),
        ("component", _NAME, "component of the executor; empty for threads shared by the worker"),
        ("task", _INT, "first task of the executor; -1 for threads shared by the worker"),
        ("thread", _NAME, "main | send | receive | transfer | network | housekeeping | compiler | starting"),
        ("cpu_ms", pa.float64(), "CPU time used in the window, milliseconds of one core"),
    ),
    "nodes": _table(
        ("node", _NAME, "node"),
        ("rack", _NAME, "rack"),
        ("cores", _INT, "physical cores"),
        ("core_mhz", pa.float64(), "clock of one core, MHz"),
        ("memory_mb", pa.float64(), "RAM, MB"),
    ),
    "placements": _table(
        ("start_ns", _LONG, "time at which the executor was ready in this worker"),
        ("end_ns", _LONG, "time at which it was stopped; null if it ran to the end", True),
        ("topology", _NAME, "topology id"),
        ("component", _NAME, "component"),
        ("start_task", _INT, "first task of the executor"),
        ("end_task", _INT, "last task of the executor"),
        ("worker", _INT, "worker process, numbered through the run"),
        ("node", _NAME, "node"),
        ("port", _INT, "port of the slot"),
    ),
    "control": _table(
        ("time_ns", _LONG, "time of the action"),
        (
            "actor",
            _NAME,
            "nimbus | supervisor:<node> | worker:<n> | monitor | generator | scheduler | fault | ...",
        ),
        (
            "action",
            _NAME,
            "what was done, as a verb: submit, assign, start-worker, kill-worker, re-assign, ...",
        ),
        ("subject", pa.string(), "what was acted on: topology, slot, worker, executor or node"),
        ("reason", pa.string(), "reason in a few words"),
        ("detail", pa.string(), "further facts as JSON with sorted keys"),
    ),
}

EMULATOR = "emulator"
LIVE = "live"
RUNTIMES = (EMULATOR, LIVE)
"""What can play a run: the emulator, or real Storm."""

_NOT_OBSERVED = "enqueue_ns"
"""Column of ``executions`` that real Storm does not report; it may be null in a live run."""


def tables_of(runtime: str) -> dict[str, pa.Schema]:
    """Return the tables of a run that this runtime has played."""
    if runtime == EMULATOR:
        return TABLES
    executions = TABLES["executions"]
    place = executions.get_field_index(_NOT_OBSERVED)
    return TABLES | {"executions": executions.set(place, executions.field(place).with_nullable(True))}
