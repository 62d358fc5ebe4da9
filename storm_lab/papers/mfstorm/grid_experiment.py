"""Experiments whose claims are all read from one topology's grid in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from storm_lab.experiments.experiment import Experiment, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.papers.mfstorm.grid import COMMON, cells
from storm_lab.papers.mfstorm.grid_readings import (
    CONSTANT_FROM_S,
    INDEPENDENT_RUNS,
    grid_claims,
    independent_runs_claim,
    s6_claim,
    since_submission,
)
from storm_lab.papers.mfstorm.placement import DEFAULT

SETTLED_VARIANTS = ("S6-mf-storm", "S3-isolation")
"""Runs for scenario 6 of MF-Storm and isolation; isolation's run of scenario 3 stands for scenario 6."""


def grid_experiment(
    slug: str,
    kind: str,
    own: tuple[Parameter, ...],
    *,
    title: str,
    figures: str,
    per_node: str,
    baselines: tuple[str, ...],
    further: Mapping[str, str] | None = None,
    settling: tuple[Settling, ...] = (),
) -> Experiment:
    """The grid of a topology, with its ``own`` parameters, and the claims of its figure ``per_node``.

    The paper averages over ``baselines``; ``further`` maps other claims on scenario 6 to their baselines.
    """
    by_default = f"mfstorm-{per_node}-s6-default"
    pairs = Settling((by_default,), variants=("S6-mf-storm", "S3-default"), reading=INDEPENDENT_RUNS)

    def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
        found = since_submission(tables, slug, kind, parameters.seeds)
        others = (s6_claim(claim, found, baseline) for claim, baseline in (further or {}).items())
        early = since_submission(tables, slug, kind, parameters.seeds, until_s=CONSTANT_FROM_S)
        return (
            *grid_claims(per_node, found, kind, baselines),
            *others,
            *independent_runs_claim(by_default, early, DEFAULT),
        )

    return Experiment(
        slug=slug,
        paper="MF-Storm",
        title=f"{title} under four schedulers in six scenarios",
        figure=figures,
        parameters=(*COMMON, *own),
        notebook="mfstorm/grid.ipynb",
        metrics=("component_throughput_60s", "steady"),
        runs=partial(cells, slug, kind),
        measure=measure,
        settling=(*settling, pairs),
    )
