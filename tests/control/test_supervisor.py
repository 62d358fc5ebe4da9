"""Supervisors start and kill worker processes at their own ticks (Storm 0.8 to 1.0, and 2.x)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.times import ControlTimes, timers_of
from storm_lab.emulator.control.worker import WorkerProcess, WorkerState
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.model import Assignment, Cluster, Slot, StormVersion, executors_of
from storm_lab.model.version import V0_8_2, V0_9_0, V0_9_3, V0_9_7, V0_10_0, V1_0_6, V2_8_8
from tests.control.fake_plane import FakePlane
from tests.control.world import (
    build,
    chain,
    cluster,
    move,
    move_a_bolt,
    phases_at,
    run_to,
    running,
    seconds_of,
)

PHASES = {"node01": phases_at(2.0, 0.5), "node02": phases_at(4.0, 0.5), "node03": phases_at(9.0, 0.5)}


def test_a_worker_is_ready_after_sync_phase_download_and_jvm_start() -> None:
    control, _ = running(
        20, chain(workers=3), phases=PHASES, times=ControlTimes(jvm_start_s=5.0, code_download_s=1.0)
    )
    assert seconds_of(control, "download-code") == [2.0, 4.0, 9.0]
    assert seconds_of(control, "start-worker") == [3.0, 5.0, 10.0]
    assert seconds_of(control, "worker-ready") == [8.0, 10.0, 15.0]


def test_code_is_downloaded_once_per_node_and_topology_and_lost_tuples_are_logged() -> None:
    control, _ = running(100, chain(workers=3), phases=PHASES)
    move_a_bolt(control)
    run_to(control, 150)
    assert len(control.log.of("download-code")) == 3
    killed = control.log.of("kill-worker")
    assert len(killed) == 2
    assert all(entry.detail["lost_receive_queue"] == 3 for entry in killed)


def _move_one(control: ControlPlane) -> None:
    """Play 130 s, in which one executor is moved from node01 to node03 at 100 s."""
    control.nimbus.submit(chain(workers=3))
    run_to(control, 100)
    present = control.nimbus.present
    mover = next(e for e, slot in sorted(present.slots.items()) if slot.node == "node01")
    target = next(slot for slot in present.slots.values() if slot.node == "node03")
    move(control, {mover: target})
    run_to(control, 130)


def test_only_changed_workers_are_restarted_each_at_the_tick_of_its_node() -> None:
    control, plane = build(phases=PHASES)
    _move_one(control)
    kills = [(entry.time_ns / 1e9, entry.subject, entry.reason) for entry in control.log.of("kill-worker")]
    assert [(time, subject.split(":")[0]) for time, subject, _ in kills] == [
        (102.0, "node01"),
        (109.0, "node03"),
    ]
    assert {reason for _, _, reason in kills} == {"disallowed"}
    assert plane.running() == set(control.nimbus.present.slots)


def test_the_process_sync_waits_for_the_first_heartbeat_of_a_launched_worker() -> None:
    control, _ = running(
        5, chain(workers=1), 1, phases={"node01": phases_at(0.5, 0.0)}, times=ControlTimes(jvm_start_s=10.0)
    )
    (process,) = control.fleet.processes
    target = Slot("node01", next(p for p in (6700, 6701, 6702, 6703) if p != process.slot.port))
    move(control, dict.fromkeys(control.nimbus.present.slots, target))
    run_to(control, 50)
    # Launched at 1.5 s, unwanted since the sync at 10.5 s, killed when it is ready and not before.
    assert seconds_of(control, "take-assignment") == [1.5, 10.5]
    assert seconds_of(control, "kill-worker") == [11.5]
    assert seconds_of(control, "worker-ready") == [11.5, 21.5]


def test_a_crashed_worker_is_noticed_after_its_heartbeat_has_timed_out() -> None:
    control, plane = running(100, chain(workers=3), phases=PHASES)
    victim = control.fleet.processes[0]
    control.fleet.crash(victim, "fault", "killed by the test")
    assert victim.ended_ns == ns(100)
    run_to(control, 150)
    (cleared,) = seconds_of(control, "clear-worker")
    assert 130.0 < cleared <= 134.0
    assert plane.running() == set(control.nimbus.present.slots)


def test_the_age_of_a_heartbeat_is_counted_in_whole_seconds() -> None:
    """Ready at 7.4 s, so the last heartbeat before the crash at 100 s comes at 99.4 s.

    It is older than 30 s for the supervisor from 99 + 31 s on. The next of its ticks is at 130.2 s, while the
    one at 129.7 s would do for a heartbeat that is timed exactly.
    """
    timers = replace(timers_of(V0_8_2), process_sync_s=0.5)
    times = ControlTimes(jvm_start_s=5.2, code_download_s=1.0)
    control, _ = running(
        100, chain(workers=1), 1, timers=timers, times=times, phases={"node01": phases_at(1.2, 0.2)}
    )
    (victim,) = control.fleet.processes
    assert victim.ready_ns == ns(7.4)
    control.fleet.crash(victim, "fault", "killed by the test")
    run_to(control, 150)
    assert seconds_of(control, "clear-worker") == [130.2]


def test_states_of_a_worker_as_seen_by_its_supervisor() -> None:
    control, _ = build(phases=PHASES)
    control.nimbus.submit(chain(workers=3))
    supervisor = control.supervisors["node01"]
    run_to(control, 4)
    (process,) = supervisor.processes
    assert supervisor.state_of(process) is WorkerState.NOT_STARTED
    run_to(control, 50)
    assert supervisor.state_of(process) is WorkerState.VALID
    control.fleet.crash(process, "fault", "killed by the test")
    run_to(control, 79)
    assert supervisor.state_of(process) is WorkerState.VALID
    control.clock.now_ns = ns(82)
    assert supervisor.state_of(process) is WorkerState.TIMED_OUT
    supervisor.local = {}
    assert supervisor.state_of(process) is WorkerState.DISALLOWED


@pytest.mark.parametrize(
    ("version", "later_s"),
    [("0.9.2", 0.0), ("0.9.3", 1.0), ("0.9.7", 1.0), ("0.10.0", 1.0), ("1.0.2", 1.0)],
)
def test_a_successor_starts_later_than_in_0_8_by_the_wait_for_the_terminate_signal(
    version: str, later_s: float
) -> None:
    """Up to 0.9.2 workers are killed at once."""
    starts = []
    for each in (V0_8_2, StormVersion.parse(version)):
        control, _ = build(version=each, phases=PHASES)
        _move_one(control)
        starts.append(seconds_of(control, "worker-ready")[-2:])
    assert [round(b - a, 3) for a, b in zip(*starts, strict=True)] == [later_s, later_s]


def test_spouts_of_0_8_emit_at_once_and_from_0_9_on_they_wait_for_all_connections() -> None:
    for version, early in ((V0_8_2, True), (V0_9_0, False), (V0_9_3, False), (V0_9_7, False)):
        control, plane = running(12, chain(workers=3), version=version, phases=PHASES)
        assert len(plane.active) == 2
        assert all(plane.active.values()) is early
        run_to(control, 25)
        assert all(plane.active.values())


def test_an_absent_peer_is_reached_at_the_first_attempt_after_its_start() -> None:
    """The workers are ready at 8, 10 and 15 s. In 0.8, attempts are 100 to 199 ms apart."""
    control, plane = running(10, chain(workers=3), phases=PHASES)
    assert set(plane.views[0].values()) == {0}
    reached = {}
    for ms in range(10_000, 15_200):
        run_to(control, ms / 1000)
        for worker in plane.views[0].values():
            reached.setdefault(worker, ms)
    assert sorted(reached) == [0, 1, 2]
    wait = next(w for w in range(100, 200) if (reached[1] - 8000) % w == (reached[2] - 8000) % w == 0)
    assert 10_000 < reached[1] <= 10_000 + wait
    assert 15_000 < reached[2] <= 15_000 + wait


def test_the_order_of_nodes_does_not_matter_even_if_all_supervisors_tick_at_once() -> None:
    logs = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        nodes = cluster(3).nodes
        together = dict.fromkeys((node.id for node in nodes), phases_at(1.0, 1.0, 1.0))
        shuffled, _ = build(Cluster(tuple(nodes[i] for i in order)), migration=Smooth(), phases=together)
        executors = executors_of(chain(), V0_8_2)
        hands = [
            Assignment.of((e, Slot(f"node0{(i + shift) % 3 + 1}", 6700)) for i, e in enumerate(executors))
            for shift in (0, 1)
        ]
        shuffled.nimbus.submit(chain(), hands[0])
        run_to(shuffled, 60)
        shuffled.nimbus.install(hands[1], "moved by the test")
        run_to(shuffled, 120)
        logs.append(shuffled.log.lines())
    assert logs[0] == logs[1] == logs[2]
    assert len(logs[0]) > 20


def _lost_peer(
    version: StormVersion, retries: int, seed: int = 1
) -> tuple[ControlPlane, FakePlane, WorkerProcess]:
    """Two workers, of which the second dies at 100 s and is started again after 31 s; returns the first."""
    control, plane = running(
        100,
        chain(workers=2, executors=2),
        2,
        version=version,
        timers=replace(timers_of(version), task_timeout_s=60.0),
        phases={f"node0{i}": phases_at(9.0, 2.5) for i in (1, 2)},
        settings={"storm.messaging.netty.max_retries": retries},
        seed=seed,
    )
    sender, receiver = control.fleet.processes
    assert receiver.id in plane.views[sender.id].values()
    control.fleet.crash(receiver, "test", "kill -9")
    return control, plane, sender


def _death_of_a_sender(patch: int, retries: int, seed: int) -> float:
    """Seconds from the loss of its only peer to a sender's death, on 0.9.``patch``."""
    control, plane, sender = _lost_peer(StormVersion((0, 9, patch)), retries, seed)
    plane.waiting.add(sender.id)
    run_to(control, 170)
    assert sender.ended_ns is not None
    again = [entry for entry in control.log.of("start-worker") if entry.subject == str(sender.slot)]
    assert 29 <= (again[-1].time_ns - sender.ended_ns) / 1e9 <= 34, "when its heartbeat is 30 s old"
    return sender.ended_ns / 1e9 - 100


