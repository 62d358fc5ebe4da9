"""Values that a spout emits, read from a file: real input for a topology whose own source is unavailable."""

from __future__ import annotations

import json
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.model.topology import DEFAULT_STREAM
from storm_lab.workloads.importers.documents import read_bounded
from storm_lab.workloads.importers.draft import UNNAMED, Draft, DraftComponent, Row

LARGEST_RECORDS = 64 * 1024 * 1024
MOST_RECORDS = 100_000


def read_rows(name: str, folder: Path, field: str, *, inside: bool) -> list[Row]:
    """Return the records of a file.

    A JSON file (``.json``, ``.jsonl``, ``.ndjson``) has a list, object or value per line, any other file a
    text per line.

    Raises:
        UserError: the file cannot be read, holds no record or too many, or a line is not JSON.
    """
    path = folder / name
    if inside and not path.resolve().is_relative_to(folder.resolve()):
        message = "is outside the folder of the file that names it"
        raise UserError(message, field=field, value=name, remedy="put it there")
    lines = read_bounded(path, field=field, largest=LARGEST_RECORDS).split("\n")
    as_json = path.suffix in (".json", ".jsonl", ".ndjson")
    rows = [
        _row(line, number, as_json, path.name, field)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not 1 <= len(rows) <= MOST_RECORDS:
        remedy = f"give 1 to {MOST_RECORDS}"
        raise UserError(f"holds {len(rows)} records", field=field, value=name, remedy=remedy)
    return rows


def _row(line: str, number: int, as_json: bool, file: str, field: str) -> Row:
    if not as_json:
        return [line.removesuffix("\r")]
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        remedy = "give one JSON value a line"
        raise UserError(f"line {number} is not JSON", field=field, value=file, remedy=remedy) from None
    return value if isinstance(value, list | dict) else [value]


def fit_rows(component: DraftComponent, draft: Draft) -> None:
    """Give a spout its records' values, in order of its first stream's fields; note what does not fit."""
    rows = component.records
    heard = (
        item.stream for c in draft.components.values() for item in c.inputs if item.source == component.id
    )
    first = next(iter(component.streams), None) or next(heard, DEFAULT_STREAM)
    stream = component.stream(first)
    if stream.fields is None and isinstance(rows[0], dict):
        stream.fields = tuple(str(key) for key in rows[0])
    fields = draft.fields_of(component, first)
    if stream.fields is None and isinstance(rows[0], list) and len(rows[0]) != len(fields):
        named = [name for name in fields if name != UNNAMED]
        extra = [f"value{n}" for n in range(len(rows[0]) - len(named))]
        fields = stream.fields = (*named, *extra) if extra else fields
    given = []
    for number, row in enumerate(rows, start=1):
        values = tuple(row.get(name) for name in fields) if isinstance(row, dict) else tuple(row)
        if len(values) != len(fields):
            why = f"it has {len(values)} values where the fields are: {', '.join(fields)}"
            draft.notes.missing(component.place, f"record {number} of {component.id}", why)
            return
        given.append(values)
    component.given = tuple(given)
