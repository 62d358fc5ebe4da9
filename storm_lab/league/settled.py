"""When the steady state of a run begins: once its scheduler has settled, which is known only afterwards."""

from __future__ import annotations

from collections.abc import Sequence

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


def warm_up_ns(spec: EmulationSpec, decisions: Sequence[Decision]) -> int:
    """Return when the steady state of a run begins; ``decisions`` are those of the complete run."""
    least_ns = round(spec.warm_up_s * NS_PER_S)
    moved_ns = last_move(decisions)
    if spec.settle_s is None or moved_ns is None:
        return least_ns
    return max(least_ns, moved_ns + round(spec.settle_s * NS_PER_S))


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
