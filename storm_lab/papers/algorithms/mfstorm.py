"""MF-Storm: the speed index of its machines, and the nodes used in its six scenarios (tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.readings import calculated
from storm_lab.papers.mfstorm.placement import scheduling_result
from storm_lab.papers.mfstorm.starter import EXCLAMATION, WORD_COUNT
from storm_lab.papers.mfstorm.testbed import DESKTOPS, SCENARIOS, Scenario
from storm_lab.schedulers.papers.mfstorm import processing_power

BASELINES = ("default", "isolation")

TOPOLOGIES = (WORD_COUNT, EXCLAMATION)
"""The tweet variants have the same shapes."""


def nodes_by_scenario(scheduler: str) -> dict[str, float | None]:
    """Number of nodes in each scenario; None where the topologies differ."""
    found: dict[str, float | None] = {}
    for name, scenario in SCENARIOS.items():
        results = [scheduling_result(scheduler, kind, scenario) for kind in TOPOLOGIES]
        counts = {len(result.assignment.nodes_used()) for result in results}
        found[name] = counts.pop() if len(counts) == 1 else None
    return found


def filling_order() -> tuple[str, ...]:
    """Nodes in the order in which MF-Storm starts to use them as more slots are requested, one at a time."""
    order: list[str] = []
    for required in range(1, len(DESKTOPS) + 1):
        placed = scheduling_result("mfstorm", WORD_COUNT, Scenario(slots=1, required=required)).assignment
        order += sorted(set(placed.nodes_used()) - set(order))
    return tuple(order)


def measure() -> tuple[Measurement, ...]:
    """Measure the claims of tables 3 and 4, and the claims on nodes that follow from them."""
    counts = {name: nodes_by_scenario(name) for name in ("mfstorm", *BASELINES)}
    ours, theirs = _sum(counts["mfstorm"]), [_sum(counts[name]) for name in BASELINES]
    saved = 100 * (1 - ours / (sum(theirs) / len(theirs)))
    third = 100 * (counts["mfstorm"]["S6"] or 0) / max(counts[name]["S6"] or 0 for name in BASELINES)
    powers = {d.name: processing_power(d.cores, d.ghz, d.factor) for d in DESKTOPS}
    computed = "cores x GHz x printed factor, as the policy computes it"
    order = {name: place for place, name in enumerate(filling_order(), start=1)}
    asked = "order in which nodes of one slot come into use as 1, 2, 3 and 4 slots are asked for"
    theirs_by = {f"{name}/{scenario}": n for name in BASELINES for scenario, n in counts[name].items()}
    used = "nodes used on the four desktops, the same for Word Count and Exclamation"
    against_mean = "100 * (1 - nodes of MF-Storm / mean nodes of the two baselines), sums over six scenarios"
    against_worse = "100 * nodes of MF-Storm / nodes of the worse baseline, scenario 6"
    return (
        calculated("mfstorm-table3-gflops", powers, how=computed),
        calculated("mfstorm-order-nodes", order, how=asked),
        calculated("mfstorm-nodes-mf", counts["mfstorm"], how=used),
        calculated("mfstorm-nodes-baseline", theirs_by, how=used),
        calculated("mfstorm-fewer-resources", saved, how=against_mean),
        calculated("mfstorm-s6-third", third, how=against_worse),
    )


def _sum(counts: Mapping[str, float | None]) -> float:
    return sum(nodes or 0.0 for nodes in counts.values())
