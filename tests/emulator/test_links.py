"""Cut links and slow receivers: which tuples wait, where, and which are lost, per Storm version."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from storm_lab.model import Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_6, V2_8_8
from tests.emulator.scene import MS, SATURATED, SECOND, US, Scene, apart, nodes, rate, start_chain

V0_9_0 = StormVersion((0, 9, 0))


def ten_a_second(version: StormVersion) -> Scene:
    """A spout on node0 that emits every 100 ms from 0 on, and a bolt on node1; nothing takes time."""
    return start_chain((1, 1), 0, rate(10.0), nodes(2), apart, version=version, ideal=True)


def arrivals(scene: Scene) -> list[int]:
    return sorted(scene.tape.column("executions", "enqueue_ns").tolist())


@pytest.mark.parametrize(
    ("version", "possible_ms"),
    [
        # Attempts 100 to 199 ms apart.
        (V0_8_2, range(5_050, 5_249)),
        # Attempts up to 1000 ms apart, in whole tenths.
        (V0_9_0, range(5_100, 6_100, 100)),
        # Attempts 5 x 200, 200 or 300, 300 or 400, and then 400 ms apart.
        *((version, (5_100, 5_200, 5_300)) for version in (V0_9_7, V1_0_6, V2_8_8)),
    ],
    ids=str,
)
def test_tuples_wait_for_a_cut_link_and_leave_at_the_next_attempt_to_connect(
    version: StormVersion, possible_ms: Collection[int]
) -> None:
    scene = ten_a_second(version)
    plane = scene.plane
    plane.run_until(2 * SECOND)
    plane.set_link("node0", "node1", cut=True)
    plane.run_until(5_050 * MS)
    plane.set_link("node0", "node1")
    plane.run_until(8_000 * MS)
    plane.finish()
    emits = [100 * MS * i for i in range(81)]
    reconnected = arrivals(scene)[21]
    assert reconnected // MS in possible_ms
    assert arrivals(scene) == [t if t <= 2_000 * MS else max(t, reconnected) for t in emits]
    assert plane.kernel.s[0].lost == 0


def test_netty_gives_up_after_its_last_attempt_and_drops_tuples_until_the_link_is_back() -> None:
    """0.9.0: 30 waits of up to a second. 0.9.7: 300."""
    lost = {}
    for version in (V0_9_0, V0_9_7):
        scene = ten_a_second(version)
        plane = scene.plane
        plane.run_until(2 * SECOND)
        plane.set_link("node0", "node1", cut=True)
        plane.run_until(40_050 * MS)
        plane.set_link("node0", "node1")
        plane.run_until(45 * SECOND)
        plane.finish()
        lost[version] = plane.kernel.s[0].lost
        assert len(arrivals(scene)) + plane.kernel.s[0].lost == 451
    # Emitted at 2.1 s to 40.0 s.
    assert lost == {V0_9_0: 380, V0_9_7: 0}


def restarted_after(version: StormVersion, seconds: int) -> tuple[Scene, int]:
    """Kill the bolt's worker at 2 s and start it again elsewhere ``seconds`` later."""
    scene = ten_a_second(version)
    plane = scene.plane
    spout = next(e for e in scene.view if e.component == "spout")
    bolt = next(e for e in scene.view if e.component == "bolt0")
    plane.run_until(2 * SECOND)
    plane.stop_worker(scene.view[bolt])
    plane.connect(scene.view[spout], {spout: scene.view[spout]})
    plane.run_until((2 + seconds) * SECOND)
    fresh = plane.start_worker(Slot("node1", 6701), "t", [bolt])
    plane.connect(scene.view[spout], {spout: scene.view[spout], bolt: fresh})
    plane.run_until((4 + seconds) * SECOND)
    plane.finish()
    return scene, plane.kernel.s[0].lost


@pytest.mark.parametrize(
    ("version", "seconds", "lost"),
    [
        (V0_8_2, 10, 100),
        (V0_9_0, 10, 0),
        (V0_9_0, 40, 0),  # the control plane ends a worker that has given up
        (V0_9_7, 40, 400),  # as in all versions from 0.9.4 on
        (V2_8_8, 40, 400),
    ],
    ids=str,
)
def test_tuples_for_a_dead_worker_are_dropped_or_kept_depending_on_the_version(
    version: StormVersion, seconds: int, lost: int
) -> None:
    scene, dropped = restarted_after(version, seconds)
    assert dropped == pytest.approx(lost, abs=1)
    assert len(arrivals(scene)) + dropped == 10 * (4 + seconds) + 1


def test_a_sender_of_2_x_waits_when_the_receiver_reads_too_slowly() -> None:
    """Reading takes 1 ms a tuple, so TCP stops the sender, and the full transfer queue stops the spout.

    The bolt itself has nothing to do.
    """
    queued = {}
    for bound in (1_000_000, 1 << 60):
        scene = start_chain((1, 1), 0, SATURATED, nodes(2), apart, size=10_000, version=V2_8_8, ideal=True)
        k = scene.plane.kernel
        k.cost["poll"], k.cost["receive"] = 100 * US, 1 * MS
        k.s["unread_high"], k.s["unread_low"] = bound, bound // 2
        k.cost["high_watermark"] = 1 << 40
        scene.play(10 * SECOND)
        executed = scene.tape.total("bolt0")
        assert executed == pytest.approx(10_000, abs=120)
        queued[bound] = scene.tape.total("spout", "emitted") - executed
    # 100 tuples of 10,000 bytes unread, the transfer queue's 1,000, and as many taken from it at once.
    assert queued[1_000_000] <= 100 + 1000 + 1000 + 10
    assert queued[1 << 60] == pytest.approx(90_000, abs=1200)


def test_a_cut_link_does_not_affect_other_links() -> None:
    scene = start_chain(
        (1, 2),
        0,
        rate(100.0),
        nodes(3),
        lambda e: Slot("node0" if e.component == "spout" else f"node{e.start}", 6700),
        ideal=True,
        version=V0_9_7,
    )
    scene.plane.set_link("node0", "node1", cut=True)
    scene.play(10 * SECOND - 1)
    tasks, counts = np.unique(scene.tape.column("executions", "task"), return_counts=True)
    assert tasks.tolist() == [2]
    assert counts[0] == pytest.approx(500, abs=1)
