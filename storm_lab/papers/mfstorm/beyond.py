"""Beyond MF-Storm's experiments: the same grid under load, and with topologies that branch.

In the paper the spouts sleep most of the time, so no placement ever lacks resources. Here they do not sleep,
debug logging is off and the bolts have work to do, so nodes, processes and network limit throughput. There
are no claims, because the paper says nothing about it.
"""

from __future__ import annotations

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter, with_defaults
from storm_lab.papers.mfstorm.grid import COMMON, EXCLAIM_US, SPLIT_US, cells, sleep_parameter
from storm_lab.papers.mfstorm.placement import ISOLATION, SCHEDULERS
from storm_lab.papers.mfstorm.starter import DIAMOND, EXCLAMATION, STAR, WORD_COUNT

SLUG = "mfstorm-beyond"

KINDS = (WORD_COUNT, EXCLAMATION, DIAMOND, STAR)
"""Topologies, from chains to graphs with branches. The tweet variants have the shapes of the first two."""

_CHANGED: tuple[Parameter, ...] = (
    seed_parameter(
        "one emulation of every cell per seed, which also decides the hosts of the isolation scheduler",
        (1, 2, 3),
    ),
    Parameter(
        "fixed_seeds",
        1,
        "number of seeds for the schedulers without randomness: for them a seed changes only the order of "
        "words, and throughput by a few per cent",
        within=(1, 100),
    ),
    Parameter(
        "duration_s",
        70.0,
        "virtual length of a run; receive queues are full within half a minute, then nothing changes",
        within=(30, 3600, "s"),
    ),
    Parameter("warm_up_s", 45.0, "time from which readings count", within=(20, 1800, "s")),
    Parameter(
        "previous_s",
        40.0,
        "virtual length of the previous run, as in the paper's grid",
        within=(40, 3600, "s"),
    ),
    Parameter("debug", False, "workers log every tuple; a worker's log then limits its throughput"),
)

PARAMETERS: tuple[Parameter, ...] = (
    *_CHANGED,
    *(parameter for parameter in COMMON if parameter.name not in {changed.name for changed in _CHANGED}),
    sleep_parameter(0.0, "; 0: none"),
    *with_defaults((SPLIT_US, EXCLAIM_US), split_us=3000.0, exclaim_us=300.0),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The grids of the four topologies."""
    fewer = parameters.changed(seeds=parameters.seeds[: parameters.integer("fixed_seeds")])
    made: list[RunSpec] = []
    for kind in KINDS:
        # Counters yield the throughput, so a few logged executions are enough.
        for scheduler in SCHEDULERS:
            made += cells(
                SLUG,
                kind,
                parameters if scheduler == ISOLATION else fewer,
                schedulers=(scheduler,),
                prefix=f"{kind}-",
                sample_every=1000,
            )
    return tuple(made)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="MF-Storm",
    title="Beyond the paper: load, branches, and the distance from the optimum",
    figure="not in the paper",
    parameters=PARAMETERS,
    notebook="mfstorm/beyond.ipynb",
    metrics=("executor_traffic", "steady_traffic_share", "steady"),
    runs=runs,
)
