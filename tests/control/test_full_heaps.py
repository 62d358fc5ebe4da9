"""A worker whose heap is full sends no heartbeats, is killed for that, and is restarted."""

from __future__ import annotations

import pytest

from storm_lab.emulator.control.clock import SECOND, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.model import StormVersion
from storm_lab.model.version import V0_9_2, V2_8_8
from tests.control.fake_plane import FakePlane
from tests.control.world import build, chain, phases_at, run_to, seconds_of

PHASES = {f"node{i:02}": phases_at(2.0, 0.5) for i in (1, 2, 3)}
VICTIM = 0


def _filled_at(seconds: float, version: StormVersion = V0_9_2) -> tuple[ControlPlane, FakePlane]:
    """Three workers, of which the first has a full heap from ``seconds`` on."""
    control, plane = build(phases=PHASES, version=version)
    control.nimbus.submit(chain(workers=3))
    run_to(control, seconds)
    plane.full[VICTIM] = ns(seconds)
    return control, plane


def test_a_worker_with_a_full_heap_is_killed_when_its_heartbeats_time_out_and_restarted() -> None:
    control, plane = _filled_at(60.5)
    run_to(control, 120)
    (full,) = control.log.of("heap-full")
    assert (full.time_ns, full.detail["since_ns"]) == (61 * SECOND, ns(60.5))
    # Its last heartbeat is at most a second old then and times out after 30 s; checks are 3 s apart.
    (killed,) = control.log.of("kill-worker")
    assert 89.5 <= killed.time_ns / SECOND <= 93.5
    assert (killed.reason, killed.detail["worker"], killed.detail["lost_receive_queue"]) == (
        "timed out",
        VICTIM,
        3,
    )
    again = seconds_of(control, "start-worker")[-1]
    assert again == pytest.approx(killed.time_ns / SECOND, abs=0.001)
    assert len(plane.alive) == 3
    assert VICTIM not in plane.alive


def test_a_worker_with_a_full_heap_sends_no_heartbeats_to_nimbus() -> None:
    control, plane = _filled_at(60.5)
    run_to(control, 80)
    beats = control.zookeeper.task_beats[plane.slots[VICTIM]]
    assert max(beats.values()) <= 61 * SECOND


def test_a_worker_whose_heap_empties_in_time_sends_heartbeats_again() -> None:
    control, plane = _filled_at(60.5)
    run_to(control, 80)
    plane.full.clear()
    run_to(control, 150)
    assert seconds_of(control, "heap-free") == [81.0]
    assert control.log.of("kill-worker") == []


def test_a_slot_of_2_x_replaces_a_worker_with_a_full_heap_too() -> None:
    control, plane = _filled_at(60.5, V2_8_8)
    run_to(control, 120)
    (killed,) = control.log.of("kill-worker")
    assert killed.reason == "timed out"
    assert len(plane.alive) == 3
