"""Batches of Storm 1.x and 2.x: tuples that are gathered before they are handed over, and their flushes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.queue_sizes import QueueSizes
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.model import Topology
from storm_lab.model.settings import (
    DISRUPTOR_BATCH,
    DISRUPTOR_FLUSH_MS,
    FLUSH_MS,
    LOAD_AWARE_OFF,
    PRODUCER_BATCH,
    RECEIVE_BUFFER,
    SEND_BUFFER,
    TRANSFER_BATCH,
    TRANSFER_BUFFER,
)
from storm_lab.model.version import V2_8_8, StormVersion
from tests.emulator.scene import (
    MS,
    PLAIN,
    SATURATED,
    SECOND,
    Scene,
    apart,
    chain,
    chain_trace,
    constant_work,
    nodes,
    rate,
    start,
    start_chain,
    together,
)

NEVER_FLUSHED = {FLUSH_MS: 0}
V1_2_4 = StormVersion((1, 2, 4))


def burst(lines: int, at: int = 0) -> SourcePlan:
    """``lines`` lines that all arrive at the instant ``at``."""
    arrivals = np.full(lines, at, np.int64)
    return SourcePlan(SourceKind.TRACE, arrivals_ns=arrivals, arrival_period_ns=900 * SECOND, anchored=False)


def scene(source: SourcePlan, place: Any = together, work: int = 0, **given: int) -> Scene:
    return start_chain((1, 1), work, source, nodes(2), place, given=given, version=V2_8_8, ideal=True)


def enqueued(source: SourcePlan, place: Any = together, work: int = 0, **given: int) -> list[float]:
    """Instants at which tuples were put into the bolt's queue, in ms."""
    played = scene(source, place, work, **given)
    played.play(SECOND)
    if "executions" not in played.tape.rows:
        return []
    return [float(t) / MS for t in np.sort(played.tape.column("executions", "enqueue_ns"))]


def test_a_full_batch_is_handed_over_when_one_more_tuple_arrives() -> None:
    assert len(enqueued(burst(25), **{PRODUCER_BATCH: 10}, **NEVER_FLUSHED)) == 20
    assert len(enqueued(burst(20), **{PRODUCER_BATCH: 10}, **NEVER_FLUSHED)) == 10
    assert enqueued(burst(10), **{PRODUCER_BATCH: 10}, **NEVER_FLUSHED) == []


def test_a_flush_tuple_makes_an_executor_hand_over_its_incomplete_batch() -> None:
    # Flush tuples come at 5, 10, 15 ms, ...; the lines arrive at 12 ms.
    assert enqueued(burst(3, 12 * MS), **{PRODUCER_BATCH: 10, FLUSH_MS: 5}) == pytest.approx(
        [15] * 3, abs=0.01
    )
    assert enqueued(burst(3, 12 * MS)) == pytest.approx([12] * 3, abs=0.01)


def test_each_queue_has_a_batch_of_its_own() -> None:
    def reached(**given: int) -> int:
        played = start_chain(
            (1, 4),
            0,
            burst(40),
            given={**given, **NEVER_FLUSHED, LOAD_AWARE_OFF: True},
            version=V2_8_8,
            ideal=True,
        )
        played.plane.run_until(SECOND)
        return int(played.plane.kernel.task["executed"].sum())

    # Shuffle grouping gives each of the four bolts ten tuples, so no batch of ten gets an eleventh.
    assert reached(**{PRODUCER_BATCH: 10}) == 0
    assert reached(**{PRODUCER_BATCH: 9}) == 4 * 9
    assert reached(**{PRODUCER_BATCH: 1}) == 40


def test_tuples_for_other_workers_are_batched_for_the_transfer_queue() -> None:
    assert len(enqueued(burst(25), apart, **{TRANSFER_BATCH: 10}, **NEVER_FLUSHED)) == 20
    late = enqueued(burst(3, 12 * MS), apart, **{TRANSFER_BATCH: 10, FLUSH_MS: 5})
    assert late == pytest.approx([15] * 3, abs=0.01)


def test_batches_of_tuples_read_from_other_workers_are_never_flushed() -> None:
    # JCQueue's batches belong to threads, and flush tuples go to executors only.
    assert len(enqueued(burst(25), apart, **{PRODUCER_BATCH: 10, FLUSH_MS: 5})) == 20
    assert len(enqueued(burst(25), apart, **{PRODUCER_BATCH: 1, TRANSFER_BATCH: 10, FLUSH_MS: 5})) == 25


