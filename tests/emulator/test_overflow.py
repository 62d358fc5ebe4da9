"""From 1.0 on receive threads hand over whole reads; in 2.x what finds a full queue waits in an overflow."""

from __future__ import annotations

import numpy as np
import pytest

from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.version import V1_0_6, V2_8_8
from tests.emulator.scene import (
    MS,
    SATURATED,
    SECOND,
    Scene,
    apart,
    at_times,
    nodes,
    start_chain,
)

PLACES = 1024
SMALL = {"topology.executor.receive.buffer.size": PLACES}


def mains(scene: Scene, *, spouts: bool) -> list[int]:
    """The main threads of the spouts, or of the bolts."""
    k = scene.plane.kernel
    return [
        int(e.main_thread)
        for e in k.executor
        if e.alive and bool(k.component[e.component].is_spout) == spouts
    ]


@pytest.mark.parametrize(
    ("version", "size", "reads"),
    [
        pytest.param(V1_0_6, 100, 2, id="all that has arrived"),
        pytest.param(V2_8_8, 100, 2, id="in 2.x, too"),
        pytest.param(V2_8_8, 10_000, 15, id="64 KiB at most, seven tuples of 10 KB"),
    ],
)
def test_reads_of_a_receive_thread(version: StormVersion, size: int, reads: int) -> None:
    """A hundred tuples are sent at once. Two are read first; the others arrive meanwhile."""
    scene = start_chain(
        (1, 1), 0, at_times([0] * 100), nodes(2), apart, size=size, version=version, ideal=True
    )
    k = scene.plane.kernel
    k.cost["read"] = 1 * MS
    scene.play(1 * SECOND)
    started = scene.tape.column("executions", "start_ns")
    assert len(started) == 100
    assert len(np.unique(started)) == reads


def test_a_sender_of_2_x_goes_on_when_the_full_queue_and_its_overflow_are_empty() -> None:
    """The bolt takes a millisecond per tuple, so each of the sender's pauses is longer than a second."""
    scene = start_chain((1, 1), 1 * MS, SATURATED, nodes(2), apart, given=SMALL, version=V2_8_8)
    (spout,), (bolt,) = mains(scene, spouts=True), mains(scene, spouts=False)
    waited, pauses, left = False, 0, 0
    for ms in range(10_000):
        scene.play(ms * MS)
        thread = scene.plane.kernel.thread
        # A full transfer queue stops it for moments, too.
        waits = bool(thread["waits"][spout]) and thread["senders"][bolt] == spout
        if waited and not waits:
            pauses += 1
            assert left <= 2, "it waits for the last tuple, not for the first free place"
        waited, left = waits, int(thread["length"][bolt] + thread["overflow"][bolt])
    assert 3 <= pauses <= 9


@pytest.mark.parametrize("every_ms", [50, 400])
def test_a_worker_of_2_x_looks_at_intervals_whether_an_overflow_is_gone(every_ms: int) -> None:
    """The bolt takes what is left of its overflow and is idle until then; two overflows are followed."""
    given = {**SMALL, "topology.backpressure.check.millis": every_ms}
    scene = start_chain((1, 1), 1 * MS, SATURATED, nodes(2), apart, given=given, version=V2_8_8)
    (spout,), (bolt,) = mains(scene, spouts=True), mains(scene, spouts=False)
    overflow, gone, waits = 0, [], []
    for ms in range(6000):
        scene.play(ms * MS)
        t = scene.plane.kernel.thread[bolt]
        if overflow > 0 and t.overflow == 0:
            gone.append(ms)
        if len(gone) > len(waits) and t.senders != spout:
            waits.append(ms)
        overflow = int(t.overflow)
    assert len(waits) >= 2
    for ended, noticed in zip(gone, waits, strict=True):
        assert noticed == (ended // every_ms + 1) * every_ms


def test_in_2_x_a_flood_from_its_own_worker_shuts_out_what_other_workers_send_a_bolt() -> None:
    """The bolt never finds its queue empty, so it takes nothing from the overflow, and the sender waits."""

    def place(executor: Executor) -> Slot:
        far = executor.component == "spout" and executor.start == 2
        return Slot("node1" if far else "node0", 6700)

    scene = start_chain((2, 1), 1 * MS, SATURATED, nodes(2, cores=4), place, given=SMALL, version=V2_8_8)
    scene.play(20 * SECOND)
    started = scene.tape.column("executions", "start_ns")
    senders = scene.tape.column("executions", "source_task")[started > 5 * SECOND]
    assert len(senders) > 10_000
    assert len(set(senders)) == 1


def test_in_2_x_an_executor_takes_all_of_an_overflow_that_it_finds_when_its_queue_is_empty() -> None:
    """What its own worker sends meanwhile, 300 tuples/s, waits until it is through."""
    times = [0] * 1000 + [100 * MS + line * SECOND // 300 for line in range(600)]
    scene = start_chain((1, 1), 1 * MS, at_times(times), nodes(1, cores=4), version=V2_8_8)
    scene.play(300 * MS)
    k = scene.plane.kernel
    (bolt,) = mains(scene, spouts=False)
    t = k.thread[bolt]
    assert t.length > 600
    kept = int(t.head)
    for _ in range(99):
        kept = int(k.message["next"][kept])
    t.overflow_head, t.overflow_tail, t.overflow = k.message["next"][kept], t.tail, t.length - 100
    t.tail, t.length, t.places = kept, 100, 100
    k.message["next"][kept] = -1
    overflow = int(t.overflow)
    scene.play(3 * SECOND)
    entered, started = (
        scene.tape.column("executions", "enqueue_ns"),
        scene.tape.column("executions", "start_ns"),
    )
    order = entered[np.argsort(started, kind="stable")]
    early = np.flatnonzero(order <= 300 * MS)
    last = early[-overflow:]
    assert (np.diff(last) == 1).all()
    assert last[0] - early[-overflow - 1] > 30, "those that came while the queue was emptied are first"
