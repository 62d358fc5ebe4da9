"""What the runs of the overloaded Log Stream Processing say about the claims of T-Storm's figure 10."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measurement
from storm_lab.papers.tstorm.relief_claims import (
    BEFORE_S,
    NOTICED,
    RELIEVED,
    SETTLED_S,
    ControlTables,
    after_ms,
    before_ms,
    first_schedule_nodes,
    noticed_s,
    quotients,
)

CLAIMS = ("tstorm-fig10-detect", "tstorm-fig10-nodes", "tstorm-fig10-recover")
METRICS = ("latency_10s", "failures_10s", "occupancy", "events", "control")
"""The metric tables that the notebook and `measure` read."""


def rule_variant(windows: int) -> str:
    """Variant of a run in which so many windows make an overload."""
    return f"{RELIEVED}-w{windows}"


def rate_variant(lines_per_s: float) -> str:
    """Variant of a run with other lines per second and stream."""
    return f"{RELIEVED}-r{lines_per_s:g}"


def measure(tables: ControlTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 10."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    drop = quotients(before_ms(tables, RELIEVED, seeds), after_ms(tables, RELIEVED, seeds))
    return (
        measurement("tstorm-fig10-detect", noticed_s(tables, RELIEVED, seeds), unit="s", how=NOTICED),
        measurement(
            "tstorm-fig10-nodes",
            first_schedule_nodes(tables, RELIEVED, seeds),
            unit="nodes",
            how="nodes of the first schedule that the generator makes",
        ),
        measurement(
            "tstorm-fig10-recover",
            drop,
            unit="ratio",
            how=f"mean processing time in the {BEFORE_S:g} s before the re-assignment over that from "
            f"{SETTLED_S:g} s on",
        ),
    )
