"""What the runs of the overloaded Word Count say about the claims of T-Storm's figure 9."""

from __future__ import annotations

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measured, measurement
from storm_lab.papers.tstorm.relief_claims import (
    BEFORE_S,
    NOTICED,
    RELIEVED,
    SETTLED_S,
    ControlTables,
    after_ms,
    before_ms,
    first_schedule_nodes,
    nodes_at,
    noticed_s,
    quotients,
)

CLAIMS = ("tstorm-fig9-detect", "tstorm-fig9-recover")
METRICS = ("latency_10s", "failures_10s", "occupancy", "events", "control")
"""The metric tables that the notebook and `measure` read."""


def measure(tables: ControlTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 9."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    noticed, after = noticed_s(tables, RELIEVED, seeds), after_ms(tables, RELIEVED, seeds)
    drop = quotients(before_ms(tables, RELIEVED, seeds), after)
    return (
        # The number of windows is fitted on it.
        measurement("tstorm-fig9-detect", noticed, unit="s", how=NOTICED, basis=Basis.FITTED),
        Measurement(
            "tstorm-fig9-recover",
            (
                measured(drop, label="drop"),
                measured(after, label="level-after"),
                measured(nodes_at(tables, RELIEVED, seeds, noticed), label="nodes-before"),
                measured(first_schedule_nodes(tables, RELIEVED, seeds), label="nodes-after"),
            ),
            "mixed",
            f"mean processing time in the {BEFORE_S:g} s before the re-assignment over that from "
            f"{SETTLED_S:g} s on; nodes when the overload is noticed and in the first schedule made",
            # The rate of lines was chosen for it.
            Basis.FITTED,
        ),
    )
