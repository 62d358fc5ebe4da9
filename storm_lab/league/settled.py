"""Runs that are measured once their scheduler has settled, which is known only after the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S

SETTLE_S = 100.0
"""Time after a re-assignment that is left out when schedulers are compared.

The hand-over takes half of it. The initial extra cost of new worker processes decays with their calls
(`CostModel.warm_up_calls`).
"""

MIN_WINDOW_S = 60.0
"""Shortest steady state by which schedulers are compared."""


@dataclass(frozen=True, slots=True)
class SettledRun:
    """A run description whose steady state begins at least ``settle_s`` after the last re-assignment.

    If a run never settles, its steady state begins after its end. With ``settle_s`` None, the steady state
    begins where the description says, regardless of re-assignments.
    """

    spec: EmulationSpec
    settle_s: float | None = SETTLE_S

    def warm_up_ns(self, decisions: Sequence[Decision]) -> int:
        """Return when the steady state begins; ``decisions`` are those of the complete run."""
        least_ns = round(self.spec.warm_up_s * NS_PER_S)
        moved_ns = last_move(decisions)
        if self.settle_s is None or moved_ns is None:
            return least_ns
        return max(least_ns, moved_ns + round(self.settle_s * NS_PER_S))


def last_move(decisions: Sequence[Decision]) -> int | None:
    """Return the time of the last move in nanoseconds, or None if there was none.

    A move is a new slot for an executor of a topology that already had an assignment, or a rebalance, which
    switches off the spouts.
    """
    assigned: set[str] = set()
    last = None
    for entry in decisions:
        if entry.action == "rebalance":
            last = entry.time_ns
        elif entry.action == "assign":
            if entry.subject in assigned and entry.detail.get("moved"):
                last = entry.time_ns
            assigned.add(entry.subject)
    return last
