"""Delivery guarantees of each kind of source when spouts die, and how many lines are replayed."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from storm_lab.emulator.setup.offset_log import OffsetLog
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.emulator.state import kinds
from storm_lab.errors import UserError
from storm_lab.model import Slot
from tests.emulator.scene import MS, SECOND, US, Scene, apart, chain, chain_trace, constant_work, nodes, start
from tests.emulator.uncompiled import printed

LINES = 100_000
REPLAY = FailurePolicy.REPLAY
LOG = SourcePlan(SourceKind.RATE, rate_per_s=100.0, on_fail=REPLAY, checkpoint_ns=2 * SECOND)
HELD = SourcePlan(SourceKind.RATE, rate_per_s=100.0, on_fail=REPLAY)
POPPED = SourcePlan(SourceKind.RATE, rate_per_s=100.0)
CALLS = SourcePlan(SourceKind.CLOSED_LOOP, calls=8, answer_ns=MS, on_fail=REPLAY)


def _scene(
    source: SourcePlan, spouts: int = 2, work_us: int = 2000, max_pending: int | None = None, **options: Any
) -> Scene:
    """Spouts on a node of their own, one bolt and one acker on another."""
    topology = chain([spouts, 1], ackers=1, message_timeout_s=5.0, max_spout_pending=max_pending)
    trace = chain_trace([constant_work(work_us * US, LINES)])
    return start(topology, trace, source, nodes(2), apart, **options)


def _restart_spouts(scene: Scene, at_s: float, away_s: float = 1.0) -> None:
    """Kill the worker with the spouts and start another in its place."""
    slot = Slot("node0", 6700)
    scene.plane.run_until(round(at_s * SECOND))
    scene.plane.stop_worker(scene.workers[slot])
    scene.plane.run_until(round((at_s + away_s) * SECOND))
    scene.start_again(slot, slot)


def _end(scene: Scene, at_s: float) -> dict[str, Any]:
    scene.play(round(at_s * SECOND))
    names = ("line", "attempt", "outcome", "emit_ns", "complete_ns", "spout_task")
    return {name: scene.tape.column("roots", name) for name in names}


def _after_death(at_s: float, source: SourcePlan, **options: Any) -> dict[str, Any]:
    """Roots of a run whose spouts are killed and started again."""
    scene = _scene(source, **options)
    _restart_spouts(scene, at_s)
    return _end(scene, 20.0)


def _lines(roots: dict[str, Any], chosen: Any) -> list[int]:
    return sorted(int(line) for line in roots["line"][chosen])


def test_a_log_is_read_again_from_its_last_checkpoint_and_loses_nothing() -> None:
    roots = _after_death(9.0, LOG)
    again = roots["attempt"] == 1
    stored = 8 * 100  # The last checkpoint was at 8 s.
    assert _lines(roots, again)[0] >= stored - 2
    # Every line from there to the death is replayed, acked or not, and no later line is.
    assert _lines(roots, again) == list(range(_lines(roots, again)[0], 900))
    acked = Counter(_lines(roots, roots["outcome"] == "acked"))
    assert set(range(1900)) <= set(acked)
    assert 95 <= sum(count - 1 for count in acked.values()) <= 102
    assert max(acked.values()) == 2


def test_lines_of_a_log_are_replayed_in_order_and_before_new_lines() -> None:
    roots = _after_death(9.0, LOG)
    for task in np.unique(roots["spout_task"]):
        late = (roots["spout_task"] == task) & (roots["emit_ns"] > 9 * SECOND)
        lines = roots["line"][late][np.argsort(roots["emit_ns"][late])]
        assert list(lines) == sorted(lines)


def test_every_reader_of_a_log_has_its_own_partition_with_its_share_of_the_rate() -> None:
    roots = _after_death(9.0, LOG, spouts=3)
    partitions = [
        np.unique(roots["line"][roots["spout_task"] == t] % 3) for t in np.unique(roots["spout_task"])
    ]
    assert [list(p) for p in partitions] == [[0], [1], [2]]
    assert abs(int(roots["line"].max()) - 2000) <= 3


@pytest.mark.parametrize("period_s", [0.5, 2.0, 4.0])
def test_more_lines_are_replayed_the_older_the_last_checkpoint_is(period_s: float) -> None:
    roots = _after_death(11.9, replace(LOG, checkpoint_ns=round(period_s * SECOND)))
    since = 11.9 % period_s
    assert abs(int((roots["attempt"] > 0).sum()) - 100 * since) <= 4


def test_the_committed_offset_moves_at_checkpoints_only_and_never_falls() -> None:
    scene = _scene(LOG)
    seen = []
    for tenth in range(1, 90):
        scene.plane.run_until(tenth * SECOND // 10)
        seen.append(scene.plane.committed_lines("t"))
    assert set(seen[:19]) == {0}
    assert len(set(seen)) == 5
    assert abs(seen[-1] - 800) <= 4
    _restart_spouts(scene, 9.0)
    assert scene.plane.committed_lines("t") == seen[-1]
    scene.plane.run_until(16 * SECOND)
    assert abs(scene.plane.committed_lines("t") - 1600) <= 4


def test_the_committed_offset_stops_at_a_line_that_is_not_acked() -> None:
    # The bolt is down from 3 to 8 s: tuples sent to it fail and are replayed later than their successors.
    scene = _scene(replace(LOG, rate_per_s=10.0))
    slot = Slot("node1", 6700)
    scene.plane.run_until(3 * SECOND)
    scene.plane.stop_worker(scene.workers[slot])
    scene.plane.run_until(8 * SECOND)
    assert scene.plane.committed_lines("t") <= 30
    scene.start_again(slot, slot)
    scene.plane.run_until(9 * SECOND)
    acked = scene.plane.acked_roots("t")
    assert acked > scene.plane.committed_lines("t")
    scene.plane.run_until(40 * SECOND)
    assert abs(scene.plane.committed_lines("t") - 400) <= 4


def test_a_second_copy_of_a_reader_keeps_the_log_going_without_a_rewind() -> None:
    scene = _scene(LOG, spouts=1)
    (spout,) = [e for e in scene.view if e.component == "spout"]
    scene.plane.run_until(8500 * MS)
    second = scene.plane.start_worker(Slot("node0", 6701), "t", [spout])
    for worker in (*scene.workers.values(), second):
        scene.plane.connect(worker, {**scene.view, spout: second})
    scene.plane.activate(second, True)
    scene.plane.run_until(9 * SECOND)
    scene.plane.stop_worker(scene.workers[Slot("node0", 6700)])
    roots = _end(scene, 20.0)
    acked = Counter(_lines(roots, roots["outcome"] == "acked"))
    assert max(acked.values()) == 1
    assert set(range(1900)) <= set(acked)


def test_a_held_line_is_emitted_until_it_is_acked_and_then_never_again() -> None:
    scene = _scene(replace(HELD, rate_per_s=600.0), work_us=2000)  # More than the bolt can handle: many wait.
    _restart_spouts(scene, 3.0)
    scene.plane.set_load("t", "spout", 0.0)
    roots = _end(scene, 60.0)
    lost = _lines(roots, roots["outcome"] == "lost")
    assert len(lost) > 100
    acked = Counter(_lines(roots, roots["outcome"] == "acked"))
    assert set(acked.values()) == {1}
    assert sorted(acked) == list(range(len(acked)))
    assert set(lost) <= set(acked)


def test_a_popped_line_is_emitted_once_even_if_its_spout_dies() -> None:
    roots = _after_death(3.0, replace(POPPED, rate_per_s=600.0))
    assert (roots["outcome"] == "lost").sum() > 100
    assert max(Counter(roots["line"].tolist()).values()) == 1
    assert (roots["attempt"] == 0).all()


@pytest.mark.parametrize("on_fail", list(FailurePolicy))
def test_callers_wait_for_their_answers_and_continue_after_a_death(on_fail: FailurePolicy) -> None:
    roots = _after_death(3.0, replace(CALLS, on_fail=on_fail))
    steps = [(int(t), 1) for t in roots["emit_ns"]]
    steps += [(int(t), -1) for t in roots["complete_ns"] if t >= 0]
    waiting = np.cumsum([step for _, step in sorted(steps)])
    assert waiting.max() <= CALLS.calls
    after = roots["emit_ns"] > 5 * SECOND
    before = (roots["emit_ns"] > SECOND) & (roots["emit_ns"] < 3 * SECOND)
    # The same calls a second as before the death: no caller has been forgotten.
    assert 0.9 <= (after.sum() / 15) / (before.sum() / 2) <= 1.1


@pytest.mark.parametrize("source", [LOG, HELD])
def test_a_line_taken_but_not_emitted_by_a_dying_spout_returns_to_the_source(source: SourcePlan) -> None:
    # Each fetch takes 400 ms, so the spouts are killed with a line in hand.
    roots = _after_death(2.1, replace(source, fetch_ns=400 * MS, rate_per_s=1000.0))
    acked = _lines(roots, roots["outcome"] == "acked")
    assert set(range(max(acked))) <= {*acked, *_lines(roots, roots["outcome"] == "pending")}


def test_a_popped_line_in_hand_is_lost_with_its_spout() -> None:
    roots = _after_death(2.1, replace(POPPED, fetch_ns=400 * MS, rate_per_s=1000.0))
    missing = set(range(int(roots["line"].max()))) - set(roots["line"].tolist())
    assert len(missing) == 2  # One in hand in each of the two spouts.


def test_a_log_read_by_a_fetch_thread_is_read_again_from_its_last_checkpoint() -> None:
    roots = _after_death(9.0, replace(LOG, fetch_ns=300 * MS, fetch_lines=50, fetch_thread=True))
    acked = _lines(roots, roots["outcome"] == "acked")
    assert set(range(max(acked))) <= {*acked, *_lines(roots, roots["outcome"] == "pending")}
    assert max(acked) > 1900


def test_recorded_arrivals_of_a_log_are_dealt_to_its_partitions_and_all_acked() -> None:
    times = np.arange(0, 1000, 10, dtype=np.int64) * MS
    plan = SourcePlan(
        SourceKind.TRACE,
        arrivals_ns=times,
        arrival_period_ns=SECOND,
        on_fail=REPLAY,
        checkpoint_ns=2 * SECOND,
    )
    roots = _after_death(9.0, plan, spouts=3)
    acked = set(_lines(roots, roots["outcome"] == "acked"))
    for partition, each_second in enumerate((34, 33, 33)):
        own = sorted(line for line in acked if line % 3 == partition)
        assert own == list(range(partition, own[-1] + 1, 3))
        assert 20 * each_second - 2 <= len(own) <= 20 * each_second + 1


def test_a_changed_rate_reaches_every_partition() -> None:
    scene = _scene(LOG, spouts=3)
    scene.plane.run_until(5 * SECOND)
    scene.plane.set_load("t", "spout", 400.0)
    roots = _end(scene, 10.0)
    assert abs(len(roots["line"]) - (500 + 2000)) <= 12


def rows_after_a_death() -> str:
    """Digest of the roots of a log, of held queues and of callers around a death of their spouts."""
    digest = hashlib.sha256()
    for source in (
        replace(LOG, checkpoint_ns=100 * MS),
        replace(HELD, fetch_ns=20 * MS),
        replace(HELD, fetch_ns=20 * MS, fetch_lines=2, fetch_thread=True),
        replace(CALLS, calls=3),
    ):
        scene = _scene(source)
        _restart_spouts(scene, 0.25, 0.1)
        for column in _end(scene, 0.5).values():
            digest.update(column.astype(str).astype("S20").tobytes())
    return digest.hexdigest()


@pytest.mark.slow
def test_the_same_lines_are_replayed_without_the_compiler() -> None:
    assert printed(__name__, "t.rows_after_a_death()") == rows_after_a_death()


def test_running_the_plane_in_small_steps_changes_nothing() -> None:
    whole, pieces = _scene(LOG), _scene(LOG)
    for tenth in range(1, 90):
        pieces.plane.run_until(tenth * SECOND // 10)
    ends = []
    for scene in (whole, pieces):
        _restart_spouts(scene, 9.0)
        ends.append(_end(scene, 15.0))
    for name in ends[0]:
        assert (ends[0][name] == ends[1][name]).all()


def test_a_log_stores_the_first_line_that_is_not_acked() -> None:
    log = OffsetLog("t", 0, range(3), SECOND)
    log.ack([1, 7, 10, 8], [0, 0, 2, 0])
    log.checkpoint()
    assert (log.stored, log.committed) == ([0, 4, 2], 1)
    assert log.forget(1) == {7: 0, 10: 2}
    log.ack([4, 2], [1, 0])
    log.checkpoint()
    assert (log.stored, log.committed) == ([0, 7, 5], 3)


def test_a_log_without_ackers_is_refused() -> None:
    topology = chain([1, 1], ackers=0)
    trace = chain_trace([constant_work(US, 10)])
    with pytest.raises(UserError, match="has no ackers"):
        start(topology, trace, LOG)


def test_a_topology_without_a_log_has_no_committed_offset() -> None:
    with pytest.raises(UserError, match="no spout of this topology reads a log"):
        _scene(HELD).plane.committed_lines("t")


@pytest.mark.parametrize("source", [CALLS, replace(HELD, rate_per_s=20_000.0)], ids=["calls", "held"])
def test_a_spout_that_dies_while_it_waits_for_the_log_gives_its_line_back(source: SourcePlan) -> None:
    topology = chain([4, 1], ackers=1, settings={"topology.debug": True})
    scene = start(topology, chain_trace([constant_work(10 * US)]), source, nodes(2, cores=8), apart)
    threads = scene.plane.kernel.thread
    at = 300 * MS
    while (
        (threads["role"] == kinds.SPOUT)
        & (threads["state"] == kinds.WAITING)
        & (threads["wait"] == kinds.WAIT_LOG)
    ).sum() < 2:
        at += 5 * US
        scene.plane.run_until(at)
        threads = scene.plane.kernel.thread
    scene.plane.stop_worker(scene.workers[Slot("node0", 6700)])
    scene.start_again(Slot("node0", 6700), Slot("node0", 6701))
    end = _end(scene, at / SECOND + 1)
    if source is CALLS:
        assert (end["emit_ns"] > at).sum() > 0
        calls = Counter(end["line"][end["outcome"] == "pending"].tolist())
        assert len(calls) <= source.calls
        assert _calls_at_work(scene) == source.calls
    else:
        lines = set(end["line"].tolist())
        assert lines == set(range(max(lines) + 1))


def _calls_at_work(scene: Scene) -> int:
    """Number of a closed loop's calls that wait for a spout, are in one, or have a pending root tuple."""
    k = scene.plane.kernel
    head, waiting = int(k.source[0].head), 0
    while head >= 0:
        head, waiting = int(k.message[head].next), waiting + 1
    return waiting + int((k.root["executor"] >= 0).sum())


def test_attempts_are_counted_up_to_what_their_column_holds() -> None:
    trace = chain_trace([constant_work(10 * US, 10)])
    trace.records["emissions"][1:] = -1
    scene = start(chain([1, 1], ackers=1), trace, replace(HELD, rate_per_s=0.01))
    scene.plane.run_until(SECOND)
    pending = scene.plane.kernel.root["executor"] >= 0
    scene.plane.kernel.root["attempt"][pending] = 40_000
    scene.play(SECOND + 10 * MS)
    assert scene.tape.column("roots", "attempt").max() == 32_767
