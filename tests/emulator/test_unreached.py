"""What happens to tuples whose sender has no connection to their receiver, by version."""

from __future__ import annotations

import numpy as np
import pytest

from storm_lab.emulator.unreached import Unreached, unreached_of
from storm_lab.model import Executor, Grouping, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V2_8_8
from tests.emulator.scene import MS, SECOND, Scene, nodes, rate, start_chain

V0_9_0, V0_9_2, V0_9_3 = (StormVersion((0, 9, patch)) for patch in (0, 2, 3))
EVERY_MS = 10
"""Interval between lines in ms; each line goes to both bolts."""


def scene(version: StormVersion, unreached: Unreached | None = None) -> Scene:
    """A spout on node 0, one bolt on node 1 and one on node 2, each tuple copied to both."""
    return start_chain(
        (1, 2),
        MS // 10,
        rate(1000 / EVERY_MS),
        nodes(3),
        place,
        grouping=Grouping.ALL,
        version=version,
        unreached=unreached,
    )


def place(executor: Executor) -> Slot:
    return Slot("node0" if executor.component == "spout" else f"node{executor.start}", 6700)


def sender(made: Scene) -> int:
    return made.workers[Slot("node0", 6700)]


def cut_off(made: Scene, *, connecting: bool) -> None:
    """Cut the spout's worker off from the first bolt; without ``connecting``, as if that bolt had moved."""
    seen = {e: w for e, w in made.view.items() if place(e) != Slot("node1", 6700)}
    made.plane.connect(sender(made), seen, connecting=connecting)


def play(version: StormVersion, unreached: Unreached | None = None, *, connecting: bool = True) -> Scene:
    """Play an outage of the first bolt from 1.005 s to 1.505 s, in which 50 lines are due."""
    made = scene(version, unreached)
    made.plane.run_until(1005 * MS)
    cut_off(made, connecting=connecting)
    made.plane.run_until(1505 * MS)
    made.plane.connect(sender(made), made.view)
    made.play(3 * SECOND)
    return made


def started(made: Scene, node: int) -> list[int]:
    """Start times in ms of a bolt's executions within the outage."""
    times = made.tape.column("executions", "start_ns")
    task = made.tape.column("executions", "task")
    times = np.sort(times[task == node])
    return [int(t) // MS for t in times if 1007 * MS <= t < 1505 * MS]


@pytest.mark.parametrize(
    ("version", "fate"),
    [
        (V0_8_2, Unreached.DROP),
        (V0_9_0, Unreached.KEEP),
        (V0_9_2, Unreached.BLOCK),
        (V0_9_3, Unreached.BLOCK),
        (StormVersion((0, 9, 4)), Unreached.DROP),
        (V2_8_8, Unreached.DROP),
    ],
    ids=str,
)
def test_the_fate_of_tuples_without_a_connection_depends_on_the_version(
    version: StormVersion, fate: Unreached
) -> None:
    assert unreached_of(version) is fate


@pytest.mark.parametrize("version", [V0_8_2, V0_9_7, V2_8_8], ids=str)
def test_dropped_tuples_are_counted_and_the_other_bolt_gets_all_of_its_tuples(version: StormVersion) -> None:
    made = play(version)
    assert made.plane.dropped(sender(made)) == made.plane.kernel.s[0].lost == 50
    assert len(started(made, 1)) == 0
    assert len(started(made, 2)) == 50


def test_kept_tuples_arrive_later_and_the_other_bolt_gets_all_of_its_tuples() -> None:
    made = play(V0_9_7, Unreached.KEEP)
    assert made.plane.dropped(sender(made)) == made.plane.kernel.s[0].lost == 0
    assert len(started(made, 1)) == 0
    assert len(started(made, 2)) == 50
    task = made.tape.column("executions", "task")
    assert abs(int((task == 1).sum()) - int((task == 2).sum())) <= 1, "in the end both have got as many"


@pytest.mark.parametrize("version", [V0_9_2, V0_9_3], ids=str)
def test_a_blocked_tuple_stops_all_sending_and_nothing_is_lost(version: StormVersion) -> None:
    made = scene(version)
    made.plane.run_until(1005 * MS)
    cut_off(made, connecting=True)
    made.plane.run_until(1500 * MS)
    assert made.plane.has_parked(sender(made))
    made.plane.run_until(1505 * MS)
    made.plane.connect(sender(made), made.view)
    assert not made.plane.has_parked(sender(made))
    made.play(3 * SECOND)
    assert made.plane.kernel.s[0].lost == 0
    assert not started(made, 1)
    assert not started(made, 2), "the receiver that is there gets nothing either"
    both = len(made.tape.column("executions", "start_ns"))
    assert both in (598, 599, 600), "three seconds of a hundred lines, twice"


def test_tuples_for_a_bolt_that_has_moved_are_dropped_even_in_0_9_2() -> None:
    made = play(V0_9_2, connecting=False)
    assert made.plane.dropped(sender(made)) == 50
    assert len(started(made, 2)) == 50
