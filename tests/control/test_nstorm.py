"""N-Storm: the absence of a moved executor follows from the cycles and their phases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.emulator.control.clock import SECOND, Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import Restart
from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.supervisor import Phases
from storm_lab.emulator.control.times import ControlTimes, timers_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.emulator.unreached import Unreached
from storm_lab.model import Executor, Slot
from storm_lab.model.version import V0_9_7
from storm_lab.monitoring.random_moves import RandomMoves
from tests.control.fake_plane import FakePlane
from tests.control.real_world import play, spec
from tests.control.world import build, chain, executor_of, move, phases_at, run_to, running, seconds_of


def _two_nodes(
    phases: dict[str, Phases], *, kill_delay_s: float = 0.0, poll_s: float = 0.1
) -> tuple[ControlPlane, FakePlane]:
    timers = replace(timers_of(V0_9_7), assignment_sync_s=10.0, process_sync_s=3.0)
    method = NStorm(poll_s=poll_s, kill_delay_s=kill_delay_s)
    control, plane = build(2, version=V0_9_7, migration=method, timers=timers, phases=phases)
    control.nimbus.submit(chain(workers=2, executors=2))
    return control, plane


def _move_at(control: ControlPlane, seconds: float, from_node: str) -> Executor:
    """Move one bolt to the other node's worker at ``seconds``."""
    run_to(control, seconds - 1)
    stored = control.nimbus.current("chain")
    assert stored is not None
    mover = next(
        e for e, slot in sorted(stored.slots.items()) if e.component == "bolt" and slot.node == from_node
    )
    target = next(slot for slot in sorted(stored.slots.values()) if slot.node != from_node)
    control.clock.at(ns(seconds), Rank.NIMBUS, "nimbus", lambda: move(control, {mover: target}))
    return mover


def _worst_case(kill_delay_s: float = 0.0) -> tuple[ControlPlane, FakePlane, Executor]:
    """Figure 4: schedule at 0.5 s; the old node reads ZooKeeper at 1 s, the new node at 0 and 10 s."""
    control, plane = _two_nodes(
        {"node01": phases_at(1.0), "node02": phases_at(0.0)}, kill_delay_s=kill_delay_s
    )
    mover = _move_at(control, 100.5, "node01")
    run_to(control, 130)
    return control, plane, mover


def test_the_papers_worst_case_is_nine_seconds_of_absence() -> None:
    control, plane, mover = _worst_case()
    ((gone, back),) = control.plane.now().absences(mover)
    assert 101.0 <= gone / SECOND <= 101.2
    assert 110.0 <= back / SECOND <= 110.4
    assert 8.5 <= (back - gone) / SECOND <= 9.5
    assert mover in plane.running()


def test_opposite_phases_give_two_copies_and_no_absence() -> None:
    control, _ = _two_nodes({"node01": phases_at(0.0), "node02": phases_at(1.0)})
    mover = _move_at(control, 100.5, "node01")
    run_to(control, 130)
    stays = [stay for stay in control.plane.now().stays if stay.executor == mover]
    assert control.plane.now().absences(mover) == []
    assert len(stays) == 2
    overlap = (stays[0].end_ns or 0) - stays[1].start_ns
    assert 8.5 <= overlap / SECOND <= 9.5


@pytest.mark.parametrize("old_phase_s", [0.0, 2.5, 5.0, 7.5])
@pytest.mark.parametrize("new_phase_s", [0.0, 3.0, 6.0, 9.0])
def test_absence_stays_below_the_sum_of_both_periods(old_phase_s: float, new_phase_s: float) -> None:
    control, _ = _two_nodes({"node01": phases_at(old_phase_s), "node02": phases_at(new_phase_s)}, poll_s=3.0)
    mover = _move_at(control, 100.5, "node01")
    run_to(control, 140)
    away = sum(end - start for start, end in control.plane.now().absences(mover))
    assert away <= ns(10.0 + 3.0 + 0.15)


def test_a_delay_of_the_kill_shortens_the_absence_by_that_delay() -> None:
    away = []
    for delay_s in (0.0, 2.0):
        control, _, mover = _worst_case(delay_s)
        away.append(sum(end - start for start, end in control.plane.now().absences(mover)))
    assert away[0] - away[1] == ns(2.0)


def test_workers_stay_and_only_the_moved_thread_stops() -> None:
    control, plane, mover = _worst_case()
    assert seconds_of(control, "kill-worker") == []
    assert len(plane.slots) == 2
    (stopped,) = control.log.of("stop-executor")
    assert stopped.subject == str(mover)
    assert stopped.detail["lost_receive_queue"] == 2


def test_peers_reach_the_executor_at_its_new_worker_after_their_poll() -> None:
    _, plane, mover = _worst_case()
    new_home = next(worker for worker, executors in plane.alive.items() if mover in executors)
    assert {view[mover] for view in plane.views.values()} == {new_home}