@pytest.mark.parametrize(("patch", "retries", "least_s", "most_s"), [(0, 20, 13, 18.2), (2, 30, 25, 28.2)])
def test_a_sender_up_to_0_9_2_that_runs_out_of_attempts_stops_its_worker(
    patch: int, retries: int, least_s: float, most_s: float
) -> None:
    """20 or 31 random waits of up to a second; real 0.9.2: 26 to 28 s.

    The dead peer is restarted only when its heartbeat is 30 s old.
    """
    deaths = [_death_of_a_sender(patch, retries, seed) for seed in (1, 2, 3)]
    assert all(least_s < death < most_s for death in deaths)
    assert len(set(deaths)) > 1, "the seed decides"
    assert _death_of_a_sender(patch, retries, 1) == deaths[0]


def test_a_worker_of_0_9_2_that_has_given_up_ends_at_its_first_message() -> None:
    """Its peer is back after it has given up, and does not wait for it to send."""
    control, plane, sender = _lost_peer(StormVersion((0, 9, 2)), 30)
    run_to(control, 145)
    assert sender.running
    (peer,) = (process for process in control.fleet.processes if process is not sender)
    assert peer.spouts_on
    assert peer.id not in plane.views[sender.id].values()
    plane.waiting.add(sender.id)
    run_to(control, 145.2)
    assert not sender.running


