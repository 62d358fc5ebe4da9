"""Small topologies computed by hand, tuple by tuple, for each Storm version.

All costs are round numbers in microseconds, so that every instant can be added up on paper.
"""

from __future__ import annotations

import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_6, V2_8_8
from tests.emulator.scene import MS, SECOND, US, Scene, at_times, nodes, start_chain, together

# One line at 10 ms; the next one an hour later.
ONE_LINE = at_times([10 * MS], anchored=True)


def with_round_costs(scene: Scene) -> Scene:
    k = scene.plane.kernel
    for name in k.cost.dtype.names:
        if not name.endswith("_batch") and name not in ("housekeeping_period", "warm_keep", "inactive_sleep"):
            k.cost[name] = 0
    for name, us in (
        ("poll", 100), ("emit", 10), ("dispatch", 20), ("send", 5), ("serialise", 40), ("deserialise", 50),
        ("transfer", 7), ("receive", 8), ("acker", 30), ("spout_ack", 60), ("wake", 3), ("idle_sleep", 1000),
    ):  # fmt: skip
        k.cost[name] = us * US
    k.node["nic_ps_per_byte"] = 0
    lan = k.channel["latency"] == 100 * US
    k.channel["latency"][:] = 0
    k.channel["latency"][lan] = 200 * US
    return scene


def play(version: StormVersion, place) -> Scene:
    scene = start_chain((1, 1), 300 * US, ONE_LINE, nodes(2, cores=8), place, ackers=1, version=version)
    scene = with_round_costs(scene)
    scene.play(1 * SECOND)
    return scene


def bolt_apart(executor: Executor) -> Slot:
    return Slot("node1" if executor.component == "bolt0" else "node0", 6700)


def only(scene: Scene, table: str, column: str) -> int:
    values = scene.tape.column(table, column)
    assert len(values) == 1
    return int(values[0])


def test_one_line_through_one_worker_of_storm_0_8() -> None:
    scene = play(V0_8_2, together)
    # The spout's empty turns are 1 ms apart from 0 on, so it finds the line at 10 ms.
    emit = 10 * MS + (100 + 2 * 10) * US  # poll, one copy and one init
    assert only(scene, "roots", "emit_ns") == emit
    # The send thread is woken; by then tuple and init are both in its queue.
    sent = emit + (3 + 2 * 5) * US
    assert only(scene, "executions", "enqueue_ns") == sent
    begin = sent + 3 * US
    assert only(scene, "executions", "start_ns") == begin
    end = begin + (20 + 300 + 10) * US  # dispatch, user code, the ack's emit
    assert only(scene, "executions", "end_ns") == end
    acked = end + (3 + 5 + 3 + 20 + 30) * US  # send thread, acker woken, dispatch, ledger
    told = acked + (3 + 5) * US  # the acker's send thread reaches the spout's queue
    # The spout sleeps in steps of 1 ms from the end of its emitting turn.
    turn = emit + 1 * MS
    assert told < turn
    done = turn + (20 + 60) * US
    assert only(scene, "roots", "complete_ns") == done
    assert only(scene, "roots", "latency_ns") == done - emit


def test_storm_2_has_no_send_thread_and_measures_latency_in_the_acker() -> None:
    scene = play(V2_8_8, together)
    emit = 10 * MS + 120 * US
    # Straight into the bolt's queue.
    assert only(scene, "executions", "enqueue_ns") == emit
    begin = emit + 3 * US
    end = begin + (20 + 300 + 10) * US
    assert only(scene, "executions", "end_ns") == end
    init_done = emit + (3 + 20 + 30) * US
    ack_done = end + (3 + 20 + 30) * US
    assert only(scene, "roots", "latency_ns") == ack_done - init_done


@pytest.mark.parametrize(
    ("version", "sent_us", "received_us", "executed_us"),
    [
        # The send thread serialises the tuple; the init, which follows it, stays in the process. The
        # executor's own thread deserialises.
        pytest.param(V0_8_2, 3 + 5 + 40 + 5, 3 + 8, 20 + 50 + 300 + 10, id="0.8"),
        # A network thread precedes the receive thread.
        pytest.param(V0_9_7, 3 + 5 + 40 + 5, 3 + 8 + 3, 20 + 50 + 300 + 10, id="0.9"),
        # The network thread deserialises.
        pytest.param(V1_0_6, 3 + 5 + 40 + 5, 3 + 8 + 50 + 3, 20 + 300 + 10, id="1"),
        # The spout serialises, and the receive thread deserialises.
        pytest.param(V2_8_8, 40, 3 + 8 + 50, 20 + 300 + 10, id="2"),
    ],
)
def test_a_remote_hop_passes_shared_threads_and_the_network(
    version: StormVersion, sent_us: int, received_us: int, executed_us: int
) -> None:
    scene = play(version, bolt_apart)
    emit = 10 * MS + 120 * US
    wire = emit + (sent_us + 3 + 7) * US  # then the transfer thread
    received = wire + (200 + received_us) * US
    assert only(scene, "executions", "enqueue_ns") == received
    begin = received + 3 * US
    assert only(scene, "executions", "start_ns") == begin
    assert only(scene, "executions", "end_ns") == begin + executed_us * US


def test_a_sleep_inside_next_tuple_rounds_latency_up_to_its_end() -> None:
    """T-Storm section III: a spout that sleeps 5 ms per emit sees acks only when it wakes up."""
    latencies = []
    for work in (1 * MS, 6 * MS):
        scene = start_chain(
            (1, 1),
            work,
            SourcePlan(SourceKind.SATURATED, sleep_ns=5 * MS),
            nodes(1, cores=8),
            ackers=1,
            ideal=True,
        )
        scene.plane.kernel.topology[0].max_pending = 1
        scene.play(1 * SECOND)
        latencies.append(scene.tape.column("roots", "latency_ns"))
    # With one tuple pending the spout polls every 1 ns of its idle sleep, so nothing is rounded up.
    assert set(latencies[0][latencies[0] >= 0]) == {1 * MS}
    assert set(latencies[1][latencies[1] >= 0]) == {6 * MS}
    scene = start_chain(
        (1, 1),
        6 * MS,
        SourcePlan(SourceKind.SATURATED, sleep_ns=7 * MS),
        nodes(1, cores=8),
        ackers=1,
        ideal=True,
    )
    scene.play(1 * SECOND)
    latency = scene.tape.column("roots", "latency_ns")
    # Without a limit it is asleep when the ack comes after 6 ms, and sees it after 7 ms.
    assert set(latency[latency >= 0]) == {7 * MS}
