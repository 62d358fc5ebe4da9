"""T-Storm relieves an overloaded Log Stream Processing (section V, figure 10)."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.papers.experiment import Experiment, RunSpec
from storm_lab.papers.parameter import Parameter, Parameters
from storm_lab.papers.tstorm.log_stream import WORKLOAD, run
from storm_lab.papers.tstorm.overload_logstream_claims import CLAIMS, measure
from storm_lab.papers.tstorm.overload_relief import STREAMS, emulate_log_stream, relief_settings
from storm_lab.papers.tstorm.testbed import COMMON, with_defaults

SLUG = "tstorm-overload-logstream"

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("gamma", 1.7, "consolidation factor; not printed", low=1.0, high=1.7),
    Parameter(
        "gammas_tried",
        (1.2, 1.4),
        "other consolidation factors, played with the first seed only",
        low=1.0,
        high=1.7,
    ),
    STREAMS,
    *with_defaults(COMMON, duration_s=600.0),
    *WORKLOAD,
)
"""A stream brings figure 8's rate: two of them are more than one node can do."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first seed with others.

    Raises:
        UserError: the log cannot be read.
    """
    return tuple(
        replace(
            run(variant, seed, values, parameters.text("log")),
            experiment=SLUG,
            emulate=emulate_log_stream,
        )
        for variant, seed, values in relief_settings(PARAMETERS, parameters, file="log")
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Log Stream Processing in one worker: T-Storm notices the overload and spreads it",
    figure="Figure 10",
    parameters=PARAMETERS,
    claims=CLAIMS,
    notebook="tstorm/overload_logstream.ipynb",
    runs=runs,
    measure=measure,
)