@pytest.mark.parametrize(("version", "again"), [(V0_9_7, False), (V0_10_0, True)], ids=str)
def test_a_client_up_to_0_9_7_that_has_given_up_does_not_connect_again(
    version: StormVersion, again: bool
) -> None:
    """With one retry it makes three attempts in its life, within a second; the peer is back after 30 s."""
    control, plane, sender = _lost_peer(version, 1)
    run_to(control, 150)
    (peer,) = (process for process in control.fleet.processes if process is not sender)
    assert peer.running
    assert (peer.id in plane.views[sender.id].values()) is again


def test_a_change_during_a_code_download_is_read_right_after_it() -> None:
    """Two topologies, each with a second of download; real 0.9.2 starts both without a tick."""
    timers = replace(timers_of(V0_9_7), supervisor_watch=True)
    times = ControlTimes(jvm_start_s=5.0, code_download_s=1.0)
    control, _ = build(1, version=V0_9_7, timers=timers, times=times, phases={"node01": phases_at(9.0, 2.5)})
    control.nimbus.submit(chain(workers=1))
    run_to(control, 0.5)
    control.nimbus.submit(chain(workers=1, topology_id="other"))
    run_to(control, 20)
    fetched = seconds_of(control, "download-code")
    assert fetched == pytest.approx([0.0, 1.0], abs=0.05)
    # The start of the first one delays the second, as in Storm.
    assert seconds_of(control, "start-worker") == pytest.approx([1.0, 6.0], abs=0.05)


