"""The auto-tuner of max spout pending (Storm@Twitter section 3.3.1), which adapts the limit to the progress.

The limit counts the root tuples of a spout task that are not yet acked. Progress is what the spout has safely
processed since the last call: for a Kafka-like source the advance of the committed offset, for a Kestrel-like
one the number of acks. The state machine, with the paper's numbers (25 % steps, 5 quiet calls before a
probe):

==============  ========================  =====================================================
last action     progress against before   action
==============  ========================  =====================================================
none, first     any                       increase
none            less / more               decrease / increase
none            similar                   none; after five of them increase, to probe
increase        less / more               decrease / increase
increase        similar                   none, and back to the value before the increase
decrease        more                      increase
decrease        similar or less           none
==============  ========================  =====================================================

The paper does not say what "similar" means and gives neither the first nor the least value, so these are
parameters. Values are rounded up when they rise and down when they fall. The count of quiet calls restarts
whenever the action is not "none", and after a probe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.model.checks import check_number, check_whole
from storm_lab.model.topology import MIN_TIME_S

INCREASE_FACTOR = 1.25
MIN_DECREASE = 0.25
CALLS_BEFORE_PROBE = 5


class TunerAction(Enum):
    """The tuner's action at its last call."""

    NO_CHANGE = "no change"
    INCREASE = "increase"
    DECREASE = "decrease"


@dataclass(frozen=True, slots=True)
class TunerSettings:
    """Parameters that the paper leaves open.

    ``first`` is the limit at the start. ``least`` is its lower bound; without it, a total loss of progress
    would close the spout for good. Progress that differs from the last one by at most the part ``similar``
    counts as similar.
    """

    first: int = 100
    least: int = 1
    similar: float = 0.05

    def __post_init__(self) -> None:
        check_whole("a tuner", "first", self.first, low=1, high=2**31 - 1)
        check_whole("a tuner", "least", self.least, low=1, high=self.first)
        check_number("a tuner", "similar", self.similar, high=0.99)


class PendingTuner:
    """The state machine: call :meth:`auto_tune` once per period and :meth:`get` for the limit."""

    def __init__(self, settings: TunerSettings | None = None) -> None:
        self._settings = settings or TunerSettings()
        self._value = self._settings.first
        self._before_increase = self._value
        self._last_action = TunerAction.NO_CHANGE
        self._last_delta: float | None = None
        self._unchanged_calls = 0

    def get(self) -> int:
        """Return the limit, in root tuples per spout task."""
        return self._value

    def auto_tune(self, delta_progress: float) -> TunerAction:
        """Set the limit by the progress since the last call and return the action."""
        action = self._decide(delta_progress)
        if action is TunerAction.INCREASE:
            self._before_increase = self._value
            self._value = math.ceil(self._value * INCREASE_FACTOR)
        elif action is TunerAction.DECREASE:
            last = self._last_delta or 0.0
            factor = min(1 - MIN_DECREASE, delta_progress / last if last > 0 else 1.0)
            self._value = max(self._settings.least, math.floor(self._value * factor))
        elif self._last_action is TunerAction.INCREASE:
            self._value = self._before_increase
        if action is not TunerAction.NO_CHANGE:
            self._unchanged_calls = 0
        self._last_action = action
        self._last_delta = delta_progress
        return action

    def _decide(self, delta: float) -> TunerAction:
        if self._last_delta is None:
            return TunerAction.INCREASE
        margin = self._settings.similar * self._last_delta
        more, less = delta > self._last_delta + margin, delta < self._last_delta - margin
        if self._last_action is TunerAction.DECREASE:
            return TunerAction.INCREASE if more else TunerAction.NO_CHANGE
        if less:
            return TunerAction.DECREASE
        if more:
            return TunerAction.INCREASE
        if self._last_action is TunerAction.NO_CHANGE:
            self._unchanged_calls += 1
            if self._unchanged_calls == CALLS_BEFORE_PROBE:
                return TunerAction.INCREASE
        return TunerAction.NO_CHANGE


class ProgressMetric(Protocol):
    """Progress of a topology's spouts, as a number that never decreases."""

    def reader(self, control: ControlPlane, topology_id: str) -> Callable[[], float]:
        """Return a function that reads the total progress so far."""


@dataclass(frozen=True, slots=True)
class AckedRoots:
    """Progress of a Kestrel-like source: root tuples acked since the start of the run."""

    def reader(self, control: ControlPlane, topology_id: str) -> Callable[[], float]:
        """Return a function that reads the data plane's count."""
        return lambda: control.plane.now().acked_roots(topology_id)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Progress of a Kafka-like source: lines before the offsets stored by its spouts, over all partitions.

    It changes only at the spouts' checkpoints.
    """

    def reader(self, control: ControlPlane, topology_id: str) -> Callable[[], float]:
        """Return a function that reads the data plane's count; `UserError` if the topology reads no log."""
        control.plane.now().committed_lines(topology_id)
        return lambda: control.plane.now().committed_lines(topology_id)


@dataclass(frozen=True, slots=True)
class PendingTuning:
    """Tune the max spout pending of one topology (by id) while it runs.

    ``period_s`` is the time between two calls of the tuner (120 s in the paper); ``progress`` is the measure
    of progress.
    """

    topology: str
    period_s: float = 120.0
    settings: TunerSettings = field(default_factory=TunerSettings)
    progress: ProgressMetric = field(default_factory=AckedRoots)

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Set the first limit and schedule the calls of the tuner; `UserError` for a period out of range."""
        check_number("a tuner", "period_s", self.period_s, low=MIN_TIME_S, unit="s")
        tuner = PendingTuner(self.settings)
        read = self.progress.reader(control, self.topology)
        seen = 0.0

        def tune() -> None:
            nonlocal seen
            total = read()
            before = tuner.get()
            action = tuner.auto_tune(total - seen)
            why = f"progress {total - seen:g}"
            control.log.note("tuner", action.value, self.topology, why, before=before, limit=tuner.get())
            seen = total
            control.plane.now().set_max_pending(self.topology, tuner.get())

        control.plane.now().set_max_pending(self.topology, tuner.get())
        control.clock.every(ns(self.period_s), Rank.MONITOR, "tuner", tune)
