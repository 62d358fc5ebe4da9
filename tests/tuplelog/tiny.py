"""Tuple logs written by hand, small enough for results to be worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from storm_lab.tuplelog import TABLES, Manifest, RunIdentity, RunWriter, Status
from storm_lab.tuplelog.buffer import Column
from storm_lab.tuplelog.manifest import checksum_of

S = 1_000_000_000
MS = 1_000_000

Row = Mapping[str, object]


def identity(**changes: object) -> RunIdentity:
    facts: dict[str, object] = {
        "experiment": "tiny",
        "variant": "default",
        "parameters": {"gamma": 1.7},
        "seed": 1,
        "storm_version": "0.8.2",
        "code_digest": "c0de",
        "lock_digest": "10c4",
        "inputs": {"text": "7e47"},
    }
    return RunIdentity(**(facts | changes))  # type: ignore[arg-type]


def columns(table: str, rows: Sequence[Row]) -> dict[str, Column]:
    """Convert rows to columns; a missing value is null in a nullable column, else 0 or an empty name."""
    result: dict[str, Column] = {}
    for field in TABLES[table]:
        if field.name == "run":
            continue
        if pa.types.is_dictionary(field.type) or field.type == pa.string():
            result[field.name] = [str(row.get(field.name, "")) for row in rows]
        else:
            missing = -1 if field.nullable else 0
            values = [missing if row.get(field.name) is None else row[field.name] for row in rows]
            result[field.name] = np.array(values, field.type.to_pandas_dtype())
    return result


def root(emit_s: float, latency_ms: float | None, outcome: str = "acked", **more: object) -> Row:
    """Return a root tuple; it completes at emit plus latency unless stated."""
    emit = round(emit_s * S)
    latency = None if latency_ms is None else round(latency_ms * MS)
    done = None if latency is None else emit + latency
    return {
        "topology": "wc",
        "emit_ns": emit,
        "complete_ns": done,
        "outcome": outcome,
        "latency_ns": latency,
    } | more


def edit_manifest(folder: Path, **changes: object) -> None:
    """Change fields of a run's manifest, and its checksum with them."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_text()) | changes
    del fields["checksum"]
    path.write_text(json.dumps(fields | {"checksum": checksum_of(fields)}))


def spout(topology: str) -> Row:
    """Return the placement of a spout's executor that never moves."""
    return {
        "topology": topology, "component": "spout", "start_task": 1, "end_task": 1, "worker": 0, "node": "n1",
        "port": 6700, "start_ns": 0, "end_ns": None,
    }  # fmt: skip


def write_run(
    folder: Path,
    tables: Mapping[str, Sequence[Row]] | None = None,
    *,
    duration_s: float = 120,
    warm_up_s: float = 0,
    status: Status = Status.COMPLETE,
    reason: str = "",
    conditions: Mapping[str, object] | None = None,
    **changes: object,
) -> Manifest:
    """Write a run of the given rows by table; without any it has one acked root.

    Where no placement is given, each topology of the roots has a spout on one node.
    """
    rows = dict({"roots": [root(1, 10)]} if tables is None else tables)
    topologies = dict.fromkeys(row["topology"] for row in rows.get("roots", ()))
    rows.setdefault("placements", [spout(str(topology)) for topology in topologies])
    with RunWriter(folder, identity(**changes)) as log:
        for table, lines in rows.items():
            log.append(table, columns(table, lines))
        return log.finish(
            duration_ns=round(duration_s * S),
            warm_up_ns=round(warm_up_s * S),
            status=status,
            reason=reason,
            conditions=conditions,
        )