@pytest.mark.parametrize("kill_delay_s", [0.0, 2.0])
def test_a_worker_left_without_executors_is_killed_by_its_supervisor_at_once(kill_delay_s: float) -> None:
    """The paper's procedure leaves such a worker's executors alone, so no delayed kill applies to them."""
    phases = {"node01": phases_at(1.0), "node02": phases_at(0.0)}
    control, plane = _two_nodes(phases, kill_delay_s=kill_delay_s)
    run_to(control, 99)
    present = control.nimbus.present
    target = Slot("node02", next(s.port for s in present.slots.values() if s.node == "node02"))
    move(control, dict.fromkeys(present.slots, target))
    run_to(control, 130)
    (killed,) = control.log.of("kill-worker")
    assert killed.subject.startswith("node01:")
    assert killed.time_ns / SECOND == pytest.approx(101, abs=0.1)
    assert plane.running() == set(present.slots)


def test_an_executor_that_moves_back_in_time_is_not_stopped() -> None:
    control, plane = _two_nodes({"node01": phases_at(1.0), "node02": phases_at(5.0)}, kill_delay_s=15.0)
    run_to(control, 99)
    before = control.nimbus.present
    mover = executor_of(control, "bolt", 0)
    other = next(slot for slot in before.slots.values() if slot.node != before.slots[mover].node)
    move(control, {mover: other})
    run_to(control, 104)
    control.nimbus.install(before, "and back")
    run_to(control, 140)
    home = next(worker for worker, executors in plane.alive.items() if mover in executors)
    assert plane.slots[home] == before.slots[mover]
    assert sum(mover in executors for executors in plane.alive.values()) == 1


CYCLES = ((10.0, 3.0), (3.0, 1.0), (1.0, 0.3), (0.3, 0.1))
"""The paper's pairs of T_s and T_w, in seconds."""


def _managed(sync_s: float, poll_s: float, *, sync_work_s: float, poll_work_s: float) -> float:
    """Seconds of CPU that management uses in 100 s on two nodes with one worker each."""
    timers = replace(timers_of(V0_9_7), assignment_sync_s=sync_s)
    times = ControlTimes(sync_work_s=sync_work_s, poll_work_s=poll_work_s)
    control, plane = running(
        50,
        chain(workers=2, executors=2),
        2,
        version=V0_9_7,
        migration=NStorm(poll_s=poll_s),
        timers=timers,
        times=times,
    )
    before = sum(plane.charged.values())
    run_to(control, 150)
    return (sum(plane.charged.values()) - before) / SECOND


@pytest.mark.parametrize(("sync_s", "poll_s"), CYCLES)
def test_every_sync_and_every_poll_costs_its_cpu(sync_s: float, poll_s: float) -> None:
    work = _managed(sync_s, poll_s, sync_work_s=0.05, poll_work_s=0.01)
    # The poll's timer is armed again after the poll; the sync's timer only queues the sync.
    assert work == pytest.approx(2 * 100 * (0.05 / sync_s + 0.01 / (poll_s + 0.01)), abs=0.15)


def test_a_cycle_shorter_than_its_own_work_skips_ticks() -> None:
    # A sync of 100 ms every 80 ms begins at every second tick, a poll of 30 ms 20 ms after the last one.
    used = _managed(0.08, 0.02, sync_work_s=0.1, poll_work_s=0.03)
    assert used == pytest.approx(2 * 100 * (0.1 / 0.16 + 0.03 / 0.05), rel=0.02)


def test_a_move_waits_for_the_work_of_a_sync_and_a_poll() -> None:
    starts = []
    for work_s in (0.0, 0.03):
        times = ControlTimes(sync_work_s=0.1 if work_s else 0.0, poll_work_s=work_s)
        timers = replace(timers_of(V0_9_7), assignment_sync_s=10.0, timers_drift=False)
        phases = {"node01": phases_at(1.0), "node02": phases_at(0.0)}
        method = NStorm(poll_s=5.0)
        control, _ = build(2, version=V0_9_7, migration=method, timers=timers, times=times, phases=phases)
        control.nimbus.submit(chain(workers=2, executors=2))
        _move_at(control, 100.5, "node01")
        run_to(control, 130)
        (entry,) = control.log.of("update-threads")[:1]
        starts.append(entry.time_ns / SECOND)
    # The first sync, and so every later poll, ends 0.1 s later; a poll adds 0.03 s.
    assert starts[1] - starts[0] == pytest.approx(0.13, abs=1e-6)


def test_a_supervisor_that_dies_in_a_sync_does_not_act_on_it() -> None:
    phases = {"node01": phases_at(1.0), "node02": phases_at(0.0)}
    control, _ = _two_nodes(phases)
    _move_at(control, 100.5, "node01")
    run_to(control, 101.01)
    control.supervisors["node01"].power_off("test")
    run_to(control, 101.02)
    control.supervisors["node01"].power_on()
    run_to(control, 101.06)
    taken = [e for e in control.log.of("take-assignment") if e.actor == "supervisor:node01"]
    assert all(entry.time_ns < 100 * SECOND for entry in taken)
    run_to(control, 101.08)
    taken = [e for e in control.log.of("take-assignment") if e.actor == "supervisor:node01"]
    assert taken[-1].time_ns == round(101.07 * SECOND)