def test_a_woken_supervisor_reads_all_that_nimbus_writes_in_one_round() -> None:
    """Workers of two topologies on a lost node are started together, as on real 0.9.2.

    If the supervisor took up the first assignment alone, the process sync would wait for its worker before
    it starts the other one.
    """
    version = StormVersion.parse("0.9.2")
    timers = replace(timers_of(version), supervisor_watch=True)
    phases = {f"node0{i}": phases_at(9.0, 2.5) for i in (1, 2)}
    control, _ = build(2, version=version, timers=timers, phases=phases)
    for topology_id in ("one", "other"):
        control.nimbus.submit(chain(workers=2, topology_id=topology_id))
    run_to(control, 150)
    control.supervisors["node02"].power_off("the test")
    run_to(control, 200)
    moved = [entry.time_ns for entry in control.log.of("assign") if entry.time_ns > ns(150)]
    started = [entry.time_ns for entry in control.log.of("start-worker") if entry.time_ns > ns(150)]
    assert len(moved) == len(started) == 2
    assert moved[0] == moved[1] < started[0] == started[1] < moved[0] + ns(0.05)


@pytest.mark.parametrize(
    ("version", "after_s"), [("0.9.2", 0.0), ("0.9.3", 7.0), ("0.9.7", 7.0), ("0.10.0", 0.0)]
)
def test_from_0_9_3_to_0_9_7_supervisors_hear_of_new_topologies_but_poll_for_changes(
    version: str, after_s: float
) -> None:
    """Polls are at 7, 17, 27 s, the topology comes at 0 s and the change at 20 s.

    Real 0.9.7 starts workers 0.4 to 9.0 s after a rebalance, and 0.1 s after a submission.
    """
    which = StormVersion.parse(version)
    timers = replace(timers_of(which), supervisor_watch=True)
    phases = {f"node0{i}": phases_at(7.0, 2.5) for i in (1, 2)}
    control, _ = running(19, chain(workers=2), 2, version=which, timers=timers, phases=phases)
    assert seconds_of(control, "take-assignment") == pytest.approx([1.0, 1.0], abs=0.05)
    control.clock.run_until(ns(20))
    move_a_bolt(control)
    run_to(control, 40)
    taken = [at for at in seconds_of(control, "take-assignment") if at > 19]
    assert min(taken) == pytest.approx(20.0 + after_s, abs=0.05)


@pytest.mark.parametrize("version", [V0_8_2, V0_9_7, V1_0_6, V2_8_8])
def test_a_lost_node_gets_no_workers_once_its_session_has_ended(version: StormVersion) -> None:
    """The session ends after 20 s; executors count as dead after 30 s or more.

    Computed by hand: three workers on each of three nodes with four slots. The lost node's three workers fit
    into the free slots only with the lost node's fourth slot, so they become two.
    """
    phases = {f"node0{i}": phases_at(1.0, 1.0, 0.0) for i in (1, 2, 3)}
    control, _ = running(302, chain(workers=9, executors=5), version=version, phases=phases)
    assert Counter(slot.node for slot in set(control.nimbus.present.slots.values())) == {
        "node01": 3, "node02": 3, "node03": 3
    }  # fmt: skip
    control.supervisors["node02"].power_off("the test")
    run_to(control, 345)
    used = Counter(slot.node for slot in set(control.nimbus.present.slots.values()))
    assert used == {"node01": 4, "node03": 4}


def test_a_supervisor_counts_as_alive_even_if_its_heartbeats_are_written_late() -> None:
    """Pings keep its session alive, and they need no disk."""
    busy = ZooKeeperPlan(writes_per_s=100.0, offset_writes_per_s=115.0)
    control, _ = build(zookeeper=busy)
    run_to(control, 400)
    assert control.nimbus._liveness.nodes(control.clock.now_ns) == {"node01", "node02", "node03"}
