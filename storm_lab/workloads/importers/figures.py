"""What is known of a component in figures: what a call costs, what it emits, and how its keys are spread.

Formats that hold no code (Flux, storm-loadgen, pages of Storm's UI) say at most this much. Costs hold at the
reference clock of workload traces (`storm_lab.workloads.build.REFERENCE_MHZ`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Spread:
    """A time in microseconds that varies from call to call: normal, cut off at ``low`` and ``high``.

    storm-loadgen describes rates and latencies so. A ``stddev`` of 0 is a constant.
    """

    mean: float
    stddev: float = 0.0
    low: float = 0.0
    high: float = math.inf

    def scaled(self, factor: float) -> Spread:
        """The same on a clock that is slower by ``factor``."""
        return Spread(self.mean * factor, self.stddev * factor, self.low * factor, self.high * factor)

    def written(self) -> dict[str, float]:
        """By the names that files give its numbers; without ``max`` where there is none."""
        entry = {"mean": self.mean, "stddev": self.stddev, "min": self.low}
        return entry if math.isinf(self.high) else {**entry, "max": self.high}

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if self.stddev == 0 else f"{self.mean:.6g} (stddev {self.stddev:.6g})"


class KeyShape(StrEnum):
    """How often each key of a field occurs."""

    UNIFORM = "uniform"
    """All alike."""
    ZIPF = "zipf"
    """The key of rank r in proportion to r to the power of minus the exponent."""
    HALF_NORMAL = "half-normal"
    """storm-loadgen's skewed keys: the rank is half-normal, with a fifth of the number of keys as scale."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The values of a field that a grouping looks at."""

    distinct: int
    shape: KeyShape = KeyShape.UNIFORM
    exponent: float = 1.0


@dataclass(frozen=True, slots=True)
class Emits:
    """What a component emits on one of its streams.

    ``per_call`` tuples on the average for each call of its user code, of ``bytes`` of payload each; ``keys``
    by field, for the fields that groupings look at.
    """

    per_call: float
    bytes: int
    keys: Mapping[str, Keys] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """A component's behaviour.

    ``cost_us`` is the CPU of one call, and ``input_cost_us`` that of executing a tuple of a (component,
    stream) where it differs. ``server`` names an external server that every call waits for, ``server_us`` is
    the service time it asks of it. ``emits`` holds every declared stream. ``tick_cost_us`` and
    ``tick_emits`` (tuples by stream) tell what a tick tuple does.
    """

    cost_us: Spread
    emits: Mapping[str, Emits] = field(default_factory=dict)
    input_cost_us: Mapping[tuple[str, str], Spread] = field(default_factory=dict)
    server: str = ""
    server_us: float = 0.0
    tick_cost_us: float = 0.0
    tick_emits: Mapping[str, float] = field(default_factory=dict)


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
