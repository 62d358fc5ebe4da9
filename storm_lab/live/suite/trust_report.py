"""The comparison as one document, for the report."""

from __future__ import annotations

from typing import Any

from storm_lab.live.suite.compare import FACTORS, GOALS, Trust, factors_of
from storm_lab.live.suite.misses import missed, why_missed
from storm_lab.live.suite.scene import Half
from storm_lab.live.suite.trust_tables import KINDS, RULE


def report_document(trust: Trust, machine: str) -> dict[str, Any]:
    """Return the comparison's document with medians of both halves, the rule, and reasons for misses.

    ``machine`` is a description of the machine in words.
    """
    return {
        **trust.document(),
        "machine": machine,
        "rule": RULE,
        "measures": sum(len(row.compared) for row in trust.recorded),
        "factors": [_factor(trust, name) for name in FACTORS],
        "machines": [
            {
                "machine": name,
                "predicted_scenes": len(trust.on(name).predicted),
                "orderings_wrong": len(trust.on(name).wrong),
                "factors": [_factor(trust.on(name), kind) for kind in FACTORS],
            }
            for name in trust.machines
        ],
        "misses": [
            {
                "scene": row.name,
                "machine": row.machine,
                "half": row.half.value,
                "measure": each.measure.value,
                "factor": each.factor,
                "why": why_missed(row, each),
            }
            for row, each in missed(trust.rows)
        ],
    }


def _factor(trust: Trust, name: str) -> dict[str, Any]:
    """Return a kind of measure with its goal, and the median and number of values of each half."""
    halves = {
        half.value: {"median": trust.factor(name, half), "values": len(factors_of(name, trust.half(half)))}
        for half in Half
    }
    return {"kind": KINDS[name], "goal": GOALS.get(name), **halves}
