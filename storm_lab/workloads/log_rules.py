"""Log rules: what an operator wants to know of a request, written as a list of conditions with a tag each.

T-Storm's Log Stream Processing passes every line through a bolt of rules (section V); which rules is not
printed. These are the usual ones: errors, robots, static files, large answers, probes for weak spots; and
requests of a load balancer that asks whether the server lives, which are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from storm_lab.workloads.access_line import Access

LARGE_BYTES = 1_000_000

_ROBOT = re.compile(r"bot\b|crawl|spider|slurp", re.IGNORECASE)
_STATIC = re.compile(r"\.(?:css|js|png|jpe?g|gif|ico|svg|woff2?)$", re.IGNORECASE)
_PROBE = re.compile(r"\.\./|/etc/passwd|wp-login|phpmyadmin|xmlrpc\.php|<script", re.IGNORECASE)
_ALIVE = re.compile(r"/(?:health|ping|alive|status)(?:check)?/?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A tag and when it applies; ``drops`` ends the line's way through the topology."""

    tag: str
    applies: Callable[[Access], bool]
    drops: bool = False


RULES: tuple[Rule, ...] = (
    Rule("alive", lambda access: bool(_ALIVE.search(access.path)), drops=True),
    Rule("server-error", lambda access: access.status >= 500),
    Rule("client-error", lambda access: 400 <= access.status < 500),
    Rule("unchanged", lambda access: access.status == 304),
    Rule("robot", lambda access: access.path == "/robots.txt" or bool(_ROBOT.search(access.agent))),
    Rule("static", lambda access: bool(_STATIC.search(access.path))),
    Rule("large", lambda access: access.size >= LARGE_BYTES),
    Rule("write", lambda access: access.method not in ("GET", "HEAD", "OPTIONS")),
    Rule("probe", lambda access: bool(_PROBE.search(f"{access.path}?{access.query}"))),
)


def tags_of(access: Access, rules: Sequence[Rule] = RULES) -> tuple[str, ...] | None:
    """Tags of the rules that apply, in their order; None where one of them drops the line."""
    applying = [rule for rule in rules if rule.applies(access)]
    return None if any(rule.drops for rule in applying) else tuple(rule.tag for rule in applying)
