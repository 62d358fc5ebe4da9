"""Storm 2.x: executors that wait for room poll, and interrupts of polls stop the threads that run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model import settings
from storm_lab.model.version import V2_8_8
from tests.emulator.scene import (
    MS,
    PLAIN,
    SATURATED,
    SECOND,
    US,
    Scene,
    constant_work,
    nodes,
    rate,
    start_chain,
)

POLLS = replace(PLAIN, idle_jvm_share=0.0, look_us=10.0, look_beside=1.0, park_us=55.0, timer_slack_us=55.0)
"""A parked thread polls every 65 us: it parks for 55 and polls for 10. Later it sleeps for 1.055 ms."""


def blocked(work_ms: int, *, cost: CostModel = POLLS, **given: int) -> Scene:
    """A spout and a bolt that are fast, and a bolt that takes ``work_ms`` a tuple; all queues are full."""
    work = [constant_work(0, 10), constant_work(work_ms * MS, 10)]
    small = {settings.RECEIVE_BUFFER: 16}
    scene = start_chain(
        (1, 1, 1), work, SATURATED, nodes(1), given=small, settings=given, version=V2_8_8, cost=cost
    )
    scene.plane.run_until(40 * work_ms * MS)
    scene.plane.sample()
    return scene


def shares(scene: Scene, seconds: float) -> dict[str, float]:
    """Cores that the spout and the first bolt use in the next seconds."""
    scene.plane.run_until(scene.plane.now_ns + round(seconds * SECOND))
    used = scene.plane.sample().executor_cpu_ns.items()
    return {
        executor.component: cpu / (seconds * SECOND)
        for (_, executor), cpu in used
        if executor.component != "bolt1"
    }


def test_an_executor_that_waits_for_room_parks_between_polls() -> None:
    # There is room for one tuple every 20 ms; that is less than a thousand parks of 65 us.
    for share in shares(blocked(20), 2.0).values():
        assert share == pytest.approx(10 / 65, rel=0.02)


def test_an_executor_that_has_parked_a_thousand_times_sleeps_between_polls() -> None:
    # There is room for one tuple every 200 ms: 65 ms of parks, then sleeps.
    polls = 1000 + 135 / 1.055
    for share in shares(blocked(200), 8.0).values():
        assert share == pytest.approx(polls * 10 * US / (200 * MS), rel=0.02)


def test_settings_of_the_back_pressure_strategy_say_how_often_it_parks_and_how_long_it_sleeps() -> None:
    given = {settings.ROOM_PARKS: 100, settings.ROOM_SLEEP_MS: 5}
    polls = 100 + (200 - 6.5) / 5.055
    for share in shares(blocked(200, **given), 8.0).values():
        assert share == pytest.approx(polls * 10 * US / (200 * MS), rel=0.04)
    # Those of an idle bolt are others.
    for share in shares(blocked(200, **{settings.BOLT_PARKS: 0}), 8.0).values():
        assert share == pytest.approx((1000 + 135 / 1.055) * 10 * US / (200 * MS), rel=0.02)


def test_a_spout_goes_on_at_its_next_poll() -> None:
    def longest_pause(cost: CostModel) -> int:
        """Longest time from the end of a wait for room to the next, for which the spout has to emit."""
        scene = blocked(20, cost=cost)
        k = scene.plane.kernel
        spout = k.executor["main_thread"][k.component["is_spout"][k.executor["component"]] == 1][0]
        pauses, goes_on = [], None
        begin = scene.plane.now_ns
        for now in range(begin, begin + 200 * MS, 5 * US):
            scene.plane.run_until(now)
            waits = bool(scene.plane.kernel.thread["waits"][spout])
            if not waits and goes_on is None:
                goes_on = now
            elif waits and goes_on is not None:
                pauses.append(now - goes_on)
                goes_on = None
        assert len(pauses) >= 9
        return max(pauses)

    emits = 20 * US
    assert longest_pause(POLLS) < 65 * US + emits
    # Without polls its turns are those of an idle spout.
    assert longest_pause(replace(POLLS, look_us=0.0)) > 2 * (65 * US + emits)


@pytest.mark.parametrize(("pollers", "part"), [(1, 0.112), (4, 0.142), (8, 0.2), (16, 0.371)])
def test_interrupts_of_polls_lengthen_what_runs_on_the_same_core(pollers: int, part: float) -> None:
    # A bolt works all the time; idle ackers park on the same core. Calls that end by their thread's clock are
    # not lengthened.
    def last_bursts(interrupt_part: float, clocked_us: float = 0.0) -> tuple[int, int]:
        """CPU of the spout's last burst, which is Storm's code, and of the bolt's."""
        scene = start_chain(
            (1, 1),
            30 * MS,
            rate(40.0),
            nodes(1, cores=1),
            ackers=pollers,
            settings={settings.BOLT_PARKS: 1_000_000},
            version=V2_8_8,
            cost=replace(POLLS, switch_us=0.0, interrupt_part=interrupt_part, clocked_us=clocked_us),
        )
        scene.plane.run_until(SECOND)
        k = scene.plane.kernel
        is_spout = k.component["is_spout"][k.executor["component"]] == 1
        is_acker = k.component["is_acker"][k.executor["component"]] == 1
        work = k.thread["work"][k.executor["main_thread"]]
        return int(work[is_spout][0]), int(work[~is_spout & ~is_acker][0])

    (spout, bolt), (later_spout, later_bolt) = last_bursts(0.0), last_bursts(0.1)
    assert later_spout == pytest.approx(spout / (1 - part), rel=0.01)
    assert later_bolt == pytest.approx(bolt / (1 - part), rel=0.01)
    _, clocked = last_bursts(0.1, clocked_us=30_000.0)
    assert 0 < clocked - bolt < bolt - 30 * MS
    assert last_bursts(0.1, clocked_us=30_001.0)[1] == later_bolt
