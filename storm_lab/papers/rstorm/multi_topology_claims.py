"""What the runs of both Yahoo topologies on one cluster say about the claims of R-Storm's figure 13."""

from __future__ import annotations

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measured, measurement
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, SCHEDULERS
from storm_lab.papers.rstorm.layouts import YAHOO
from storm_lab.papers.rstorm.sinks import UNIT, SinkTables, gains, rates_of

CLAIMS = (
    "rstorm-fig13-pl-rstorm",
    "rstorm-fig13-pl-default",
    "rstorm-fig13-pl-gain",
    "rstorm-fig13-pr-rstorm",
    "rstorm-fig13-pr-default",
    "rstorm-fig13-pr-orders",
    "rstorm-fig13-both-higher",
)
METRICS = ("component_throughput_10s", "stays")
"""The metric tables that the notebook and `measure` read."""

PRINTED = {
    ("page-load", RSTORM): 25496.0,
    ("page-load", DEFAULT): 16695.0,
    ("processing", RSTORM): 67115.0,
}
"""Tuples per 10 s that section 6.5 prints; of Processing under default it says 10, per second."""

_PAGE_LOAD, _PROCESSING = YAHOO


def measure(tables: SinkTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 13."""
    seeds, from_s = tuple(dict.fromkeys(parameters.integers("seeds"))), parameters.number("from_s")
    found = {
        (topology, scheduler): rates_of(tables, topology, scheduler, seeds, from_s)
        for topology in YAHOO
        for scheduler in SCHEDULERS
    }
    how = f"mean tuples per 10 s at the output bolts from {from_s:g} s on"
    stopped = found[_PROCESSING, DEFAULT]
    times = [
        new / old if new is not None and old else None
        for new, old in zip(found[_PROCESSING, RSTORM], stopped, strict=True)
    ]
    absolute = {
        "rstorm-fig13-pl-rstorm": (_PAGE_LOAD, RSTORM),
        "rstorm-fig13-pl-default": (_PAGE_LOAD, DEFAULT),
        "rstorm-fig13-pr-rstorm": (_PROCESSING, RSTORM),
    }
    return (
        *(measurement(claim, found[key], unit=UNIT, how=how) for claim, key in absolute.items()),
        measurement(
            "rstorm-fig13-pl-gain",
            gains(found[_PAGE_LOAD, RSTORM], found[_PAGE_LOAD, DEFAULT]),
            unit="%",
            how=f"100 * (R-Storm / default - 1), {how}",
        ),
        measurement(
            "rstorm-fig13-pr-default",
            [None if rate is None else rate / 10.0 for rate in stopped],
            unit="tuples/s",
            how=f"a tenth of the {how}",
            # The default's single worker for Processing is chosen because it nearly stops then.
            basis=Basis.FITTED,
        ),
        measurement(
            "rstorm-fig13-pr-orders",
            times,
            unit="ratio",
            how=f"R-Storm / default, {how}",
            basis=Basis.FITTED,
        ),
        Measurement(
            "rstorm-fig13-both-higher",
            tuple(
                measured(found[topology, scheduler], label=f"{topology}/{label}")
                for topology in YAHOO
                for scheduler, label in ((DEFAULT, "default"), (RSTORM, "r-storm"))
            ),
            UNIT,
            how,
        ),
    )
