"""ZooKeeper as a write server: first come, first served, with a capacity that others share."""

from __future__ import annotations

import pytest

from storm_lab.emulator.control.clock import SECOND, VirtualClock, ns
from storm_lab.emulator.control.zookeeper import Record, WriteServer, ZooKeeper, ZooKeeperPlan


def test_a_write_takes_one_sync_and_its_own_service_behind_earlier_ones() -> None:
    server = WriteServer(ZooKeeperPlan(writes_per_s=100.0, sync_s=0.010))
    assert [server.enqueue(0) for _ in range(3)] == [ns(0.02), ns(0.03), ns(0.04)]
    assert server.queue_length(ns(0.015)) == pytest.approx(1.5)
    assert server.queue_length(ns(1)) == 0.0


def test_below_capacity_the_delay_stays_and_above_it_grows_without_end() -> None:
    plan = ZooKeeperPlan(writes_per_s=100.0, sync_s=0.010)
    for per_second, bounded in ((80, True), (125, False)):
        server = WriteServer(plan)
        delays = [
            server.enqueue(i * SECOND // per_second) - i * SECOND // per_second
            for i in range(60 * per_second)
        ]
        assert (max(delays) < ns(0.05)) is bounded
    # 60 s at 25 writes a second too many.
    assert delays[-1] == pytest.approx(ns(60 * 25 / 100), rel=0.01)


def test_the_papers_limits_follow_from_the_capacities() -> None:
    # Storm@Twitter: 300 workers on dedicated machines, 1200 on database-class disks, beside 333 offset
    # writes a second.
    for plan, limit in (
        (ZooKeeperPlan.dedicated(offset_writes_per_s=333.0), 300),
        (ZooKeeperPlan(offset_writes_per_s=333.0), 1200),
    ):
        for workers, sustained in ((limit * 0.98, True), (limit * 1.05, False)):
            server = WriteServer(plan)
            gap = 3.0 / workers
            delay = 0
            for i in range(round(120 / gap)):
                now = ns(i * gap)
                delay = server.enqueue(now) - now
            assert (delay < SECOND) is sustained, f"{workers} workers"


def test_offsets_in_a_key_value_store_leave_the_disk_to_storm() -> None:
    crowded = WriteServer(ZooKeeperPlan(writes_per_s=400.0, offset_writes_per_s=500.0))
    relieved = WriteServer(
        ZooKeeperPlan(writes_per_s=400.0, offset_writes_per_s=500.0, offsets_elsewhere=True)
    )
    assert crowded.enqueue(10 * SECOND) - 10 * SECOND > 2 * SECOND
    assert relieved.enqueue(10 * SECOND) - 10 * SECOND < SECOND // 10
    assert [server.other_writes_by(10 * SECOND) for server in (crowded, relieved)] == [5000.0, 0.0]


@pytest.mark.parametrize(("daemons", "expected_s"), [(False, 1.02), (True, 0.02)])
def test_heartbeats_to_separate_daemons_leave_the_disk_to_other_writes(
    daemons: bool, expected_s: float
) -> None:
    clock = VirtualClock()
    zookeeper = ZooKeeper(clock, ZooKeeperPlan(writes_per_s=100.0, heartbeat_daemons=daemons))
    committed: list[int] = []
    for _ in range(100):
        zookeeper.write("worker:0", Record.TASK_BEAT, "t", lambda: None)
    zookeeper.write("nimbus", Record.ASSIGNMENT, "t", lambda: committed.append(clock.now_ns))
    clock.run_until(10 * SECOND)
    assert committed == [pytest.approx(ns(expected_s))]


def test_a_write_takes_effect_and_wakes_its_watchers_at_its_commit() -> None:
    clock = VirtualClock()
    zookeeper = ZooKeeper(clock, ZooKeeperPlan(writes_per_s=100.0, sync_s=0.010))
    seen: list[tuple[str, bool, int]] = []
    zookeeper.watch(Record.STATUS, lambda key: seen.append((key, zookeeper.active[key], clock.now_ns)))
    zookeeper.write("nimbus", Record.STATUS, "t", lambda: zookeeper.active.update(t=True))
    assert zookeeper.active == {}
    clock.run_until(SECOND)
    assert seen == [("t", True, ns(0.02))]


def test_a_failure_holds_status_changes_up_in_order_and_drops_heartbeats() -> None:
    clock = VirtualClock()
    zookeeper = ZooKeeper(clock, ZooKeeperPlan())
    done: list[str] = []
    zookeeper.write("nimbus", Record.STATUS, "t", lambda: done.append("off"))
    # It fails with that write in its queue.
    zookeeper.stop()
    zookeeper.write("nimbus", Record.STATUS, "t", lambda: done.append("on"))
    zookeeper.write("worker:0", Record.TASK_BEAT, "t", lambda: done.append("heartbeat"))
    clock.run_until(SECOND)
    assert done == []
    zookeeper.start()
    clock.run_until(2 * SECOND)
    assert done == ["off", "on"]
