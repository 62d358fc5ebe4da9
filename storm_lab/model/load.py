"""Measured load: what the monitors know of a running topology.

CPU in MHz (``cpu seconds per second * core clock``, T-Storm section IV-B); traffic in tuples per second from
one executor to another. Sparse: pairs without traffic are absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from storm_lab.model.executor import Executor


@dataclass(frozen=True, slots=True)
class MeasuredLoad:
    """Load of executors and the traffic between them, averaged as the monitor's moving average does."""

    cpu_mhz: Mapping[Executor, float] = field(default_factory=dict)
    traffic: Mapping[tuple[Executor, Executor], float] = field(default_factory=dict)
    node_mhz: Mapping[str, float] = field(default_factory=dict)
