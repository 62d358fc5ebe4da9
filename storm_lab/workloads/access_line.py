"""One line of a web server's access log, in the common, combined or W3C extended (IIS) format.

The common and combined formats are those of Apache's ``mod_log_config``. The W3C extended format names its
columns in ``#Fields`` lines. A line that violates its format raises an error whose reason is one or two
words, so that reasons can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
"""English in every locale, unlike those of strptime."""


class LogFormat(StrEnum):
    """The format of a line. ``UNKNOWN``: it looks like none of the others."""

    COMMON = "common"
    COMBINED = "combined"
    W3C = "w3c"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Access:
    """The contents of a line.

    ``time_s`` is seconds since 1970 in UTC. ``size`` is the body of the answer in bytes, 0 if the log does
    not state it. Texts that the log does not contain are empty.
    """

    client: str
    time_s: int
    method: str
    path: str
    query: str
    status: int
    size: int
    referrer: str = ""
    agent: str = ""


class MalformedLineError(ValueError):
    """A line that violates its format; the error text is the reason, for counting."""


_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_HEAD = re.compile(r"\S+ \S+ \S+ \[")
_COMMON = re.compile(rf"(\S+) \S+ \S+ \[([^\]]*)\] {_QUOTED} (\S+) (\S+)")
_COMBINED = re.compile(rf"{_COMMON.pattern} {_QUOTED} {_QUOTED}")
_APACHE_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-])(\d\d)(\d\d)")
_NEEDED = ("date", "time", "c-ip", "cs-method", "cs-uri-stem", "sc-status")


def format_of(line: str, fields: Sequence[str]) -> LogFormat:
    """Return the format that a line seems to have; ``fields`` are the columns of nearby W3C lines, if any.

    A line of the combined format ends with a quoted text, one of the common format with a size.
    """
    if _HEAD.match(line):
        return LogFormat.COMBINED if line.endswith('"') and line.count('"') > 2 else LogFormat.COMMON
    return LogFormat.W3C if fields else LogFormat.UNKNOWN


def parse_line(line: str, form: LogFormat, fields: Sequence[str] = ()) -> Access:
    """Read one line, a W3C one by its ``fields``; `MalformedLineError` if it violates the format."""
    match form:
        case LogFormat.COMMON:
            return _of_apache(_COMMON.fullmatch(line))
        case LogFormat.COMBINED:
            return _of_apache(_COMBINED.fullmatch(line))
        case LogFormat.W3C:
            return _of_w3c(line.split(" "), fields)
        case LogFormat.UNKNOWN:
            raise MalformedLineError("unknown format")


def _of_apache(found: re.Match[str] | None) -> Access:
    if found is None:
        raise MalformedLineError("wrong columns")
    client, time, request, status, size, *rest = found.groups()
    words = request.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise MalformedLineError("bad request")
    method, (path, _, query) = words[0], words[1].partition("?")
    quoted = ["" if text == "-" else text for text in rest]
    return Access(client, _apache_time(time), method, path, query, _status(status), _size(size), *quoted)


def _of_w3c(columns: Sequence[str], fields: Sequence[str]) -> Access:
    if len(columns) != len(fields):
        raise MalformedLineError("wrong columns")
    found = {name: "" if text == "-" else text for name, text in zip(fields, columns, strict=True)}
    if any(not found.get(name) for name in _NEEDED):
        raise MalformedLineError("missing column")
    return Access(
        client=found["c-ip"],
        time_s=_seconds(f"{found['date']}T{found['time']}+00:00"),
        method=found["cs-method"],
        path=found["cs-uri-stem"],
        query=found.get("cs-uri-query", ""),
        status=_status(found["sc-status"]),
        size=_size(found.get("sc-bytes") or "-"),
        referrer=found.get("cs(Referer)", ""),
        agent=found.get("cs(User-Agent)", "").replace("+", " "),
    )


def _apache_time(text: str) -> int:
    found = _APACHE_TIME.fullmatch(text)
    if found is None or found[2] not in MONTHS:
        raise MalformedLineError("bad time")
    day, month, year, clock, sign, hours, minutes = found.groups()
    local = _seconds(f"{year}-{MONTHS.index(month) + 1:02d}-{day}T{clock}+00:00")
    offset = 3600 * int(hours) + 60 * int(minutes)
    return local - offset if sign == "+" else local + offset


def _seconds(iso_time: str) -> int:
    try:
        return int(datetime.fromisoformat(iso_time).timestamp())
    except ValueError:
        raise MalformedLineError("bad time") from None


def _status(text: str) -> int:
    if not (len(text) == 3 and text.isascii() and text.isdigit() and text[0] in "12345"):
        raise MalformedLineError("bad status")
    return int(text)


def _size(text: str) -> int:
    if text == "-":
        return 0
    if not (text.isascii() and text.isdigit()):
        raise MalformedLineError("bad size")
    return int(text)
