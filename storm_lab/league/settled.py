"""A run that is measured once its scheduler has settled: when that is, is known when it has been played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S

SETTLE_S = 100.0
"""Time after a re-assignment that no longer counts to it when schedulers are compared.

The hand-over takes half of it, and what new worker processes cost at first decays with their calls
(`CostModel.warm_up_calls`).
"""

LEAST_WINDOW_S = 60.0
"""Shortest steady state that schedulers are compared by."""


@dataclass(frozen=True, slots=True)
class SettledRun:
    """A description whose steady state begins ``settle_s`` after the last re-assignment at the earliest.

    Of a run that never settles, that is past its end. None: where the description says, whatever moves.
    """

    spec: EmulationSpec
    settle_s: float | None = SETTLE_S

    def warm_up_ns(self, decisions: Sequence[Decision]) -> int:
        """Where the steady state begins; ``decisions`` are those of the whole run."""
        least_ns = round(self.spec.warm_up_s * NS_PER_S)
        moved_ns = last_move(decisions)
        if self.settle_s is None or moved_ns is None:
            return least_ns
        return max(least_ns, moved_ns + round(self.settle_s * NS_PER_S))


def last_move(decisions: Sequence[Decision]) -> int | None:
    """When something last moved, in nanoseconds; None: never.

    That is when an executor of a topology that had an assignment was given another slot, or spouts were
    switched off for a rebalance.
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