def latencies(version: StormVersion, **given: int) -> list[float]:
    """Times from emit to the spout's ack in ms, for seven tuples a second through a spout and a bolt."""
    played = start_chain(
        (1, 1), 0, rate(7.0, anchored=True), ackers=1, given=given, version=version, ideal=True
    )
    played.play(9 * SECOND + SECOND // 2)
    outcomes = played.tape.column("roots", "outcome")
    assert len(outcomes) == 67
    assert set(outcomes) == {"acked"}
    return [float(t) / MS for t in played.tape.spans("emit_ns", "complete_ns", "roots")]


def test_acks_wait_for_flushes_too_but_none_is_lost() -> None:
    assert max(latencies(V2_8_8)) < 0.1
    # A tuple waits for the next flush; then bolt to acker and acker to spout take a full interval each.
    slow = latencies(V2_8_8, **{PRODUCER_BATCH: 100, FLUSH_MS: 10})
    assert min(slow) == pytest.approx(20, abs=2)
    assert max(slow) == pytest.approx(30, abs=2)
    assert sum(slow) / len(slow) == pytest.approx(25, abs=1)


def test_a_full_queue_blocks_the_producer_of_a_batch_and_nothing_is_lost() -> None:
    given = {PRODUCER_BATCH: 8, RECEIVE_BUFFER: 16, **NEVER_FLUSHED}
    played = scene(SATURATED, work=MS, **given)
    played.plane.run_until(SECOND // 2)
    k = played.plane.kernel
    emitted, executed = int(k.task["emitted"].max()), int(k.task["executed"].max())
    # One tuple in hand, sixteen in the queue, eight in the batch, and one that does not fit.
    assert executed == pytest.approx(500, abs=2)
    assert emitted - executed == 1 + 16 + 8 + 1
    assert played.plane.kernel.s[0].lost == 0


def test_stopping_a_worker_drops_its_batches_and_returns_messages_to_the_pool() -> None:
    played = scene(burst(25), **{PRODUCER_BATCH: 10}, **NEVER_FLUSHED)
    played.plane.run_until(SECOND)
    (worker,) = played.workers.values()
    assert sum(played.plane.stop_worker(worker)) == 5
    k = played.plane.kernel
    assert k.s[0].free_messages == len(k.message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({PRODUCER_BATCH: 17, RECEIVE_BUFFER: 32}, "producer.batch.size = 17: .*, or at most 16$"),
        ({TRANSFER_BATCH: 501}, "transfer.batch.size = 501: .*half of its queue.*, or at most 500$"),
        ({TRANSFER_BATCH: 3, TRANSFER_BUFFER: 4}, "give a larger topology.transfer.*, or at most 2$"),
        ({TRANSFER_BUFFER: 1}, "batch.size = 1: .*give a larger topology.transfer.buffer.size$"),
    ],
    ids=str,
)
def test_a_batch_larger_than_half_of_its_queue_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        QueueSizes.of(V2_8_8, given)


# Storm 1.x


def test_a_tuple_of_1_x_waits_for_a_tick_before_each_queue() -> None:
    # Spout, bolt and acker each have a receive and a send queue, so a tuple passes six queues. It waits half
    # an interval on average for the first tick, and a full interval for each of the others.
    alone = latencies(V1_2_4, **{DISRUPTOR_BATCH: 100, DISRUPTOR_FLUSH_MS: 10})
    assert sum(alone) / len(alone) == pytest.approx(55, abs=1)
    assert max(latencies(V1_2_4, **{DISRUPTOR_BATCH: 1})) < 0.1


def test_a_batch_of_1_x_is_handed_over_as_soon_as_it_is_full() -> None:
    def reached(lines: int) -> int:
        given = {DISRUPTOR_BATCH: 10, DISRUPTOR_FLUSH_MS: 60_000}
        played = start_chain((1, 1), 0, burst(lines), given=given, version=V1_2_4, ideal=True)
        played.plane.run_until(SECOND)
        return int(played.plane.kernel.task["executed"].sum())

    assert (reached(9), reached(10), reached(25)) == (0, 10, 20)


def most_queued(kind: str, component: str, topology: Topology, cost: CostModel) -> int:
    """Largest length of the queue of a component's main or send thread, sampled every ms for a second."""
    played = start(
        topology,
        chain_trace([constant_work(0), constant_work(MS)]),
        SourcePlan(SourceKind.SATURATED, anchored=topology.ackers > 0),
        version=V1_2_4,
        cost=cost,
    )
    most = 0
    for millisecond in range(1000):
        played.plane.run_until(millisecond * MS)
        k = played.plane.kernel
        (own,) = (life for life, e in enumerate(played.view) if e.component == component)
        most = max(most, int(k.thread["length"][k.executor[f"{kind}_thread"][own]]))
    return most


def test_a_full_receive_queue_of_1_x_overflows_and_blocks_no_producer() -> None:
    small = {RECEIVE_BUFFER: 16, DISRUPTOR_BATCH: 100}
    loose = chain((1, 1, 1), ackers=0, settings=small)
    assert most_queued("main", "bolt1", loose, PLAIN) > 10 * 16 * 8
    held = chain((1, 1, 1), ackers=1, settings=small, max_spout_pending=50)
    assert most_queued("main", "bolt1", held, PLAIN) <= 50


def test_a_spout_of_1_x_emits_nothing_while_its_send_queue_is_full() -> None:
    # The send thread takes far longer per tuple than the spout.
    slow = replace(PLAIN, send_us=10.0, poll_us=1.0, emit_us=0.5, switch_us=0.0)

    def sending(places: int, batch: int) -> int:
        topology = chain((1, 1, 1), ackers=0, settings={SEND_BUFFER: places, DISRUPTOR_BATCH: batch})
        return most_queued("send", "spout", topology, slow)

    assert 4 <= sending(4, 1) <= 5
    # The spout checks the length of the queue and ignores the tuples still in its batch.
    assert 16 <= sending(16, 100) <= 16 + 100
