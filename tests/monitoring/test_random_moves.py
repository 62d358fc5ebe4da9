"""Random moves: a given number of executors changes workers at given times, decided by the seed alone."""

from __future__ import annotations

import pytest

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.errors import UserError
from storm_lab.monitoring.random_moves import RandomMoves
from tests.control.world import build, chain, run_to, seconds_of


def _moving(moves: RandomMoves, seed: int = 1) -> ControlPlane:
    control, _ = build(3, seed=seed)
    moves.start(control, Sampler(control.clock, control.plane, ns(20)))
    control.nimbus.submit(chain(workers=3))
    return control


def test_the_given_number_of_executors_moves_at_each_time() -> None:
    control = _moving(RandomMoves("chain", executors=2, first_s=50, period_s=60))
    run_to(control, 200)
    assert seconds_of(control, "assign") == [0.0, 50.0, 110.0, 170.0]
    assert [entry.detail["moved"] for entry in control.log.of("assign")[1:]] == [2, 2, 2]


def test_spouts_and_ackers_stay_unless_named() -> None:
    control = _moving(RandomMoves("chain", executors=3))
    run_to(control, 40)
    before = control.nimbus.present.slots
    run_to(control, 60)
    after = control.nimbus.present.slots
    assert {e.component for e in after if after[e] != before[e]} == {"bolt"}


def test_moves_depend_on_the_seed_alone() -> None:
    finals = []
    for seed in (3, 3, 4):
        control = _moving(RandomMoves("chain", executors=2), seed)
        run_to(control, 400)
        finals.append(control.nimbus.present)
    assert finals[0] == finals[1] != finals[2]


def test_a_move_is_skipped_while_the_topology_is_being_rebalanced() -> None:
    control = _moving(RandomMoves("chain", executors=2, first_s=50, period_s=60))
    run_to(control, 45)
    control.nimbus.rebalance("chain", wait_s=10, reason="by the test")
    run_to(control, 60)
    assert seconds_of(control, "skip-move") == [50.0]


def test_an_unknown_component_is_refused_and_an_acker_is_none() -> None:
    control = _moving(RandomMoves("chain", executors=1, components=("bolt", "__acker")))
    run_to(control, 60)
    assert control.log.of("assign")[1].detail["moved"] == 1
    with pytest.raises(UserError, match="components = 'bolts': topology 'chain' has no such component"):
        run_to(_moving(RandomMoves("chain", executors=1, components=("bolts",))), 60)


@pytest.mark.parametrize(("field", "value"), [("executors", 0), ("first_s", -1.0), ("period_s", 0.0)])
def test_invalid_moves_are_refused(field: str, value: float) -> None:
    with pytest.raises(UserError, match=f"^{field} = "):
        _moving(RandomMoves(**{"topology": "chain", "executors": 1, field: value}))  # type: ignore[arg-type]
