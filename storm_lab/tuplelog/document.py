"""The reference page of the tuple log, written from the schema itself so that the two cannot differ.

``python -m storm_lab.tuplelog.document`` prints it; ``docs/tuple-log.md`` is its output.
"""

from __future__ import annotations

import pyarrow as pa

from storm_lab.tuplelog.schema import SCHEMA_VERSION, TABLES

_HEAD = f"""# Tuple log

What one run leaves behind, be it played by the emulator or by real Storm. This page is generated from
`storm_lab/tuplelog/schema.py` by `python -m storm_lab.tuplelog.document`; edit the schema, not the page.
Schema version {SCHEMA_VERSION}.

A run is a folder `data/runs/<experiment>/<run>/` with one Parquet file for each table below (zstd, integers
delta-packed, names as dictionaries, row groups of 1,048,576 rows) and a `manifest.json`. The folder appears
whole or not at all: it is written under a hidden name beside its own and renamed at the end. The same
inputs and seed give the same bytes.

Times are in nanoseconds since the start of the run; virtual ones, but for runs of real Storm, whose rows lack
what it does not tell: the column `enqueue_ns` of `executions` is null there, and the messages and counters of
ackers have no rows. The latency of their root tuples is `complete_ns` less `emit_ns`, whatever the version.

`storm_lab.tuplelog.open_run` checks a folder and refuses one that is incomplete, truncated, empty, of another
schema version, or that holds a run a second time.

## manifest.json

| field | meaning |
|---|---|
| `schema_version` | version of the tables; a reader takes no other than its own |
| `run` | sixteen hexadecimal digits: digest of the fields that decide the bytes; names the folder |
| `experiment`, `variant` | the experiment's slug and which of its settings this run is |
| `parameters` | parameters by name: texts, numbers, true/false or null |
| `seed` | seed of everything random in the run |
| `storm_version` | version of Storm that was played |
| `runtime` | `live` for a run of real Storm; absent for one of the emulator |
| `code_digest`, `lock_digest` | digests of the project's code and of the libraries' versions |
| `inputs` | digest of every input, by name |
| `sample_every` | k: the table `executions` holds those of one root tuple in k; the other tables are whole |
| `duration_ns` | virtual time from the start of the run to its end |
| `warm_up_ns` | the leading part that steady figures leave out |
| `status`, `reason` | `complete`; or `stopped`, when a stated limit ended the run early, and which |
| `conditions` | of a live run: versions, machine, quotas, and the load of the machine meanwhile |
| `tables` | for every table: rows, bytes and SHA-256 of its file |
| `checksum` | SHA-256 of the other fields, as JSON with sorted keys and without blanks |

No field holds a wall-clock time, a host or a path.
"""

_ABOUT = {
    "roots": "One row for each emission of a root tuple by a spout, in the order in which they ended.",
    "executions": "One row for each execution of a tuple by a task (all, or a sample by root tuple).",
    "traffic": "Tuples sent from task to task in each monitor window.",
    "counts": "Counters of each task in each counting window.",
    "cpu": "CPU time of each thread in each monitor window.",
    "nodes": "The machines of the cluster.",
    "placements": "Where each executor ran, from when to when.",
    "control": "Who did what to whom, when and why: the decisions of the control plane.",
}

_UNITS = {"_ns": "ns", "_ms": "ms of one core", "_mhz": "MHz", "_mb": "MB", "bytes": "bytes"}


def document() -> str:
    """The page as Markdown."""
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
