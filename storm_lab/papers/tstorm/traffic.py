"""T-Storm's first observation (section III, figure 2): what spreading a chain over nodes costs."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import (
    Tables,
    beside,
    mean_over,
    measured,
    measurement,
    reductions,
    with_readings,
)
from storm_lab.papers.tstorm.chain import SHARED, describe, settled_from_s
from storm_lab.papers.tstorm.testbed import VERSION

SLUG = "tstorm-obs1-traffic"
PLACEMENTS = {"n1w1": 1, "n5w5": 5, "n5w10": 10}
"""Variant -> workers asked for, of which the default scheduler makes that placement on five nodes."""

PARAMETERS: tuple[Parameter, ...] = (
    *SHARED,
    Parameter(
        "bolt_ms_tried",
        (1.2, 1.7, 2.7, 3.2),
        "other CPU costs of a bolt, played with the first seed only",
        unit="ms",
        low=1.0,
        high=5.0,
    ),
    Parameter(
        "service_cv_tried",
        (0.5,),
        "other spreads of service times, played with every seed as another reading of what is not printed",
        low=0.0,
        high=1.5,
    ),
    Parameter("duration_s", 400.0, "virtual length of a run; not printed", unit="s", low=60, high=3600),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each placement with every seed, and with the first seed for each cost of a bolt that is tried."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    shared = parameters.only(("tuple_kb", "duration_s")).changed(spouts=1)
    main, cv = parameters.number("bolt_ms"), parameters.number("service_cv")
    settings = [
        *((placement, main, cv, seed) for placement in PLACEMENTS for seed in seeds),
        *(
            (placement, bolt_ms, cv, seeds[0])
            for bolt_ms in dict.fromkeys(parameters.numbers("bolt_ms_tried"))
            for placement in PLACEMENTS
            if bolt_ms != main
        ),
        *(
            (placement, main, spread, seed)
            for spread in dict.fromkeys(parameters.numbers("service_cv_tried"))
            for placement in PLACEMENTS
            for seed in seeds
            if spread != cv
        ),
    ]
    return tuple(
        RunSpec(
            experiment=SLUG,
            variant=spread_variant(placement, spread)
            if spread != cv
            else placement
            if bolt_ms == main
            else tried_variant(placement, bolt_ms),
            seed=seed,
            parameters=shared.changed(workers=PLACEMENTS[placement], bolt_ms=bolt_ms, service_cv=spread),
            describe=describe,
            storm_version=VERSION,
            sample_every=100,
        )
        for placement, bolt_ms, spread, seed in settings
    )


def tried_variant(placement: str, bolt_ms: float) -> str:
    """Variant of a run with another cost of a bolt."""
    return f"{placement}-b{bolt_ms:g}"


def spread_variant(placement: str, service_cv: float) -> str:
    """Variant of a run with another spread of service times."""
    return f"{placement}-cv{service_cv:g}"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 2, and what comes out for them with other spreads and costs of service."""
    readings = {
        spread_variant("", spread): f"service times of cv {spread:g}"
        for spread in dict.fromkeys(parameters.numbers("service_cv_tried"))
        if spread != parameters.number("service_cv")
    }
    first = parameters.changed(seeds=parameters.integers("seeds")[:1])
    return with_readings(_measure, tables, parameters, readings) + tuple(
        found
        for bolt_ms in dict.fromkeys(parameters.numbers("bolt_ms_tried"))
        for found in beside(
            _measure,
            tables,
            first,
            tried_variant("", bolt_ms),
            f"bolts of {bolt_ms:g} ms",
            claims=("tstorm-fig2-n5w5", "tstorm-fig2-n5w10"),
        )
    )


def _measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    start = settled_from_s(parameters)
    means = {
        placement: mean_over(tables.latency_10s, "processing_mean_ms", placement, seeds, from_s=start)
        for placement in PLACEMENTS
    }
    how = f"mean processing time of tuples that complete from {start:g} s on"
    changes = [
        measurement(
            f"tstorm-fig2-{placement}",
            [None if gain is None else -gain for gain in reductions(means[placement], means["n1w1"])],
            unit="%",
            how=f"100 * ({placement} / n1w1 - 1), {how}",
        )
        for placement in ("n5w5", "n5w10")
    ]
    values = tuple(measured(samples, label=placement) for placement, samples in means.items())
    return (*changes, Measurement("tstorm-fig2-order", values, "ms", how))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Observation 1: the cost of traffic between nodes and workers",
    figure="Figure 2",
    parameters=PARAMETERS,
    notebook="tstorm/traffic.ipynb",
    metrics=("latency_10s", "steady_traffic_share", "steady"),
    runs=runs,
    measure=measure,
)
