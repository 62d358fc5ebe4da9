"""The reference page of the tuple log, generated from the schema so that the two cannot differ.

``python -m storm_lab.tuplelog.document`` prints the page; ``docs/tuple-log.md`` is its output.
"""

from __future__ import annotations

import pyarrow as pa

from storm_lab.tuplelog.schema import SCHEMA_VERSION, TABLES

_HEAD = f"""# Tuple log

The tuple log is the record of one run, whether the emulator or real Storm played it. This page is generated
from `storm_lab/tuplelog/schema.py` by `python -m storm_lab.tuplelog.document`; edit the schema, not the page.
Schema version {SCHEMA_VERSION}.

A run is a folder `data/runs/<experiment>/<run>/` with one Parquet file for each table below (zstd, integers
delta-packed, names as dictionaries, row groups of 1,048,576 rows) and a `manifest.json`. It is written under
a hidden name in the same parent folder and renamed at the end, so that it appears complete or not at all. The
same inputs and seed give the same bytes.

Times are in nanoseconds since the start of the run. They are virtual, except in runs of real Storm. The rows
of these lack what Storm does not report: the column `enqueue_ns` of `executions` is null, and the messages
and counters of ackers have no rows. The latency of their root tuples is `complete_ns` minus `emit_ns` in
every version.

`storm_lab.tuplelog.open_run` checks a folder and refuses it if it is incomplete, truncated or empty, has
another schema version, or holds a run a second time.

## manifest.json

| field | meaning |
|---|---|
| `schema_version` | version of the tables; a reader accepts only its own |
| `run` | sixteen hexadecimal digits: digest of the fields that determine the bytes; names the folder |
| `experiment`, `variant` | the experiment's slug, and the one of its settings that was played |
| `parameters` | parameters by name: texts, numbers, true/false or null |
| `seed` | seed of everything random in the run |
| `storm_version` | version of Storm that was played |
| `runtime` | `live` for a run of real Storm; absent for one of the emulator |
| `code_digest`, `lock_digest` | digests of the project's code and of the libraries' versions |
| `inputs` | digest of every input, by name |
| `sample_every` | k: the table `executions` covers one root tuple in k; the other tables are complete |
| `duration_ns` | virtual time from the start of the run to its end |
| `warm_up_ns` | the leading part that steady-state figures leave out |
| `status`, `reason` | `complete`; or `stopped` if a stated limit ended the run early, and which limit |
| `conditions` | of a live run: versions, machine, quotas, and the load of the machine during the run |
| `tables` | for every table: rows, bytes and SHA-256 of its file |
| `checksum` | SHA-256 of the other fields, as JSON with sorted keys and without blanks |

No field holds a wall-clock time, a host or a path.
"""

_ABOUT = {
    "roots": "One row for each emission of a root tuple by a spout, in the order in which they ended. The "
    "`complete_ns` of a lost one is the time at which its spout died.",
    "executions": "One row for each execution of a tuple by a task (all, or a sample by root tuple).",
    "traffic": "Tuples sent from task to task in each monitor window.",
    "counts": "Counters of each task in each counting window. An execution counts as a whole in the window "
    "in which it ended. In runs of the emulator, root tuples that were lost count as `failed` here.",
    "cpu": "CPU time of each thread in each monitor window.",
    "nodes": "The machines of the cluster.",
    "placements": "Where each executor ran, from when to when.",
    "control": "The decisions of the control plane: actor, action, subject, time and reason.",
}

_UNITS = {"_ns": "ns", "_ms": "ms of one core", "_mhz": "MHz", "_mb": "MB", "bytes": "bytes"}


def document() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    for name, schema in TABLES.items():
        parts.append(f"## {name}\n\n{_ABOUT[name]}\n")
        parts.append("| column | type | unit | meaning |\n|---|---|---|---|")
        parts.extend(_row(field) for field in schema)
        parts.append("")
    return "\n".join(parts)


def _row(field: pa.Field) -> str:
    kind = "name" if pa.types.is_dictionary(field.type) else str(field.type)
    unit = next((unit for end, unit in _UNITS.items() if field.name.endswith(end)), "")
    doc = field.metadata[b"doc"].decode().replace("|", "\\|")
    return f"| `{field.name}` | {kind}{' or null' if field.nullable else ''} | {unit} | {doc} |"


if __name__ == "__main__":
    print(document(), end="")
