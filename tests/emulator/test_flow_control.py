"""Queues that fill up: blocking, overflow, back-pressure and load-aware shuffle, per Storm version."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from storm_lab.emulator.state.kinds import SEND
from storm_lab.emulator.state.layout import DTYPES
from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.version import V0_9_7, V1_0_6, V2_8_8
from tests.emulator.scene import (
    MS,
    SATURATED,
    SECOND,
    US,
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


def flood(
    version: StormVersion, place: Callable[[Executor], Slot], seconds: int = 20, **settings: object
) -> Scene:
    """A spout that never sleeps and a bolt that needs 1 ms per tuple: a tenfold overload."""
    scene = start_chain((1, 1), 1 * MS, SATURATED, nodes(2), place, given=settings, version=version)
    scene.play(seconds * SECOND)
    return scene


def emitted_and_executed(scene: Scene) -> tuple[int, int]:
    return scene.tape.total("spout", "emitted"), scene.tape.total("bolt0")


def test_inside_a_worker_a_full_queue_slows_the_spout_to_the_bolts_pace() -> None:
    emitted, executed = emitted_and_executed(flood(V0_9_7, together, seconds=40))
    # Tuples left at the end: two full queues, and those in hand.
    assert emitted - executed <= 1024 * 8 + 1024 + 300


def test_nothing_slows_the_spout_down_between_workers_of_0_9() -> None:
    emitted, executed = emitted_and_executed(flood(V0_9_7, apart))
    assert emitted > 5 * executed


def test_back_pressure_of_1_x_stops_the_spouts_at_nine_tenths_of_a_queue() -> None:
    loose, _ = emitted_and_executed(flood(V1_0_6, apart))
    held, executed = emitted_and_executed(flood(V1_0_6, apart, **{"topology.backpressure.enable": True}))
    assert loose > 5 * executed
    # A full queue, and as many tuples that were still unread when the flag was set; it never runs empty.
    assert held - executed < 2 * 1024 * 8
    assert executed > 0.9 * 20 * SECOND / (1 * MS + 100 * US)


def test_back_pressure_of_2_x_makes_the_sender_wait_for_the_receiver() -> None:
    emitted, executed = emitted_and_executed(flood(V2_8_8, apart, seconds=60))
    assert emitted - executed < 32768 + 8000 + 300


def test_threads_that_wait_for_room_continue_in_first_come_first_served_order() -> None:
    """Three send threads wait for a queue of one place, and each gets its turn."""
    scene = start_chain((3, 1), 10 * MS, SATURATED, nodes(1, cores=8), version=V0_9_7, ideal=True)
    k = scene.plane.kernel
    k.cost["poll"] = 1 * MS
    bolt = next(i for i in range(len(k.executor)) if k.component[k.executor[i].component].is_spout == 0)
    k.thread["capacity"][k.executor[bolt].main_thread] = 1
    # A send thread takes all waiting tuples at once, so let no more than one gather.
    k.thread["capacity"][k.thread["kind"] == SEND] = 1
    scene.play(2 * SECOND)
    sources = scene.tape.column("executions", "source_task")[10:]
    assert len(sources) > 150
    for i in range(len(sources) - 3):
        assert len(set(sources[i : i + 3])) == 3


def shares(version: StormVersion, after_s: int = 0, **given: object) -> dict[int, int]:
    """Tuples that each of four bolts executes until 20 s, one of which is on the spout's node."""

    def place(executor: Executor) -> Slot:
        return Slot("node1" if executor.component == "bolt0" and executor.start > 1 else "node0", 6700)

    scene = start_chain(
        (1, 4), 100 * US, rate(500.0), nodes(2), place, given=given, version=version, count_window_s=1.0
    )
    scene.play(20 * SECOND)
    counted = scene.tape.column("counts", "component") == "bolt0"
    counted &= scene.tape.column("counts", "start_ns") >= after_s * SECOND
    tasks, executed = scene.tape.column("counts", "task"), scene.tape.column("counts", "executed")
    return {int(t): int(executed[counted & (tasks == t)].sum()) for t in np.unique(tasks[counted])}


def test_a_plain_shuffle_of_2_x_stays_in_the_worker_while_that_keeps_up() -> None:
    assert len(shares(V2_8_8)) == 1


def test_a_shuffle_is_even_with_load_aware_messaging_switched_off() -> None:
    found = shares(V2_8_8, **{"topology.disable.loadaware.messaging": True})
    assert max(found.values()) - min(found.values()) <= 1
    assert len(found) == 4


def test_load_aware_shuffle_of_1_x_is_even_while_queues_are_short_once_their_loads_are_known() -> None:
    found = shares(V1_0_6, after_s=8)
    assert len(found) == 4
    assert max(found.values()) < 1.1 * min(found.values())


def test_a_bolt_that_fails_its_tuple_fails_the_root_at_once() -> None:
    trace = chain_trace([constant_work(1 * MS, 4)])
    bolt_records = np.arange(1, 8, 2)
    trace.records["emissions"][bolt_records[::2]] = -1
    scene = start(chain((1, 1), ackers=1), trace, rate(100.0, anchored=True))
    scene.play(10 * SECOND)
    outcome, line = scene.tape.column("roots", "outcome"), scene.tape.column("roots", "line")
    done = outcome != "pending"
    assert set(outcome[done & (line % 4 % 2 == 0)]) == {"failed"}
    assert set(outcome[done & (line % 4 % 2 == 1)]) == {"acked"}
    taken = scene.tape.spans("emit_ns", "complete_ns", "roots")
    assert taken[done].max() < 1 * SECOND


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_field_names_do_not_hide_attributes_of_numpy_records(name: str) -> None:
    record = np.zeros(1, DTYPES[name]).view(np.recarray)
    for field in DTYPES[name].names or ():
        assert not hasattr(np.record, field), field
        assert not hasattr(np.ndarray, field) or field == "size", field
    assert record.shape == (1,)
