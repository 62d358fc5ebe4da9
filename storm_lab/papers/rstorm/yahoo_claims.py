"""What the runs of Yahoo's topologies say about the claims of R-Storm's figure 12."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measurement
from storm_lab.papers.rstorm.layouts import YAHOO
from storm_lab.papers.rstorm.sinks import SinkTables, gains, rates_of

CLAIMS = ("rstorm-fig12a-pageload", "rstorm-fig12b-processing")
METRICS = ("component_throughput_10s", "steady_cpu", "steady")
"""The metric tables that the notebook and `measure` read."""

PRINTED = {"page-load": 50.0, "processing": 47.0}
"""Gains that section 6.4 prints, in percent."""


def measure(tables: SinkTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The gains of the two panels."""
    seeds, from_s = tuple(dict.fromkeys(parameters.integers("seeds"))), parameters.number("from_s")
    window = f"mean tuples per 10 s at the output bolts from {from_s:g} s on"
    return tuple(
        measurement(
            claim,
            gains(
                *(rates_of(tables, topology, f"{topology}-{s}", seeds, from_s) for s in ("rstorm", "default"))
            ),
            unit="%",
            how=f"100 * (R-Storm / default - 1), {window}",
        )
        for claim, topology in zip(CLAIMS, YAHOO, strict=True)
    )
