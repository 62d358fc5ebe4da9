"""What the sources say about a run: whether its tuples are anchored, and what schedulers compete for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import stage_runs
from storm_lab.schedulers import make_scheduler
from storm_lab.tournament.objective import LATENCY, THROUGHPUT, is_anchored, objective_of
from tests.league.test_reader_site import TOPOLOGY, site

RATE = SourcePlan(SourceKind.RATE, rate_per_s=20.0)
UNANCHORED = dataclasses.replace(RATE, anchored=False)


def run_with(source: SourcePlan, ackers: int = 1) -> EmulationSpec:
    stage = site(dataclasses.replace(TOPOLOGY, ackers=ackers), rate=source)
    (spec,) = stage_runs(stage, [Entrant("even", make_scheduler("even"))], {"seeds": [1]})
    return spec.describe(spec)


@pytest.mark.parametrize(
    ("source", "ackers", "anchored"), [(RATE, 1, True), (RATE, 0, False), (UNANCHORED, 1, False)]
)
def test_tuples_are_anchored_by_a_message_id_and_an_acker(
    source: SourcePlan, ackers: int, anchored: bool
) -> None:
    assert is_anchored(run_with(source, ackers)) == anchored


SATURATED = SourcePlan(SourceKind.SATURATED)
SLEEPS = dataclasses.replace(SATURATED, sleep_ns=5_000_000)
TRACE = SourcePlan(SourceKind.TRACE, arrivals_ns=np.array([0, 5]), arrival_period_ns=10**9)
CALLERS = SourcePlan(SourceKind.CLOSED_LOOP, calls=4)


@pytest.mark.parametrize(
    ("source", "ackers", "objective"),
    [
        (RATE, 1, LATENCY),
        (TRACE, 1, LATENCY),
        (SLEEPS, 1, LATENCY),
        (SATURATED, 1, THROUGHPUT),
        (CALLERS, 1, THROUGHPUT),
        (RATE, 0, THROUGHPUT),
        (UNANCHORED, 1, THROUGHPUT),
    ],
)
def test_a_case_is_about_latency_if_its_sources_emit_the_same_under_every_scheduler(
    source: SourcePlan, ackers: int, objective: str
) -> None:
    assert objective_of(run_with(source, ackers)) == objective


@pytest.mark.parametrize(("second", "objective"), [(UNANCHORED, LATENCY), (SATURATED, THROUGHPUT)])
def test_one_elastic_source_makes_a_case_about_throughput_and_one_anchored_suffices(
    second: SourcePlan, objective: str
) -> None:
    run = run_with(RATE)
    (plan,) = run.topologies
    both = dataclasses.replace(plan, sources={**plan.sources, "second": second})
    assert objective_of(dataclasses.replace(run, topologies=(both,))) == objective
