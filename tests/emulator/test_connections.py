"""System calls, computed by hand: a batch needs one call per connection, however many tuples it holds.

All instants are compared with those of the same scene with free calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from storm_lab.model import Executor, Grouping, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V2_8_8
from tests.emulator.scene import MS, PLAIN, SATURATED, SECOND, US, apart, at_times, nodes, start_chain

CALL = 40
"""Cost of the system call for a batch, in microseconds."""
ONE_LINE = at_times([10 * MS])
VERSIONS = pytest.mark.parametrize("version", [V0_8_2, V0_9_7, V2_8_8])


def in_separate_workers(executor: Executor) -> Slot:
    return Slot("node0", 6700) if executor.component == "spout" else Slot("node1", 6700 + executor.tasks[0])


def delays_by_calls(version: StormVersion, place: Callable[[Executor], Slot], bolts: int) -> set[int]:
    """Microseconds by which system calls delay the copies of one tuple; every bolt gets a copy."""
    enqueued = []
    for call_us in (0.0, float(CALL)):
        scene = start_chain(
            (1, bolts),
            300 * US,
            ONE_LINE,
            nodes(2, cores=8, nic_mbps=1e6),
            place,
            grouping=Grouping.ALL,
            version=version,
            cost=replace(PLAIN, idle_jvm_share=0.0, read_us=call_us, write_us=call_us),
        )
        scene.play(SECOND)
        enqueued.append(np.sort(scene.tape.column("executions", "enqueue_ns")))
    assert len(enqueued[0]) == bolts
    return set(((enqueued[1] - enqueued[0]) // US).tolist())


@VERSIONS
def test_a_single_tuple_costs_one_write_call_and_one_read_call(version: StormVersion) -> None:
    assert delays_by_calls(version, apart, 1) == {2 * CALL}


@VERSIONS
def test_tuples_sent_together_to_one_worker_share_both_calls(version: StormVersion) -> None:
    assert delays_by_calls(version, apart, 4) == {2 * CALL}


@VERSIONS
def test_tuples_for_four_workers_need_four_write_calls(version: StormVersion) -> None:
    assert delays_by_calls(version, in_separate_workers, 4) == {4 * CALL + CALL}


def test_a_reader_that_falls_behind_pays_less_per_tuple() -> None:
    """In a flood, a core that only reads spends a smaller part of its time on calls the more tuples wait."""
    read = []
    for call_us in (0.0, float(CALL)):
        scene = start_chain(
            (1, 1),
            1 * US,
            SATURATED,
            nodes(2, cores=4),
            apart,
            version=V0_9_7,
            cost=replace(PLAIN, idle_jvm_share=0.0, receive_us=60.0, read_us=call_us),
        )
        scene.plane.run_until(5 * SECOND)
        k = scene.plane.kernel
        worker = scene.workers[Slot("node1", 6700)]
        reader = k.thread[k.worker[worker].network_thread]
        assert reader.length > 1000
        scene.plane.finish()
        read.append(scene.tape.total("bolt0"))
    # Hundreds of tuples of 60 us share one call of 40 us, so the call costs nearly nothing.
    assert 0.99 * read[0] < read[1] <= read[0]
