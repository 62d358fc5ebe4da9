"""The first look: one small experiment of every paper, with one seed, in minutes.

Verdicts of one seed are for the eye. They stay in the study's workspace; the report is made of the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping

from storm_lab.runs.study import Study

QUICK = "quick"
"""What it is called where an experiment's name may stand."""

_SMALL: Mapping[str, Mapping[str, object]] = {
    "tstorm-obs1-traffic": {"seeds": (1,), "bolt_ms_tried": (2.7,)},
    "rstorm-network-hierarchy": {"seeds": (1,)},
    "mfstorm-exclamation": {"seeds": (1,), "duration_s": 240.0},
    "nstorm-worst-case": {},
    "twitter-semantics": {"seeds": (1,)},
}
"""Experiment -> parameters that make it small."""


def quick_studies() -> tuple[Study, ...]:
    """One small study of every paper."""
    return tuple(Study.of(slug, given) for slug, given in _SMALL.items())
