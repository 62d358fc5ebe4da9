"""What the sources say about a run: whether its tuples are anchored."""

from __future__ import annotations

import dataclasses

import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import stage_runs
from storm_lab.schedulers import make_scheduler
from storm_lab.tournament.objective import is_anchored
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
