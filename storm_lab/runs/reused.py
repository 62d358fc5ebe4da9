"""Telling the user what was not played again."""

from __future__ import annotations


def reused_line(reused: int, runs: int) -> str:
    """How many of some runs lay there already."""
    return f"{reused} of {runs} runs were there already (same code, same inputs)"
