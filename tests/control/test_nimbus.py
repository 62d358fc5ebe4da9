"""Nimbus: rounds, failure detection, the rebalance command, ready-made schedules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.migration.method import Rebalance
from storm_lab.emulator.control.nimbus import Status
from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.errors import UserError
from storm_lab.model import Assignment, InvalidAssignmentError, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V0_10_0, V1_0_0, V1_0_3, V2_8_8
from storm_lab.schedulers.contract import SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.default import DefaultScheduler
from tests.control.world import (
    Gather,
    build,
    chain,
    executor_of,
    fault,
    move,
    move_a_bolt,
    phases_at,
    run_to,
    running,
    seconds_of,
)


@pytest.mark.parametrize("version", [V0_8_2, V0_9_7, V0_10_0, V1_0_0, V1_0_3, V2_8_8], ids=str)
def test_up_to_0_10_nimbus_schedules_at_submission_and_then_at_its_next_round(version: StormVersion) -> None:
    control, _ = running(30, chain(), version=version)
    assert seconds_of(control, "assign") == [0.0 if version < V1_0_0 else 10.0]


def test_a_lost_node_is_noticed_thirty_to_forty_seconds_later_and_its_executors_move() -> None:
    control, plane = running(205, chain(workers=3), 4)
    victim = control.nimbus.present.nodes_used()[0]
    control.supervisors[victim].power_off("killed by the test")
    run_to(control, 300)
    _, moved = seconds_of(control, "assign")
    # The last heartbeat came at most 3 s before, and was seen at a round at most 10 s later.
    assert 205 + 27 <= moved <= 205 + 40 + 3
    assert victim not in control.nimbus.present.nodes_used()
    assert plane.running() == set(control.nimbus.present.slots)


def test_nimbus_declares_no_executor_dead_within_the_launch_grace() -> None:
    control, _ = running(21, chain(workers=3), 4)
    control.supervisors[control.nimbus.present.nodes_used()[0]].power_off("killed by the test")
    run_to(control, 300)
    # The round at 10 s and eleven more; each is 10 s after the previous one and its 0.03 s of work.
    assert seconds_of(control, "assign")[1] == pytest.approx(120.33)


def test_a_worker_that_its_supervisor_restarts_in_time_is_not_moved() -> None:
    timers = replace(timers_of(V0_8_2), worker_timeout_s=5.0)
    control, plane = running(205, chain(workers=3), 4, timers=timers)
    before = control.nimbus.present
    control.fleet.crash(control.fleet.processes[0], "fault", "killed by the test")
    run_to(control, 300)
    assert control.nimbus.present == before
    assert plane.running() == set(before.slots)


def test_a_dead_port_is_hidden_in_the_round_in_which_its_executors_move() -> None:
    timers = replace(timers_of(V0_8_2), worker_timeout_s=1e6)
    control, _ = running(205, chain(workers=3), timers=timers)
    dead = control.fleet.processes[0]
    control.fleet.crash(dead, "fault", "killed by the test")
    run_to(control, 300)
    assert len(control.log.of("assign")) >= 2
    assert dead.slot not in control.nimbus.present.slots.values()


def test_while_nimbus_is_down_supervisors_restart_workers_but_no_executor_moves() -> None:
    control, plane = running(205, chain(workers=3), 4)
    control.nimbus.stop()
    lost, crashed = control.nimbus.present.nodes_used()[:2]
    control.supervisors[lost].power_off("killed by the test")
    (process,) = control.supervisors[crashed].processes
    control.fleet.crash(process, "fault", "killed by the test")
    run_to(control, 400)
    assert len(control.log.of("assign")) == 1
    assert {slot.node for worker, slot in enumerate(plane.slots) if worker in plane.alive} >= {crashed}
    control.nimbus.start()
    run_to(control, 500)
    assert len(control.log.of("assign")) == 2
    assert plane.running() == set(control.nimbus.present.slots)


def test_rebalance_stops_the_spouts_waits_and_schedules_from_scratch() -> None:
    control, plane = running(60, chain(workers=6))
    assert len(plane.alive) == 6
    control.nimbus.rebalance("chain", workers=3, wait_s=30, reason="by the test")
    run_to(control, 71)
    assert not any(plane.active.values())
    assert control.nimbus.status["chain"] is Status.REBALANCING
    run_to(control, 89.9)
    assert len(control.log.of("assign")) == 1
    run_to(control, 120)
    assert seconds_of(control, "assign") == [0.0, 90.0]
    assert len(plane.alive) == 3
    assert all(plane.active.values())


def test_the_wait_of_a_rebalance_is_the_message_timeout_unless_given() -> None:
    control, _ = running(60, replace(chain(workers=3), message_timeout_s=12.0), 3)
    control.nimbus.rebalance("chain", workers=2, reason="by the test")
    run_to(control, 100)
    assert seconds_of(control, "assign")[1] == 72.0


def test_a_waiting_rebalance_starts_its_wait_again_when_nimbus_is_back() -> None:
    control, _ = running(60, chain(workers=3))
    control.nimbus.rebalance("chain", workers=2, wait_s=30, reason="by the test")
    run_to(control, 70)
    control.nimbus.stop()
    run_to(control, 100)
    control.nimbus.start()
    run_to(control, 200)
    assert seconds_of(control, "assign")[1] == 130.0


def test_later_rounds_keep_an_installed_schedule() -> None:
    control, _ = running(60, chain(workers=3))
    one = Slot("node02", 6702)
    together = Assignment(dict.fromkeys(control.nimbus.present.slots, one))
    assert control.nimbus.install(together, "by the test")
    run_to(control, 200)
    assert control.nimbus.present == together
    assert not control.nimbus.install(together, "again")


def test_an_incomplete_schedule_is_refused_by_name() -> None:
    control, _ = running(60, chain(workers=3))
    mover = executor_of(control, "bolt")
    part = Assignment({e: s for e, s in control.nimbus.present.slots.items() if e != mover})
    with pytest.raises(InvalidAssignmentError, match=r"executor bolt\[2,2\] has no slot"):
        control.nimbus.install(part, "by the test")


def test_executors_that_stay_keep_their_start_time() -> None:
    control, _ = running(60, chain(workers=3))
    mover = move_a_bolt(control)
    stored = control.nimbus.current("chain")
    assert stored is not None
    assert {e for e, start in stored.start_ns.items() if start == ns(60)} == {mover}


class _Astray(Gather):
    """A scheduler that places everything in a slot that does not exist."""

    name = "astray"
    slot = Slot("nowhere", 1)


def test_a_scheduler_that_names_an_unknown_slot_is_refused_with_its_name() -> None:
    control, _ = build(3)
    control.nimbus.scheduler = _Astray()
    with pytest.raises(UserError, match=r"scheduler = 'astray'.*slot nowhere:1"):
        control.nimbus.submit(chain())


def test_heartbeats_beyond_zookeepers_capacity_come_late_and_cause_reassignments() -> None:
    # More is written than the log disk can take, so the queue grows for ever, and heartbeats come late.
    timers = replace(timers_of(V0_9_7), heartbeat_by_sender=True)
    busy = ZooKeeperPlan(writes_per_s=100.0, offset_writes_per_s=115.0)
    control, _ = running(400, chain(workers=6), timers=timers, zookeeper=busy)
    assert len(control.log.of("assign")) > 1
    relieved = replace(busy, offsets_elsewhere=True)
    control, _ = running(400, chain(workers=6), timers=timers, zookeeper=relieved)
    assert len(control.log.of("assign")) == 1


def test_while_zookeeper_is_down_assignments_stay_and_workers_keep_running() -> None:
    control, plane = running(
        60, chain(workers=3), 3, phases={f"node0{i}": phases_at(float(i)) for i in (1, 2, 3)}
    )
    control.zookeeper.stop()
    assert not control.nimbus.install(control.nimbus.present, "by the test")
    run_to(control, 80)
    assert len(plane.alive) == 3 and all(plane.active.values())
    control.zookeeper.start()
    run_to(control, 200)
    assert len(control.log.of("assign")) == 1


class _Counting(DefaultScheduler):
    """A scheduler that counts its calls."""

    asked = 0

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        self.asked += 1
        return super().schedule(view)


def test_a_scheduler_is_called_again_only_after_a_change() -> None:
    control, _ = build(4)
    counting = _Counting()
    control.nimbus.scheduler = counting
    control.nimbus.submit(chain(workers=3))
    run_to(control, 205)
    before = counting.asked
    run_to(control, 300)
    assert counting.asked == before
    control.supervisors[control.nimbus.present.nodes_used()[0]].power_off("killed by the test")
    run_to(control, 400)
    assert counting.asked > before


def test_a_rebalance_is_refused_while_another_waits() -> None:
    control, _ = running(50, chain())
    control.nimbus.rebalance("chain", workers=2, wait_s=30.0, reason="first")
    run_to(control, 70)
    control.nimbus.rebalance("chain", workers=1, wait_s=30.0, reason="second")
    run_to(control, 130)
    assert seconds_of(control, "refuse-rebalance") == [70.0]
    assert seconds_of(control, "assign")[1:] == [80.0]


def test_nimbus_hears_no_heartbeats_while_it_is_down() -> None:
    control, _ = build(3)
    control.nimbus.submit(chain())
    FaultPlan.of_rows([fault("kill-nimbus", 5), fault("revive-nimbus", 40)]).start(control)
    run_to(control, 60)
    (heard,) = seconds_of(control, "running")
    assert heard > 40.0


def test_a_schedule_for_slots_of_another_topology_is_refused() -> None:
    control, _ = running(60, chain())
    control.nimbus.submit(chain(topology_id="two"))
    run_to(control, 100)
    taken = control.nimbus.present.of_topology("two").slots.values()
    mine = control.nimbus.present.of_topology("chain")
    clash = mine.merged(Assignment({executor_of(control, "bolt"): min(taken)}))
    with pytest.raises(InvalidAssignmentError, match="belongs to topology 'two'"):
        control.nimbus.install(clash, "by the test")


def test_a_rebalance_does_not_write_slots_that_another_topology_got_meanwhile() -> None:
    control, _ = running(60, chain(workers=2), migration=Rebalance(wait_s=30.0))
    free = Slot("node03", 6700)
    assert free not in control.nimbus.present.slots.values()
    move(control, {executor_of(control, "bolt"): free})
    control.nimbus.submit(chain(topology_id="two"))
    assert free in control.nimbus.present.of_topology("two").slots.values()
    run_to(control, 200)
    assert seconds_of(control, "refuse-rebalance") == [90.0]
    assert control.nimbus.status["chain"] is Status.ACTIVE
