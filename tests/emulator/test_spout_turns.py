"""The spout's turns: several tasks in a thread, the pending limit, and spouts that share a source."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.model import Component, Subscription, Topology
from tests.emulator.scene import (
    MS,
    SECOND,
    US,
    Scene,
    at_times,
    chain_trace,
    constant_work,
    nodes,
    rate,
    start,
)


def topology(executors: int, tasks: int, **settings: object) -> Topology:
    return Topology(
        "t",
        (
            Component("spout", executors, tasks=tasks, outputs={"default": ("x",)}),
            Component("bolt0", 1, inputs=(Subscription("spout"),)),
        ),
        **settings,  # type: ignore[arg-type]
    )


def turns(plan: SourcePlan, executors: int = 1, tasks: int = 1, **settings: object) -> Scene:
    """Calls of nextTuple take 100 us, sleeps 1 ms, nothing else takes time."""
    scene = start(
        topology(executors, tasks, **settings),
        chain_trace([constant_work(0, 10)]),
        plan,
        nodes(1, cores=8),
        ideal=True,
    )
    scene.plane.kernel.cost["poll"] = 100 * US
    scene.plane.kernel.source["pause"] = 1 * MS
    return scene


def emits(scene: Scene) -> list[tuple[int, int]]:
    """Time in us and task of every emit, as the bolt sees them: tuples arrive at once and are not tracked."""
    at, task = scene.tape.column("executions", "enqueue_ns"), scene.tape.column("executions", "source_task")
    return sorted(zip((at // US).tolist(), task.tolist(), strict=True))


def test_a_turn_calls_next_tuple_once_on_each_task_and_sleeps_only_when_none_emitted() -> None:
    lines = [10 * MS] * 4 + [10 * MS + 600 * US, 11 * MS + 450 * US]
    scene = turns(at_times(lines), tasks=3, ackers=0)
    scene.play(1 * SECOND)
    # Spout tasks are numbered after the bolt's. The turn at 10 ms emits on all three tasks. The next one
    # follows without a sleep, emits on the first task and ends, as no lines are left for the others. The turn
    # at 10.4 ms finds nothing and sleeps to 11.4 ms, past the line of 10.6 ms, which the next turn takes. The
    # line that arrives during that call is taken by the second task in the same turn.
    assert emits(scene) == [
        (10_100, 2), (10_200, 3), (10_300, 4), (10_400, 2), (11_500, 2), (11_600, 3)
    ]  # fmt: skip


def test_sleeps_end_late_between_turns_and_in_next_tuple() -> None:
    idle = turns(at_times([10 * MS]), ackers=0)
    idle.plane.kernel.cost["late"] = 60 * US
    idle.play(SECOND)
    # Ten sleeps of 1.06 ms, and a call of 100 us.
    assert emits(idle) == [(10_700, 2)]
    asleep = turns(SourcePlan(SourceKind.SATURATED, sleep_ns=5 * MS), ackers=1)
    asleep.plane.kernel.cost["late"] = 60 * US
    asleep.play(SECOND)
    emit = asleep.tape.column("roots", "emit_ns")
    assert set(np.diff(emit)) == {5 * MS + 60 * US + 100 * US}
    # The log deducts the sleep that the spout asked for.
    assert set(asleep.tape.column("roots", "sleep_ns")) == {5 * MS}


def test_the_pending_limit_is_checked_once_a_turn_so_several_tasks_may_exceed_it() -> None:
    scene = start(
        topology(1, 3, ackers=1, max_spout_pending=2),
        chain_trace([constant_work(1 * MS, 10)]),
        SourcePlan(SourceKind.SATURATED),
        nodes(1, cores=8),
        ideal=True,
    )
    scene.plane.kernel.cost["poll"] = 10 * US
    scene.play(1 * SECOND)
    emit, done = scene.tape.column("roots", "emit_ns"), scene.tape.column("roots", "complete_ns")
    done = np.where(done < 0, 2 * SECOND, done)
    pending = [int(((emit <= t) & (done > t)).sum()) for t in np.unique(emit)]
    # Two for each of three tasks; with five pending a turn still emits three.
    assert max(pending) == 8
    assert min(pending[20:]) >= 6


def test_a_line_of_a_shared_source_goes_to_the_spout_whose_turn_comes_first() -> None:
    spouts = turns(at_times([200 * MS + 200 * US, 300 * MS + 700 * US]), executors=2, tasks=2)
    first, second = (e for e in spouts.view if e.component == "spout")
    worker = spouts.view[first]
    # The second executor starts again at 0.4 ms; inactive, it polls every 100 ms from then on.
    spouts.plane.run_until(400 * US)
    spouts.plane.stop_executor(worker, second)
    spouts.plane.start_executor(worker, second)
    spouts.plane.connect(worker, dict.fromkeys(spouts.view, worker))
    spouts.plane.activate(worker, True)
    spouts.play(1 * SECOND)
    # Turns of the first spout begin at 0.0 of every millisecond, those of the second at 0.4.
    assert emits(spouts) == [(200_500, second.start), (301_100, first.start)]


def test_spouts_that_share_a_source_do_not_all_wake_for_every_line() -> None:
    events = []
    for executors in (1, 20):
        scene = turns(rate(10.0), executors=executors, tasks=executors)
        scene.plane.run_until(100 * SECOND)
        events.append(scene.plane.events)
    # A thousand lines: one more event for each idle spout and line would be 19,000 more.
    assert events[1] - events[0] < 500


def test_a_line_that_no_spout_could_take_is_taken_when_the_pending_limit_allows() -> None:
    scene = turns(at_times([10 * MS, 10 * MS], anchored=True), executors=2, tasks=2, ackers=1)
    scene.plane.kernel.topology[0].max_pending = 1
    scene.play(1 * SECOND)
    assert sorted(scene.tape.column("roots", "line").tolist()) == [0, 1]
    assert set(scene.tape.column("roots", "outcome")) == {"acked"}
