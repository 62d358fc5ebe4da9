"""Storm 1.x's supervisors: a loop over all workers up to 1.0.2, a state machine per slot from 1.0.3 on."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.times import timers_of
from storm_lab.model import StormVersion
from storm_lab.model.version import V1_0_3
from tests.control.world import chain, run_to, running, seconds_of

SEEDS = range(20)
LAST_WITH_ONE_LOOP = StormVersion((1, 0, 2))
LAST_OF_1 = StormVersion((1, 2, 4))
SLOTTED = pytest.mark.parametrize("version", [V1_0_3, LAST_OF_1], ids=str)


def at_60_s(version: StormVersion, seed: int, workers: int = 2, watched: bool = False) -> ControlPlane:
    """A chain on two nodes that was submitted at 0, at 60 s."""
    timers = replace(timers_of(version), supervisor_watch=watched)
    topology = chain(workers=workers, executors=2)
    return running(60, topology, 2, version=version, seed=seed, timers=timers)[0]


def seconds_to_relaunch(version: StormVersion, seed: int) -> float:
    control = at_60_s(version, seed)
    control.fleet.crash(control.fleet.processes[0], "test", "kill -9")
    run_to(control, 96)
    return min(t for t in seconds_of(control, "start-worker") if t > 60) - 60


@SLOTTED
def test_a_slot_replaces_a_dead_worker_after_its_next_check_and_a_sleep(version: StormVersion) -> None:
    """Checks are 3 s apart, the sleep is 3 s (``Slot.killAndRelaunchContainer``)."""
    waits = [seconds_to_relaunch(version, seed) for seed in SEEDS]
    assert all(3 <= wait <= 6 for wait in waits)
    assert max(waits) > 5.5
    assert mean(waits) == pytest.approx(4.5, abs=0.6)


def test_up_to_1_0_2_a_dead_worker_is_noticed_by_its_last_heartbeat() -> None:
    """The heartbeat is 30 s old, in whole seconds, and the loop looks every 3 s, then waits for 3 s."""
    waits = [seconds_to_relaunch(LAST_WITH_ONE_LOOP, seed) for seed in range(5)]
    assert all(29 <= wait <= 34 for wait in waits)


@SLOTTED
def test_replacing_a_running_worker_takes_one_sleep(version: StormVersion) -> None:
    """Its shutdown hook halts it after a second, before the slot looks again."""
    for seed in range(5):
        control = at_60_s(version, seed, workers=1, watched=True)
        control.nimbus.rebalance("chain", workers=2, wait_s=0.0, reason="test")
        run_to(control, 90)
        ((at, slot),) = [(e.time_ns / 1e9, e.subject) for e in control.log.of("kill-worker")]
        again = [e.time_ns / 1e9 for e in control.log.of("start-worker") if e.subject == slot]
        assert again[-1] - at == pytest.approx(3.0, abs=0.01)


@SLOTTED
def test_a_slot_that_loses_its_assignment_is_cleared_at_its_next_check(version: StormVersion) -> None:
    """A supervisor that is woken by its watch tells all its slots (``ReadClusterState.run``)."""
    for seed in range(5):
        control = at_60_s(version, seed, watched=True)
        control.nimbus.rebalance("chain", workers=1, wait_s=0.0, reason="test")
        run_to(control, 90)
        (rebalanced,) = [t for t in seconds_of(control, "assign") if t > 60]
        kills = seconds_of(control, "kill-worker")
        assert len(kills) == 2
        assert all(kill - rebalanced <= 3.1 for kill in kills)


@SLOTTED
def test_a_worker_that_still_starts_is_killed_when_its_slot_is_assigned_nothing_any_more(
    version: StormVersion,
) -> None:
    """It is launched by 12.1 s, and its JVM takes 5 s. Nimbus obeys within 1 s, and so does the slot."""
    timers = replace(timers_of(version), supervisor_watch=True)
    control, _ = running(13, chain(workers=1, executors=2), 1, version=version, timers=timers)
    assert len(seconds_of(control, "start-worker")) == 1
    control.nimbus.kill("chain", wait_s=0.0, reason="test")
    run_to(control, 30)
    (killed,) = seconds_of(control, "kill-worker")
    assert 13 <= killed <= 15.1
    assert seconds_of(control, "worker-ready") == []


@SLOTTED
def test_a_slot_that_is_told_of_a_dead_worker_starts_another_at_once_and_counts_its_checks_from_then(
    version: StormVersion,
) -> None:
    """The successor is up at 65 s; checks at 80 and 83 s, and a sleep of 3 s."""
    control = at_60_s(version, seed=1)
    dead = control.fleet.processes[0]
    control.fleet.crash(dead, "test", "kill -9")
    control.supervisors[dead.slot.node].notice_dead(dead.slot)
    run_to(control, 80.5)
    control.fleet.crash(control.fleet.processes[-1], "test", "kill -9")
    run_to(control, 90)
    assert seconds_of(control, "start-worker")[-2:] == [60.0, 86.0]


@SLOTTED
def test_the_monitor_frequency_sets_how_often_a_slot_checks(version: StormVersion) -> None:
    assert timers_of(version, {"supervisor.monitor.frequency.secs": 1}) == replace(
        timers_of(version), slot_running_s=1.0
    )
