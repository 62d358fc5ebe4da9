"""What a re-assignment costs under each hand-over: tuples lost, processing time above the level before."""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measured, measurement, of_run, reductions
from storm_lab.papers.tstorm.gamma_runs import GENERATED_S, RESTABLE_S, processing_ms
from storm_lab.papers.tstorm.testbed import tstorm_variant

GAMMA = 1.8
SMOOTH = tstorm_variant(GAMMA)
"""Figure 6's own run."""
PLAIN = "plain"
BY_SLOT = "no-dispatcher"
AT_ONCE = ("no-kill-delay", "no-spout-delay")
DISPATCHED = "dispatcher-costed"

AFTER_S = 120.0
"""The re-assignment is followed for so long: all its delays and two message timeouts."""
BEFORE_S = 60.0
_BIN_S = 10.0

CLAIMS = ("tstorm-smooth-reassign", "tstorm-dispatcher-overhead")
METRICS = ("latency_10s", "failures_10s", "spikes", "events")
"""The metric tables that the notebook and `measure` read."""


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Both claims of section IV-D."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    costed, usual = (processing_ms(tables, variant, seeds, RESTABLE_S) for variant in (DISPATCHED, SMOOTH))
    return (
        Measurement(
            "tstorm-smooth-reassign",
            tuple(
                measured(read(tables, variant, seeds), label=f"{label}/{name}")
                for label, read in (("lost", lost), ("excess", excess_ms_s))
                for name, variant in (("smooth", SMOOTH), ("plain", PLAIN))
            ),
            "mixed",
            f"from the re-assignment to {AFTER_S:g} s after it: root tuples that fail or are lost; sum over "
            f"bins of {_BIN_S:g} s of the processing time above that of the {BEFORE_S:g} s before, ms * s",
        ),
        measurement(
            "tstorm-dispatcher-overhead",
            [None if gain is None else -gain for gain in reductions(costed, usual)],
            unit="%",
            how="100 * (with / without - 1), mean processing time of tuples that complete from "
            f"{RESTABLE_S:g} s on, with and without the dispatcher's look-up and the id's bytes",
        ),
    )


def moved_s(tables: Tables, variant: str, seed: int) -> float | None:
    """When the first generated schedule is put into effect; None where there is none."""
    rows = of_run(tables.events, variant, seed)
    times = rows[(rows["kind"] == "re-assignment") & (rows["time_s"] > GENERATED_S)]["time_s"]
    return float(times.min()) if len(times) else None


def lost(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Root tuples that fail or are lost in the time of the re-assignment."""
    found: list[float | None] = []
    for seed in seeds:
        at = moved_s(tables, variant, seed)
        rows = of_run(tables.failures_10s, variant, seed)
        if at is None:
            found.append(None)
            continue
        inside = rows[(rows["t_s"] + _BIN_S > at) & (rows["t_s"] < at + AFTER_S)]
        found.append(float(inside["failed"].sum() + inside["lost"].sum()))
    return found


def excess_ms_s(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Area between the processing time and its level before, over the time of the re-assignment."""
    found: list[float | None] = []
    for seed in seeds:
        at = moved_s(tables, variant, seed)
        if at is None:
            found.append(None)
            continue
        (level,) = processing_ms(tables, variant, (seed,), at - BEFORE_S, at)
        rows = of_run(tables.latency_10s, variant, seed)
        inside = rows[(rows["t_s"] + _BIN_S > at) & (rows["t_s"] < at + AFTER_S)][
            "processing_mean_ms"
        ].dropna()
        found.append(None if level is None else float((inside - level).sum() * _BIN_S))
    return found
