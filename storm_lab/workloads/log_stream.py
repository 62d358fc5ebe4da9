"""User code of Log Stream Processing (T-Storm, section V).

It applies rules to access-log lines, indexes their words, counts what was requested, and stores both results
in a database. A rule states what an operator wants to know about a request. The paper does not print its
rules; these are the usual ones: errors, robots, static files, large answers and probes for vulnerabilities.
Requests by which a load balancer checks that the server is alive are dropped.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from storm_lab.workloads.access_line import Access, LogFormat, MalformedLineError, parse_line
from storm_lab.workloads.text import Text
from storm_lab.workloads.usercode import Bolt, Cost, Emit, SteadyBolt, SteadySpout, Values

STORE = "mongo"  # name of the external server that both stores wait for
MALFORMED = "malformed"  # stream of the reasons why lines could not be read; they are counted like paths

USUAL_BYTES = 200  # length of an event for which applying the rules costs what is declared
USUAL_TERMS = 12  # number of terms of an entry for which indexing costs what is declared

_TERM = re.compile(r"[a-z0-9]{2,}")
LARGE_BYTES = 1_000_000

_ROBOT = re.compile(r"bot\b|crawl|spider|slurp", re.IGNORECASE)
_STATIC = re.compile(r"\.(?:css|js|png|jpe?g|gif|ico|svg|woff2?)$", re.IGNORECASE)
_PROBE = re.compile(r"\.\./|/etc/passwd|wp-login|phpmyadmin|xmlrpc\.php|<script", re.IGNORECASE)
_ALIVE = re.compile(r"/(?:health|ping|alive|status)(?:check)?/?$", re.IGNORECASE)

RULES: Mapping[str, Callable[[Access], bool]] = {
    "server-error": lambda access: access.status >= 500,
    "client-error": lambda access: 400 <= access.status < 500,
    "unchanged": lambda access: access.status == 304,
    "robot": lambda access: access.path == "/robots.txt" or bool(_ROBOT.search(access.agent)),
    "static": lambda access: bool(_STATIC.search(access.path)),
    "large": lambda access: access.size >= LARGE_BYTES,
    "write": lambda access: access.method not in ("GET", "HEAD", "OPTIONS"),
    "probe": lambda access: bool(_PROBE.search(f"{access.path}?{access.query}")),
}
"""Tags, with the conditions under which they apply."""


def tags_of(access: Access) -> tuple[str, ...] | None:
    """Return the tags of the rules that apply, in their order; None for a load balancer's check."""
    if _ALIVE.search(access.path):
        return None
    return tuple(tag for tag, applies in RULES.items() if applies(access))


@dataclass(frozen=True, slots=True)
class LogStreamCosts:
    """Cost of each step, in microseconds at the trace's reference clock; server time is not CPU.

    ``rules_us`` holds for an event of `USUAL_BYTES` and ``index_us`` for an entry of `USUAL_TERMS`. A third
    of each is the same for every tuple; the rest grows in proportion to bytes or terms.
    """

    take_us: float
    rules_us: float
    index_us: float
    count_us: float
    store_cpu_us: float
    store_server_us: float


class TakeEvents(SteadySpout):
    """Emits the events of a log."""

    def __init__(self, log: Text, costs: LogStreamCosts) -> None:
        super().__init__(Cost(costs.take_us), ((event,) for event in log.lines))


class ApplyRules(Bolt):
    """Reads the line in an event, tags it, and emits the requested path with the tagged entry.

    A line that cannot be read goes to the stream `MALFORMED`. That of a load balancer's check goes nowhere.
    ``malformed`` counts reasons, ``dropped`` such checks.
    """

    def __init__(self, costs: LogStreamCosts) -> None:
        self._us = costs.rules_us
        self.malformed: Counter[str] = Counter()
        self.dropped = 0

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the path and the entry, or the reason on the stream of malformed lines."""
        event = json.loads(str(values[0]))
        try:
            access = parse_line(event["message"], LogFormat(event["format"]), event.get("fields", "").split())
        except MalformedLineError as error:
            self.malformed[str(error)] += 1
            emit(f"{MALFORMED}: {error}", stream=MALFORMED)
            return
        tags = tags_of(access)
        if tags is None:
            self.dropped += 1
            return
        entry = {
            "client": access.client,
            "time": access.time_s,
            "method": access.method,
            "query": access.query,
            "status": access.status,
            "size": access.size,
            "referrer": access.referrer,
            "agent": access.agent,
            "tags": tags,
        }
        emit(access.path, json.dumps(entry, separators=(",", ":")))

    def cost(self, values: Values) -> Cost:
        """Return a cost with a fixed part and a part in proportion to the line's length."""
        return Cost(_shared(self._us, len(str(values[0])) / USUAL_BYTES))


class IndexEntries(Bolt):
    """Adds the words of an entry to an inverted index and emits the document with its terms."""

    def __init__(self, costs: LogStreamCosts) -> None:
        self._us = costs.index_us
        self.documents = 0
        self.postings: dict[str, list[int]] = {}

    def execute(self, values: Values, emit: Emit) -> None:
        """Add the entry's terms to the index and emit the document."""
        terms = terms_of(str(values[0]), str(values[1]))
        document = self.documents
        self.documents += 1
        for term in terms:
            self.postings.setdefault(term, []).append(document)
        emit(document, values[0], terms)

    def cost(self, values: Values) -> Cost:
        """Return a cost with a fixed part and a part in proportion to the number of terms."""
        return Cost(_shared(self._us, len(terms_of(str(values[0]), str(values[1]))) / USUAL_TERMS))


class CountHits(SteadyBolt):
    """Counts paths and the reasons of malformed lines, and emits each new count."""

    def __init__(self, costs: LogStreamCosts) -> None:
        super().__init__(Cost(costs.count_us))
        self.hits: Counter[str] = Counter()

    def execute(self, values: Values, emit: Emit) -> None:
        """Count a path or reason and emit its new count."""
        key = str(values[0])
        self.hits[key] += 1
        emit(key, self.hits[key])


class StoreValues(SteadyBolt):
    """Writes values into the database under the first of them, and waits for the answer."""

    def __init__(self, costs: LogStreamCosts) -> None:
        super().__init__(Cost(costs.store_cpu_us, STORE, costs.store_server_us))
        self.stored: dict[object, tuple[object, ...]] = {}

    def execute(self, values: Values, emit: Emit) -> None:
        """Store the values under the first of them."""
        self.stored[values[0]] = tuple(values[1:])


def terms_of(path: str, entry: str) -> list[str]:
    """Return the distinct words of at least two characters in a path and in an entry's texts, sorted."""
    found = json.loads(entry)
    texts = (path, found["query"], found["referrer"], found["agent"], found["method"], *found["tags"])
    return sorted({term for text in texts for term in _TERM.findall(text.lower())})


def _shared(usual_us: float, size: float) -> float:
    return usual_us * (1 + 2 * size) / 3
