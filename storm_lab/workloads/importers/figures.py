"""What is known about a component in figures: cost of a call, emits, and distribution of keys.

Formats without code (Flux, storm-loadgen, pages of Storm's UI) state at most this much. Costs hold at the
reference clock of workload traces (`storm_lab.workloads.build.REFERENCE_MHZ`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Spread:
    """A time in microseconds that varies from call to call: normal, clipped at ``low`` and ``high``.

    storm-loadgen describes rates and latencies in this way. A ``stddev`` of 0 means a constant.
    """

    mean: float
    stddev: float = 0.0
    low: float = 0.0
    high: float = math.inf

    def scaled(self, factor: float) -> Spread:
        """Return the same times on a clock that is slower by ``factor``."""
        return Spread(self.mean * factor, self.stddev * factor, self.low * factor, self.high * factor)

    def as_dict(self) -> dict[str, float]:
        """Return the numbers under the names that files use; without ``max`` if there is none."""
        entry = {"mean": self.mean, "stddev": self.stddev, "min": self.low}
        return entry if math.isinf(self.high) else {**entry, "max": self.high}

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if self.stddev == 0 else f"{self.mean:.6g} (stddev {self.stddev:.6g})"


class KeyShape(StrEnum):
    """How often each key of a field occurs."""

    UNIFORM = "uniform"
    """All keys equally often."""
    ZIPF = "zipf"
    """The key of rank r occurs in proportion to r to the power of minus the exponent."""
    HALF_NORMAL = "half-normal"
    """storm-loadgen's skewed keys: the rank is half-normal, with a fifth of the number of keys as scale."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The distribution of a field's values, for a field that a grouping uses."""

    distinct: int
    shape: KeyShape = KeyShape.UNIFORM
    exponent: float = 1.0


@dataclass(frozen=True, slots=True)
class Emits:
    """What a component emits on one of its streams.

    Each call of its user code emits ``per_call`` tuples on average, each with ``bytes`` of payload. ``keys``
    are by field, for the fields that groupings use.
    """

    per_call: float
    bytes: int
    keys: Mapping[str, Keys] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """A component's behaviour.

    ``cost_us`` is the CPU time of one call, and ``input_cost_us`` that of executing a tuple of a (component,
    stream) where it differs. ``server`` names an external server that every call waits for, and ``server_us``
    is the service time that the call asks of it. ``emits`` holds every declared stream. ``tick_cost_us`` and
    ``tick_emits`` (tuples by stream) describe a tick tuple.
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
    """Figures for components about which nothing is known; an overlay file may give others.

    ``cost_us``: CPU time of one call at the reference clock, as of a bolt that parses or counts something
    small. ``per_call``: tuples on each stream that has a subscriber. ``bytes``: payload of a tuple, a short
    record. ``rate_per_s``: records per second of all executors of a spout together. ``keys``: distribution of
    a field that a grouping uses; the number of keys is that of storm-loadgen.
    """

    cost_us: float = 100.0
    per_call: float = 1.0
    bytes: int = 100
    rate_per_s: float = 100.0
    keys: Keys = Keys(2048)
