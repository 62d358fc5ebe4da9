"""Access logs to stream: a generated one, real ones if they are beside the checkout, or the user's own file.

Lines reach the topology as LogStash ships them, each as a JSON event that names its format. Directives of the
W3C format and blank lines are not events. Each event carries the columns that the last ``#Fields`` line
declared, because a bolt sees lines in any order.

The generated log is that of three servers, which write the common, combined and W3C extended formats. It
has the shape of real logs: some 1,500 paths follow a Zipf law (the first has a twelfth of the requests), one
request in ten comes from a robot, and nine answers in ten have status 200. One line in two hundred is cut
short or has an invalid time, status or request. Names and addresses mean nothing (RFC 5737).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.workloads.access_line import MONTHS, LogFormat, format_of
from storm_lab.workloads.splitmix import SplitMix
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
        return _generated_log()
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


RECORDS = 6000
DAMAGED_ONE_IN = 200
W3C_FIELDS = (
    "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) "
    "sc-status sc-substatus sc-win32-status sc-bytes time-taken"
)
HEADER_EVERY = 1000  # records of the W3C server between two of its headers, as after restarts

_PATHS = 1500
_START = datetime(2014, 1, 6, 8, 0, 0, tzinfo=UTC)
_NAMES = (
    "about admin archive article blog book cart catalog code contact css data demo docs download event "
    "faq feed files font forum gallery help home image index info item js latest library link list "
    "login map media news note order page photo post press product profile project search service shop "
    "site store style support tag team theme tool topic user video view web wiki"
)
"""Names of folders and files."""
_WORDS = _NAMES.split()
_ENDINGS = ("", "", ".html", ".png", ".css", ".js", ".jpg", ".aspx")
_STATUSES = ((200, 913), (304, 44), (404, 21), (301, 16), (206, 4), (500, 2))
_AGENTS = (
    "Mozilla/5.0 (Windows NT 6.1; WOW64; rv:26.0) Gecko/20100101 Firefox/26.0",
    "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.76 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9) AppleWebKit/537.71 (KHTML, like Gecko) Safari/537.71",
    "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 7_0_4 like Mac OS X) AppleWebKit/537.51.1 Mobile/11B554a Safari/9537",
    "Mozilla/5.0 (X11; Linux x86_64; rv:24.0) Gecko/20100101 Firefox/24.0",
    "curl/7.34.0",
    "Mozilla/5.0 (Windows NT 5.1; rv:26.0) Gecko/20100101 Firefox/26.0",
    "Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.16",
)
_ROBOTS = (
    "Mozilla/5.0 (compatible; ExampleBot/2.1; +http://robot.example.org/bot.html)",
    "ExampleSpider/1.0 (+http://spider.example.net)",
)
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")


@cache
def _generated_log() -> Text:
    return Text(GENERATED, tuple(ship(generated_lines())))


def generated_lines() -> Iterator[str]:
    """Yield the lines of the log; integer arithmetic gives the same bytes on every machine."""
    draw = SplitMix(1)
    paths = _paths(draw)
    # Zipf-Mandelbrot: a weight of 1 / (rank + 1) gives the first path about 8 % of the requests.
    weights = list(accumulate(10**9 // (rank + 1) for rank in range(1, len(paths) + 1)))
    statuses = list(accumulate(weight for _, weight in _STATUSES))
    moment = _START
    w3c_records = 0
    for number in range(RECORDS):
        moment += timedelta(seconds=draw.below(3))
        server = draw.below(3)
        path, status = paths[draw.place(weights)], _STATUSES[draw.place(statuses)][0]
        line = _line(draw, server, moment, path, status)
        if server == 0:
            if w3c_records % HEADER_EVERY == 0:
                yield from _header(moment)
            w3c_records += 1
        yield _damaged(draw, line) if (number + 1) % DAMAGED_ONE_IN == 0 else line


def _line(draw: SplitMix, server: int, moment: datetime, path: str, status: int) -> str:
    """Draw the rest of a request; return the line that the server writes: 0 W3C, 1 common, 2 combined."""
    client = f"{draw.one(_NETWORKS)}.{1 + draw.below(254)}"
    robot = draw.below(10) == 0
    agent = draw.one(_ROBOTS if robot else _AGENTS)
    method = "GET" if draw.below(100) else "HEAD" if draw.below(2) else "POST"
    query = f"id={draw.below(500)}" if draw.below(8) == 0 else ""
    size = 0 if status == 304 else 200 + draw.below(1 << (8 + draw.below(10)))
    asked = draw.one(_WORDS)
    referrer = f"http://www.example.com/{asked}" if not robot and draw.below(2) else "-"
    milliseconds = 1 + draw.below(400)
    # Digits only in times, so that no line depends on the locale.
    if server == 0:
        return (
            f"{moment:%Y-%m-%d %H:%M:%S} 192.0.2.1 {method} {path} {query or '-'} 80 - {client} "
            f"{agent.replace(' ', '+')} {referrer} {status} 0 0 {size} {milliseconds}"
        )
    target = f"{path}?{query}" if query else path
    time = f"{moment:%d}/{MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000"
    common = f'{client} - - [{time}] "{method} {target} HTTP/1.1" {status} {size or "-"}'
    return common if server == 1 else f'{common} "{referrer}" "{agent}"'


def _header(moment: datetime) -> Iterator[str]:
    yield "#Software: Microsoft Internet Information Services 7.5"
    yield "#Version: 1.0"
    yield f"#Date: {moment:%Y-%m-%d %H:%M:%S}"
    yield f"#Fields: {W3C_FIELDS}"


def _damaged(draw: SplitMix, line: str) -> str:
    match draw.below(3):
        case 0:  # the writer was killed
            return line[: 10 + draw.below(len(line) // 2)]
        case 1:  # two writers at once
            return f"{line[: len(line) // 2]}{line}"
        case _:  # corrupted characters
            return line.replace(":", "_", 3).replace("-", "_", 2)


def _paths(draw: SplitMix) -> list[str]:
    """Distinct paths of one to three words, most frequent first."""
    paths: dict[str, None] = {"/": None}
    while len(paths) < _PATHS:
        words = [draw.one(_WORDS) for _ in range(1 + draw.below(3))]
        paths.setdefault("/" + "/".join(words) + draw.one(_ENDINGS))
    return list(paths)
