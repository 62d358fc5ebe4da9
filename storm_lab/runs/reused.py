"""Telling the user what was not played again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from storm_lab.runs.execute import PlayedRun


def reused_by_variant(played: Sequence[PlayedRun]) -> str:
    """`reused_line`, with the variants and how many runs of each lay there already."""
    runs = Counter(run.spec.variant for run in played)
    there = Counter(run.spec.variant for run in played if run.reused)
    line = reused_line(there.total(), runs.total())
    named = [f"{name} {there[name]} of {count}" for name, count in runs.items()]
    return f"{line}: {', '.join(named)}" if there else line


def reused_line(reused: int, runs: int) -> str:
    """How many of some runs lay there already."""
    return f"{reused} of {runs} runs were there already (same code, same inputs)"
