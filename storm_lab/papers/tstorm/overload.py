"""T-Storm's second observation (section III, figure 3): five spout executors in front of single bolts."""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.tstorm.chain import SHARED, describe
from storm_lab.papers.tstorm.overload_claims import (
    CLAIMS,
    LIGHT,
    METRICS,
    OVERLOADED,
    OVERLOADED_APART,
    measure,
    tried_variant,
)
from storm_lab.papers.tstorm.testbed import VERSION

SLUG = "tstorm-obs2-overload"

PARAMETERS: tuple[Parameter, ...] = (
    *SHARED,
    Parameter(
        "bolt_ms_tried",
        (1.2, 3.0, 4.0, 5.0),
        "other CPU costs of a bolt, played with the first seed only",
        unit="ms",
        low=1.0,
        high=5.0,
    ),
    Parameter("duration_s", 300.0, "virtual length of a run; not printed", unit="s", low=60, high=1200),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """One and five spout executors in one worker with every seed; five on five nodes and with other bolts."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    shared = parameters.only(("tuple_kb", "duration_s"))
    main = parameters.number("bolt_ms")
    settings = [
        *((LIGHT, 1, 1, main, seed) for seed in seeds),
        *((OVERLOADED, 5, 1, main, seed) for seed in seeds),
        *((OVERLOADED_APART, 5, 5, main, seed) for seed in seeds),
        *(
            (tried_variant(bolt_ms), 5, 1, bolt_ms, seeds[0])
            for bolt_ms in dict.fromkeys(parameters.numbers("bolt_ms_tried"))
            if bolt_ms != main
        ),
    ]
    return tuple(
        RunSpec(
            experiment=SLUG,
            variant=variant,
            seed=seed,
            parameters=shared.changed(spouts=spouts, workers=workers, bolt_ms=bolt_ms),
            describe=describe,
            storm_version=VERSION,
            sample_every=100,
        )
        for variant, spouts, workers, bolt_ms, seed in settings
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Observation 2: more spout executors than the bolts can take",
    figure="Figure 3",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="tstorm/overload.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