def test_short_cycles_show_up_as_housekeeping_cpu_in_the_tuple_log() -> None:
    used = []
    for sync_s, poll_s in CYCLES:
        run = replace(spec(duration_s=40.0, migration=NStorm(poll_s=poll_s)), cost=CostModel(compile_s=0.0))
        assert run.timers is not None
        # Cold code would cost more, and compilers would use CPU as well.
        run = replace(run, cost=replace(run.cost, warm_up_factor=1.0, compile_s=0.0))
        rows = play(replace(run, timers=replace(run.timers, assignment_sync_s=sync_s))).rows.table("cpu")
        late = rows[rows["start_ns"] >= 20 * SECOND]
        used.append(float(late.loc[late["thread"] == "housekeeping", "cpu_ms"].sum()))
    assert used == sorted(used)
    # The CPU that shorter cycles add is proportional to syncs and polls a second, whatever a node's clock.
    works = [0.05 / sync_s + 0.01 / (poll_s + 0.01) for sync_s, poll_s in CYCLES]
    expected = (works[3] - works[0]) / (works[2] - works[0])
    assert (used[3] - used[0]) / (used[2] - used[0]) == pytest.approx(expected, rel=0.05)


def test_tuples_for_an_absent_executor_are_dropped_and_counted_in_the_log() -> None:
    # Supervisors read assignments only at their syncs, so a moved bolt may be away for long. Tuples for it
    # are lost, unless the run makes their senders keep them.
    moves = RandomMoves("tree", first_s=20.0, period_s=20.0, executors=3)
    run = spec(duration_s=90.0, migration=NStorm(poll_s=1.0), services=(moves,), rate_per_s=100.0)
    lossy = play(run).outcome.decisions
    dropped = [int(str(d.detail["lost_unreached"])) for d in lossy if "lost_unreached" in d.detail]
    assert sum(dropped) > 100, "a bolt that gets some fifty tuples a second is away for seconds"
    assert not [d for d in lossy if d.action == "send-buffered"]
    decisions = play(replace(run, unreached=Unreached.KEEP)).outcome.decisions
    assert not [d for d in decisions if "lost_unreached" in d.detail]
    sent = [d for d in decisions if d.action == "send-buffered"]
    assert sent
    assert all(int(str(d.detail["tuples"])) > 0 for d in sent)
    started = {d.time_ns for d in decisions if d.action in ("start-executor", "worker-ready")}
    assert started & {d.time_ns for d in sent}


def _holds_per_s(sync_s: float, poll_s: float | None) -> float:
    """Holds of a worker's sending per second, by N-Storm's polls or by Storm's refreshes."""
    timers = replace(timers_of(V0_9_7), assignment_sync_s=sync_s)
    method = Restart() if poll_s is None else NStorm(poll_s=poll_s)
    _, plane = running(150, chain(workers=2, executors=2), 2, version=V0_9_7, migration=method, timers=timers)
    late = [worker for time_ns, worker, _ in plane.held if time_ns > 50 * SECOND]
    assert {length for _, _, length in plane.held} == {ns(ControlTimes().refresh_hold_s)}
    assert set(late) == set(plane.alive)
    return len(late) / len(plane.alive) / 100


def test_every_method_holds_a_workers_sending_when_it_refreshes_its_connections() -> None:
    assert _holds_per_s(10.0, None) == pytest.approx(0.1), "Storm: every refresh_s"
    assert _holds_per_s(10.0, 3.0) == pytest.approx(1 / 3, rel=0.05)
    assert _holds_per_s(0.3, 0.1) == pytest.approx(1 / 0.11, rel=0.01)


def test_workers_of_one_node_do_not_poll_at_the_same_time() -> None:
    timers = replace(timers_of(V0_9_7), assignment_sync_s=10.0)
    _, plane = running(
        100, chain(workers=3, executors=3), 1, version=V0_9_7, migration=NStorm(poll_s=3.0), timers=timers
    )
    phases = {worker: time_ns % ns(3.0) for time_ns, worker, _ in plane.held if time_ns > 50 * SECOND}
    assert len(set(phases.values())) == 3


CALLERS = SourcePlan(SourceKind.CLOSED_LOOP, calls=2, answer_ns=1_000_000, on_fail=FailurePolicy.REPLAY)


def test_long_holds_slow_down_a_closed_loop_and_short_ones_do_not() -> None:
    answered = []
    for hold_s in (0.00001, 0.0001, 0.03):
        run = spec(duration_s=30.0, migration=NStorm(poll_s=0.1), source=CALLERS)
        played = play(replace(run, times=replace(run.times, refresh_hold_s=hold_s)))
        answered.append(int((played.rows.table("roots")["outcome"] == "acked").sum()))
    assert answered[1] > 0.99 * answered[0]
    assert answered[2] < 0.8 * answered[0]
