"""Migration methods: when workers are killed and started, and where old and new workers send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from storm_lab.emulator.control.clock import SECOND
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.migration.method import Migration, MigrationMethod, Rebalance, Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.supervisor import Supervisor
from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.control.worker import WorkerProcess
from storm_lab.model import Assignment, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V1_0_3, V2_8_8
from tests.control.fake_plane import FakePlane
from tests.control.world import chain, executor_of, fault, move, phases_at, run_to, running, seconds_of

PHASES = {"node01": phases_at(2.0, 0.5), "node02": phases_at(4.0, 0.5), "node03": phases_at(9.0, 0.5)}


def _running(method: MigrationMethod, **settings: Any) -> tuple[ControlPlane, FakePlane]:
    return running(100, chain(workers=3), migration=method, phases=PHASES, **settings)


def _rotate(control: ControlPlane) -> None:
    """Install a schedule that moves every executor to the next worker."""
    present = control.nimbus.present.slots
    slots = sorted(set(present.values()))
    after = {slot: slots[(i + 1) % len(slots)] for i, slot in enumerate(slots)}
    move(control, {executor: after[slot] for executor, slot in present.items()})


def _move_from_first_to_second(control: ControlPlane) -> Slot:
    """Move an executor from the first slot to the second one, and return the third."""
    present = control.nimbus.present.slots
    first, second, third = sorted(set(present.values()))
    move(control, {next(e for e, slot in sorted(present.items()) if slot == first): second})
    return third


def test_restart_stops_an_executor_from_its_old_nodes_tick_to_its_new_workers_start() -> None:
    control, plane = _running(Restart())
    before = control.nimbus.present.slots
    _rotate(control)
    run_to(control, 150)
    assert seconds_of(control, "kill-worker") == [102.0, 104.0, 109.0]
    assert seconds_of(control, "worker-ready")[3:] == [107.0, 109.0, 114.0]
    away = {"node01": 109 - 102, "node02": 114 - 104, "node03": 0}
    for executor, slot in before.items():
        absences = control.plane.now().absences(executor)
        assert sum(end - start for start, end in absences) == away[slot.node] * SECOND
    assert plane.running() == set(before)


def test_a_smooth_hand_over_kills_old_workers_late_so_that_no_executor_is_ever_away() -> None:
    control, plane = _running(Smooth())
    _rotate(control)
    run_to(control, 150)
    assert seconds_of(control, "delay-kill") == [102.0, 104.0, 109.0]
    assert seconds_of(control, "worker-ready")[3:] == [107.0, 109.0, 114.0]
    assert seconds_of(control, "kill-worker") == [122.0, 124.0, 129.0]
    for executor in control.nimbus.present.slots:
        assert control.plane.now().absences(executor) == []
    assert plane.running() == set(control.nimbus.present.slots)
    assert len(plane.alive) == 3


@pytest.mark.parametrize("version", [V1_0_3, V2_8_8], ids=str)
def test_a_slot_starts_the_new_worker_of_a_smooth_hand_over_beside_the_old_one(version: StormVersion) -> None:
    control, _ = _running(Smooth(), version=version)
    _rotate(control)
    run_to(control, 150)
    delayed = seconds_of(control, "delay-kill")
    assert len(delayed) == 3
    assert seconds_of(control, "start-worker")[3:] == delayed
    assert seconds_of(control, "kill-worker") == pytest.approx([at + 20.0 for at in delayed], abs=0.001)
    assert all(control.plane.now().absences(e) == [] for e in control.nimbus.present.slots)


@pytest.mark.parametrize("after_s", [5.0, 13.0, 19.0])
def test_an_assignment_taken_back_during_a_hand_over_is_handed_over_too(after_s: float) -> None:
    control, plane = _running(Smooth())
    before = control.nimbus.present
    _rotate(control)
    run_to(control, 100 + after_s)
    assert control.nimbus.install(before, "and back")
    run_to(control, 200)
    assert all(control.plane.now().absences(executor) == [] for executor in before.slots)
    assert len(plane.alive) == 3
    assert all(plane.active.values())
    for view in plane.views.values():
        assert {executor: plane.slots[worker] for executor, worker in view.items()} == before.slots


def test_new_spouts_of_a_smooth_hand_over_stay_inactive_for_ten_seconds() -> None:
    control, plane = _running(Smooth())
    _rotate(control)
    run_to(control, 116.9)
    assert [plane.active[worker] for worker in (3, 4, 5)] == [False, False, False]
    run_to(control, 117.1)
    assert [plane.active[worker] for worker in (3, 4, 5)] == [True, False, False]
    run_to(control, 124.1)
    assert [plane.active[worker] for worker in (3, 4, 5)] == [True, True, True]


def test_old_workers_send_to_old_workers_and_new_ones_to_new_ones() -> None:
    control, plane = _running(Smooth())
    _rotate(control)
    run_to(control, 121)
    old, new = {0, 1, 2}, {3, 4, 5}
    assert set(plane.views) == old | new
    for worker, view in plane.views.items():
        expected = old if worker in old else new
        assert set(view.values()) == expected, f"worker {worker} talks across the hand-over"


def test_an_unchanged_worker_serves_old_and_new_workers() -> None:
    control, plane = _running(Smooth())
    third = plane.slots.index(_move_from_first_to_second(control))
    run_to(control, 115)
    assert len(control.log.of("delay-kill")) == 2
    news = {w for w in plane.alive if w > 2}
    # Old and new workers reach the unchanged one, which sends to the new ones.
    assert all(third in plane.views[w].values() for w in plane.alive)
    assert set(plane.views[third].values()) == news | {third}


def test_without_the_dispatcher_all_workers_send_to_the_newest_processes() -> None:
    control, plane = _running(Smooth(dispatch_by_id=False))
    _rotate(control)
    run_to(control, 121)
    assert len(plane.views) == 6
    for worker, view in plane.views.items():
        own = plane.alive[worker]
        assert {target for executor, target in view.items() if executor not in own} <= {3, 4, 5}
        assert {view[executor] for executor in own} == {worker}, "thread to thread, without a table"


def test_tuples_within_a_worker_do_not_depend_on_the_new_assignment() -> None:
    """Workers are told of Nimbus's write at 100.011 s; the supervisor of the first node acts at 102 s.

    Until then each worker sends to its own executors, wherever they are assigned to, and does not reach
    other executors that are not at their new place yet.
    """
    control, plane = _running(Restart(), timers=replace(timers_of(V0_8_2), timer_sleep_s=0.5))
    old = {worker: set(executors) for worker, executors in plane.alive.items()}
    _rotate(control)
    run_to(control, 101)
    assert set(plane.views) == {0, 1, 2}
    for worker, view in plane.views.items():
        assert view == dict.fromkeys(old[worker], worker)
    run_to(control, 103)
    assert 0 not in plane.views


def test_migration_by_rebalance_uses_the_command_with_its_wait() -> None:
    control, plane = _running(Rebalance(wait_s=30.0))
    _rotate(control)
    run_to(control, 129)
    assert not any(plane.active.values())
    run_to(control, 200)
    assert seconds_of(control, "assign")[1] == 130.0
    assert min(seconds_of(control, "kill-worker")) >= 130.0
    assert all(plane.active.values())
    assert plane.running() == set(control.nimbus.present.slots)


def test_rebalance_restarts_unchanged_workers_only_on_demand() -> None:
    killed = []
    for restart_all in (False, True):
        control, _ = _running(Rebalance(wait_s=1.0, restart_all=restart_all))
        _move_from_first_to_second(control)
        run_to(control, 150)
        killed.append(len(control.log.of("kill-worker")))
    assert killed == [2, 3]


def test_a_smooth_migration_never_stops_all_spouts_and_a_rebalance_stops_them_longest() -> None:
    def stopped(method: MigrationMethod) -> int:
        control, plane = _running(method)
        _rotate(control)
        quiet = 0
        for tenth in range(1, 900):
            run_to(control, 100 + tenth / 10)
            quiet += not any(plane.active.values())
        return quiet

    assert stopped(Smooth()) == 0
    assert stopped(Rebalance(wait_s=30.0)) > stopped(Restart())


@dataclass(frozen=True, slots=True)
class _Lazy(MigrationMethod):
    """A method for this test only, with which supervisors never retire a worker."""

    def begin(self, control: ControlPlane) -> Migration:
        return _NeverRetires(control)


class _NeverRetires(Migration):
    def retire(self, supervisor: Supervisor, process: WorkerProcess, reason: str) -> None:
        self.control.log.note(supervisor.actor, "spare-worker", str(process.slot), reason)


def test_a_new_migration_method_overrides_the_steps_that_it_does_differently() -> None:
    control, plane = _running(_Lazy())
    _rotate(control)
    run_to(control, 103)
    assert control.log.of("kill-worker") == []
    assert 0 in plane.alive
    assert len(control.log.of("spare-worker")) == 1


def test_the_same_seed_gives_the_same_log_and_another_seed_other_phases() -> None:
    logs = []
    for seed in (5, 5, 6):
        control, _ = running(100, chain(workers=3), migration=Smooth(), seed=seed)
        _rotate(control)
        run_to(control, 200)
        logs.append(control.log.lines())
    assert logs[0] == logs[1]
    assert logs[0] != logs[2]


def test_the_log_shows_every_step_of_a_smooth_hand_over() -> None:
    control, _ = _running(Smooth())
    _rotate(control)
    run_to(control, 150)
    lines = [entry.line for entry in control.log.entries if entry.time_ns >= 100 * SECOND]
    node01 = [line for line in lines if "node01" in line]
    slot = next(s for s in control.nimbus.present.slots.values() if s.node == "node01")
    assert node01 == [
        "102.000 supervisor:node01 take-assignment node01 (ZooKeeper holds another assignment for this node)",
        f"102.000 supervisor:node01 delay-kill {slot} (disallowed)",
        f"102.000 supervisor:node01 start-worker {slot} (no valid worker in this slot)",
        f"107.000 worker:3 worker-ready {slot}",
        f"122.000 supervisor:node01 kill-worker {slot} (the hand-over is over)",
    ]


def test_a_worker_whose_jvm_starts_during_a_hand_over_belongs_to_the_new_assignment_too() -> None:
    control, _ = _running(Smooth())
    _strike(control, fault("kill-node", 110, node="node03"), fault("revive-node", 115, node="node03"))
    # Its JVM takes 5 s, and the assignment changes elsewhere meanwhile.
    run_to(control, 118)
    before = control.nimbus.present
    moved = executor_of(control, "bolt", 0)
    elsewhere = next(s for s in before.nodes_used() if s not in ("node03", before.slots[moved].node))
    move(control, {moved: Slot(elsewhere, 6700)})
    run_to(control, 400)
    assert {process.assignment for process in control.fleet.processes} == {control.nimbus.current("chain")}
    assert all(process.spouts_on for process in control.fleet.processes)


def test_a_failure_after_a_hand_over_is_handled_as_in_storm() -> None:
    control, _ = _running(Smooth())
    _rotate(control)
    place = {"node": "node03", "port": 6700}
    _strike(control, fault("kill-worker", 500, **place), fault("revive-worker", 501, **place))
    run_to(control, 520)
    successor = max(control.fleet.processes, key=lambda process: process.id)
    assert successor.slot == Slot("node03", 6700)
    assert successor.idle_until_ns <= successor.ready_ns


def test_a_round_during_the_wait_of_a_rebalance_keeps_the_number_of_workers() -> None:
    control, _ = running(55, chain(workers=2), migration=Rebalance(wait_s=30.0), phases=PHASES)
    slots = [Slot("node01", 6702), Slot("node02", 6702), Slot("node03", 6702), Slot("node03", 6703)]
    executors = sorted(control.nimbus.present.slots)
    control.nimbus.install(Assignment({e: slots[i % 4] for i, e in enumerate(executors)}), "to four slots")
    run_to(control, 150)
    assert seconds_of(control, "assign") == [0.0, 85.0]


def _strike(control: ControlPlane, *rows: Mapping[str, object]) -> None:
    FaultPlan.of_rows(rows).start(control)
