"""What is assumed where nobody says anything. Every use of one of these is told in the result."""

from __future__ import annotations

from dataclasses import dataclass, field

from storm_lab.workloads.importers.figures import Keys


@dataclass(frozen=True, slots=True)
class Defaults:
    """Figures for components of which nothing is known; an overlay file may give others.

    ``cost_us``: CPU of one call at the reference clock; a bolt that parses or counts something small.
    ``per_call``: tuples on each stream that somebody subscribed. ``bytes``: payload of a tuple, a short
    record. ``rate_per_s``: records a second of a spout, all its executors together. ``keys``: how a field
    that a grouping looks at is spread; the number is that of storm-loadgen.
    """

    cost_us: float = 100.0
    per_call: float = 1.0
    bytes: int = 100
    rate_per_s: float = 100.0
    keys: Keys = field(default_factory=lambda: Keys(2048))
