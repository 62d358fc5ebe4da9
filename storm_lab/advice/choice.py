"""The settings that advice chooses from, with what was measured of each, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storm_lab.experiments.measurement import half_width

KEEPS_UP = 0.97
"""Share of the offered records that a setting completes if it keeps up; some are in flight at the end."""

HEADROOM_FACTOR = 1.25
"""Multiple of the load that must be kept up with for a fit; without it, queues grow with every burst."""

CLOCK_MS = 1.0
"""Step of the clocks with which Storm measures latencies; a smaller difference of means has no meaning."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the half width of its 95 % interval over seeds; NaN with one seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return Student's interval of the values that are numbers."""
        found = [float(value) for value in values if not np.isnan(value)]
        mean = float(np.mean(found)) if found else math.nan
        return cls(mean, half_width(found) if len(found) > 1 else math.nan)

    def text(self, unit: str = "") -> str:
        """Return mean, half width and unit as text."""
        if np.isnan(self.mean):
            return "not measured"
        wide = "" if np.isnan(self.half) else f" ± {self.half:.2g}"
        return f"{self.mean:.4g}{wide} {unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Measured:
    """One setting under one load: offered and completed records per second, latency, and utilisation.

    ``busiest`` names the part that is busy for the largest share of its time: a node's cores, an executor, or
    another thread. ``utilisation`` is that share. ``busiest`` is empty if nothing ran. ``measured_s`` is the
    virtual time over which a run was measured. ``unsettled`` counts the seeds with which the policy
    re-assigned until the end, so that there was nothing to measure. ``has_room`` says whether
    `HEADROOM_FACTOR` times the load is kept up with, too; None if not played.
    """

    offered_per_s: float
    acked_per_s: Interval
    latency_ms: Interval
    p99_ms: Interval
    failed_per_s: float
    nodes: float
    busiest: str
    utilisation: float
    measured_s: float
    unsettled: int = 0
    has_room: bool | None = None

    @property
    def keeps_up(self) -> bool:
        """Return whether the policy settled with every seed, and the mean over them completes the load.

        A record more or less may fall into the measured time, which counts if there are only few.
        """
        least_per_s = KEEPS_UP * self.offered_per_s - 1.0 / self.measured_s
        return self.unsettled == 0 and self.acked_per_s.mean >= least_per_s

    @property
    def fits(self) -> bool:
        """Return whether the setting keeps up with its load and with `HEADROOM_FACTOR` times its load."""
        return self.keeps_up and self.has_room is True


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy with a number of workers, measured at the present load."""

    policy: str
    workers: int
    measured: Measured


def best_of(choices: Sequence[Choice]) -> Choice:
    """Return the advised choice; if nothing keeps up, the one that completes most.

    Of the choices that fit, take the one with the least latency. Of those that are less than a millisecond
    slower, or whose intervals touch its interval, take the one on fewest nodes, then with fewest workers.
    """
    able = [choice for choice in choices if choice.measured.fits] or [
        choice for choice in choices if choice.measured.keeps_up
    ]
    if not able:
        return max(choices, key=_completed)
    timed = [choice for choice in able if not np.isnan(choice.measured.latency_ms.mean)]
    alike = able
    if timed:
        quickest = min((choice.measured.latency_ms for choice in timed), key=lambda latency: latency.mean)
        alike = [choice for choice in timed if _is_alike(choice.measured.latency_ms, quickest)]
    return min(alike, key=lambda c: (c.measured.nodes, c.workers, c.measured.latency_ms.mean, c.policy))


def _completed(choice: Choice) -> tuple[bool, float]:
    measured = choice.measured
    return measured.unsettled == 0, float(np.nan_to_num(measured.acked_per_s.mean, nan=-1.0))


def _is_alike(latency: Interval, quickest: Interval) -> bool:
    slower_ms = latency.mean - quickest.mean
    return slower_ms < CLOCK_MS or slower_ms <= float(np.nansum([latency.half, quickest.half]))
