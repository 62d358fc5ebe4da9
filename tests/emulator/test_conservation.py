"""Conservation: roots, tuples and bytes of the log neither appear nor disappear."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.source import FailurePolicy
from storm_lab.model import Cluster, Executor, Grouping, Slot, StormVersion
from storm_lab.model.settings import DISRUPTOR_BATCH, FLUSH_MS, PRODUCER_BATCH, TRANSFER_BATCH
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_6, V2_8_8
from tests.emulator.scene import (
    MS,
    PLAIN,
    SECOND,
    US,
    Scene,
    chain,
    chain_trace,
    constant_work,
    in_turn,
    nodes,
    rate,
    start,
    start_chain,
    together,
)
from tests.emulator.uncompiled import printed

GROUPINGS = [
    Grouping.SHUFFLE,
    Grouping.FIELDS,
    Grouping.LOCAL_OR_SHUFFLE,
    Grouping.NONE,
    Grouping.GLOBAL,
    Grouping.ALL,
    Grouping.PARTIAL_KEY,
]

BATCHES = {V1_0_6: {DISRUPTOR_BATCH: 100}, V2_8_8: {PRODUCER_BATCH: 7, TRANSFER_BATCH: 3, FLUSH_MS: 5}}


def round_robin(executor: Executor) -> Slot:
    return Slot(f"node{executor.start % 3}", 6700 + executor.start % 2)


def storm(
    version: StormVersion,
    grouping: Grouping,
    seed: int = 1,
    replay: bool = False,
    rate_per_s: float = 300.0,
    scale: float = 1.0,
    crowded: bool = False,
    batches: bool = False,
) -> Scene:
    """A small, busy topology on three nodes, played for 20 s times ``scale``.

    A worker dies after a quarter of that time, and its executors restart elsewhere a little later. With
    ``crowded``, the nodes are containers on one machine, where threads and nodes take turns. With
    ``batches``, queues are filled in batches; in 1.x these have Storm's default size.
    """
    cluster = nodes(3, cores=2)
    settings = BATCHES[version] if batches else {}
    if crowded:
        cluster = Cluster(nodes(3, cores=2, cpu_quota=0.6, quota_period_ms=20.0).nodes, 2.0)
    scene = start(
        chain((2, 3, 3), grouping, ackers=2, message_timeout_s=3.0 * scale, settings=settings),
        chain_trace([constant_work(500 * US, 50), constant_work(900 * US, 50)], keys=range(50)),
        rate(rate_per_s, anchored=True, on_fail=FailurePolicy.REPLAY if replay else FailurePolicy.FORGET),
        cluster,
        round_robin,
        version=version,
        cost=replace(PLAIN, turn_us=1400.0 if crowded else 0.0),
        seed=seed,
    )
    plane = scene.plane
    plane.run_until(round(5 * scale * SECOND))
    slot = round_robin(next(e for e in scene.view if e.component == "bolt0"))
    plane.stop_worker(scene.workers[slot])
    plane.run_until(round(8 * scale * SECOND))
    scene.start_again(slot, Slot("node2", 6703))
    scene.play(round(20 * scale * SECOND))
    return scene


def digest(scene: Scene) -> str:
    total = hashlib.sha256()
    for table in sorted(scene.tape.rows):
        for chunk in scene.tape.rows[table]:
            for name in sorted(chunk):
                values = chunk[name]
                total.update(json.dumps(values.tolist()).encode())
    return total.hexdigest()


@pytest.mark.parametrize("version", [V0_8_2, V0_9_7, V1_0_6, V2_8_8], ids=str)
@pytest.mark.parametrize(
    ("grouping", "crowded"),
    [*((grouping, False) for grouping in GROUPINGS), (Grouping.SHUFFLE, True)],
    ids=[*(grouping.value for grouping in GROUPINGS), "crowded"],
)
def test_every_root_is_acked_failed_lost_or_pending_and_counted_once(
    version: StormVersion, grouping: Grouping, crowded: bool
) -> None:
    check_every_root(storm(version, grouping, crowded=crowded))


@pytest.mark.parametrize("version", [V1_0_6, V2_8_8], ids=str)
@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.ALL], ids=str)
def test_every_root_is_counted_once_with_batches_too(version: StormVersion, grouping: Grouping) -> None:
    check_every_root(storm(version, grouping, batches=True))


def check_every_root(scene: Scene) -> None:
    tape = scene.tape
    numbers = tape.column("roots", "root_id")
    assert len(np.unique(numbers)) == len(numbers)
    assert tape.total("spout", "emitted") == len(numbers)
    outcomes = tape.column("roots", "outcome")
    assert set(outcomes) <= {"acked", "failed", "lost", "pending"}
    assert (outcomes == "acked").sum() > 0.5 * len(numbers)
    # All messages are back in the pool except those that are still queued or in transit.
    k = scene.plane.kernel
    used = len(k.message) - int(k.s[0].free_messages)
    assert 0 <= used < 3000


def test_tuples_lost_with_a_worker_time_out_and_a_replaying_source_emits_them_again() -> None:
    scene = storm(V0_8_2, Grouping.SHUFFLE, replay=True)
    outcome, attempt = scene.tape.column("roots", "outcome"), scene.tape.column("roots", "attempt")
    assert (outcome == "failed").sum() > 0
    assert (attempt > 0).sum() > 0
    emit, done = scene.tape.column("roots", "emit_ns"), scene.tape.column("roots", "complete_ns")
    failed = (done - emit)[outcome == "failed"] / SECOND
    # The pending map is rotated every timeout: a tuple fails between one and two timeouts after its emit.
    assert failed.min() >= 3.0
    assert failed.max() <= 6.1


def test_the_same_seed_gives_the_same_bytes_and_another_seed_gives_others() -> None:
    assert digest(storm(V0_8_2, Grouping.SHUFFLE)) == digest(storm(V0_8_2, Grouping.SHUFFLE))
    assert digest(storm(V0_8_2, Grouping.SHUFFLE)) != digest(storm(V0_8_2, Grouping.SHUFFLE, seed=2))


def digests() -> list[str]:
    """Digests of short runs of each Storm version, with and without batches."""
    return [
        digest(storm(V0_8_2, Grouping.SHUFFLE, rate_per_s=50.0, scale=0.05)),
        digest(storm(V2_8_8, Grouping.PARTIAL_KEY, rate_per_s=50.0, scale=0.05)),
        digest(storm(V0_9_7, Grouping.SHUFFLE, rate_per_s=150.0, scale=0.05, crowded=True)),
        *(
            digest(storm(version, Grouping.SHUFFLE, rate_per_s=150.0, scale=0.05, batches=True))
            for version in (V1_0_6, V2_8_8)
        ),
    ]


def test_without_the_compiler_the_same_code_gives_the_same_bytes() -> None:
    assert printed(__name__, "*t.digests()").split() == digests()


def test_relabelling_nodes_changes_nothing_but_names() -> None:
    def mirrored(executor: Executor) -> Slot:
        slot = round_robin(executor)
        return Slot(f"node{2 - int(slot.node[-1])}", slot.port)

    latencies = []
    for place in (round_robin, mirrored):
        scene = start_chain(
            (2, 3, 3),
            [constant_work(500 * US, 50), constant_work(900 * US, 50)],
            rate(300.0, anchored=True),
            nodes(3, cores=2),
            place,
            ackers=2,
        )
        scene.play(10 * SECOND)
        latencies.append(scene.tape.column("roots", "latency_ns").tolist())
    assert latencies[0] == latencies[1]


def test_twice_the_rate_at_twice_the_clock_speed_gives_the_same_utilisation() -> None:
    used = []
    for factor in (1, 2):
        scene = start_chain(
            (1, 2),
            2 * MS,
            rate(200.0 * factor, anchored=True),
            nodes(2, cores=2, core_mhz=2000.0 * factor),
            in_turn(2),
            ackers=1,
            ideal=True,
        )
        scene.play(30 * SECOND)
        used.append(scene.tape.column("cpu", "cpu_ms").sum())
    assert used[1] == pytest.approx(used[0], rel=0.005)


def test_executors_of_an_overloaded_worker_execute_equal_shares_of_their_remote_tuples() -> None:
    """Check the identity of the recordings: executed = local + r x remote.

    Each worker has a single r, because its queue is FIFO.
    """
    scene = start_chain(
        (2, 4),
        800 * US,
        rate(9000.0),
        nodes(3, cores=1),
        lambda e: Slot("node0" if e.component == "spout" else f"node{1 + e.start % 2}", 6700),
    )
    scene.play(60 * SECOND)
    tape = scene.tape
    late = tape.column("counts", "start_ns") >= 30 * SECOND
    bolts = tape.column("counts", "component") == "bolt0"
    tasks, executed = tape.column("counts", "task"), tape.column("counts", "executed")
    per_task = {t: executed[late & bolts & (tasks == t)].sum() for t in set(tasks[bolts])}
    sent = tape.column("traffic", "tuples")
    target = tape.column("traffic", "target_task")
    worker_of = {e.start: w for e, w in scene.view.items()}
    shares: dict[int, list[float]] = {}
    for task, count in per_task.items():
        arrived = sent[(target == task)].sum() / 2
        shares.setdefault(worker_of[task], []).append(count / arrived)
    for share in shares.values():
        assert max(share) < 0.9
        assert max(share) - min(share) < 0.02


def test_at_light_load_placement_does_not_change_throughput() -> None:
    done = []
    for place in (together, in_turn(3)):
        scene = start_chain((1, 2, 2), 1 * MS, rate(50.0, anchored=True), nodes(3), place, ackers=1)
        scene.play(60 * SECOND)
        done.append((scene.tape.column("roots", "outcome") == "acked").sum())
    assert done[0] == pytest.approx(done[1], abs=1)
