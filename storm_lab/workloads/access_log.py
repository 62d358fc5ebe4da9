"""Access logs to stream: a generated one, real ones if they are beside the checkout, or the user's own file.

Lines reach the topology as LogStash ships them, each as a JSON event that names its format. Directives of the
W3C format and blank lines are not events. Each event carries the columns that the last ``#Fields`` line
declared, because a bolt sees lines in any order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.workloads.access_line import LogFormat, format_of
from storm_lab.workloads.generated_log import generated_lines
from storm_lab.workloads.text import Text, read_text

GENERATED = "generated"
APACHE = "apache"
IIS = "iis"

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "weblogs"
REAL_LOGS = {APACHE: _BESIDE / "apache_access_10000.log", IIS: _BESIDE / "iis_w3c_extended.log"}
"""Paths of the real logs, in a folder beside the checkout."""


def load_log(choice: str) -> Text:
    """Return the log that ``choice`` names: ``generated``, ``apache``, ``iis``, or the path of a file.

    The lines are its events in order, each a JSON text. Raises a `UserError` if the file cannot be read, is
    too large, is not text or holds no event.
    """
    if choice == GENERATED:
        return _generated()
    path = REAL_LOGS.get(choice, Path(choice))
    if choice in REAL_LOGS and not path.is_file():
        remedy = f"use {GENERATED}, or give the path of an access log"
        raise UserError("this log is not beside the checkout", field="log", value=choice, remedy=remedy)
    name = choice if choice in REAL_LOGS else path.name
    events = tuple(ship(read_text(path, name=name, field="log").lines))
    if not events:
        message = "holds no event, only directives and blank lines"
        remedy = "give an access log with at least one record"
        raise UserError(message, field="log", value=str(path), remedy=remedy)
    return Text(name, events)


@cache
def _generated() -> Text:
    return Text(GENERATED, tuple(ship(generated_lines())))


def ship(lines: Iterable[str]) -> Iterator[str]:
    """Yield the events that a shipper makes of a log's lines; a damaged line is an event too."""
    fields: list[str] = []
    for line in lines:
        if line.startswith("#"):
            name, _, value = line.partition(":")
            if name == "#Fields":
                fields = value.split()
            continue
        if not line.strip():
            continue
        form = format_of(line, fields)
        event = {"format": form.value, "message": line}
        if form is LogFormat.W3C:
            event["fields"] = " ".join(fields)
        yield json.dumps(event, separators=(",", ":"))
