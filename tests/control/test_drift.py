"""Timers drift by the work of their own thread and by no other, as measured on real Storm 0.9.7."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.times import Timers, timers_of
from storm_lab.emulator.control.zookeeper import Record, ZooKeeperPlan
from storm_lab.model.version import V0_9_7
from tests.control.world import build, chain, phases_at, run_to, running, seconds_of

DISK = ZooKeeperPlan(writes_per_s=1000.0, sync_s=0.010)
"""A single write takes 11 ms: 10 ms for the log's sync and 1 ms for its turn."""


def timers(drift: bool) -> Timers:
    return replace(timers_of(V0_9_7), timers_drift=drift)


@pytest.mark.parametrize(("drift", "last_s"), [(True, 19 * 5.011), (False, 20 * 5.0)])
def test_the_timer_of_heartbeats_waits_for_the_write(drift: bool, last_s: float) -> None:
    """Heartbeats from 0 s on, the last one by 100 s. Real Storm: 5.010 s apart, 42 turns."""
    control, _ = build(
        1, version=V0_9_7, timers=timers(drift), zookeeper=DISK, phases={"node01": phases_at(0.0)}
    )
    written_s: list[float] = []
    control.zookeeper.watch(Record.SUPERVISOR_BEAT, lambda _: written_s.append(control.clock.now_ns / 1e9))
    run_to(control, 100.02)
    assert written_s[-1] == pytest.approx(last_s + 0.011)


def test_a_supervisors_sync_keeps_its_phase_whatever_it_costs() -> None:
    """The timer only queues the sync. Real Storm: 10.001 s apart, 20 turns of two supervisors.

    Computed by hand: syncs at 1, 11, ..., 101 s; with N-Storm's 0.05 s of work the new topology is known at
    101.05 s, and its code is downloaded a second later.
    """
    control, _ = build(1, version=V0_9_7, migration=NStorm(), phases={"node01": phases_at(1.0)})
    run_to(control, 95.0)
    control.nimbus.submit(chain(workers=1, executors=1))
    run_to(control, 105.0)
    assert seconds_of(control, "take-assignment") == [pytest.approx(102.05)]


@pytest.mark.parametrize(("drift", "apart_s"), [(True, 3.01), (False, 3.0)])
def test_a_workers_check_of_its_threads_drifts_by_its_work(drift: bool, apart_s: float) -> None:
    """N-Storm's workers check their threads every 3 s, which takes 0.01 s."""
    _, plane = running(
        120.0,
        chain(workers=1, executors=1),
        1,
        version=V0_9_7,
        migration=NStorm(poll_s=3.0),
        timers=timers(drift),
    )
    looks = [time / 1e9 for time, _, _ in plane.held]
    assert len(looks) > 20
    gaps = [after - before for before, after in pairwise(looks[1:])]
    assert gaps == pytest.approx([apart_s] * len(gaps))


def test_supervisors_started_one_after_another_keep_their_distance() -> None:
    """In the cycle of 10 s the second supervisor checks 1 s after the first one, whatever the seed."""
    for seed in range(1, 6):
        started = replace(timers_of(V0_9_7), supervisors_apart_s=1.0)
        control, _ = build(2, version=V0_9_7, timers=started, migration=NStorm(), seed=seed)
        run_to(control, 50.0)
        control.nimbus.submit(chain(workers=2, executors=2))
        run_to(control, 65.0)
        first, second = (seconds_of(control, "take-assignment", f"supervisor:node0{i}")[-1] for i in (1, 2))
        assert (second - first) % 10.0 == pytest.approx(1.0)
