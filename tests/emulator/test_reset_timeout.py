"""collector.resetTimeout restarts the message timeout of a tuple that waits long, from Storm 1.0 on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storm_lab.model import StormVersion
from storm_lab.model.version import V0_9_7, V1_0_6, V2_8_8
from tests.emulator.scene import MS, SECOND, Scene, at_times, chain, chain_trace, constant_work, nodes, start


def three_long_calls(version: StormVersion, resets: int) -> Scene:
    """Three lines at 10 ms, a bolt that waits 2.5 s for a server with each, and a timeout of 3 s."""
    trace = chain_trace([constant_work(0, 3)])
    trace.records["server"][1::2] = 0
    trace.records["server_ns"][1::2] = 2500 * MS
    trace.records["resets"][1::2] = resets
    scene = start(
        chain((1, 1), ackers=1, message_timeout_s=3.0),
        replace(trace, servers=("store",)),
        at_times(np.array([10 * MS] * 3), anchored=True),
        nodes(1, cores=8),
        version=version,
    )
    scene.play(20 * SECOND)
    return scene


@pytest.mark.parametrize(
    ("version", "resets", "third"),
    [
        # The third tuple is emitted at 0.01 s and would be acked at 7.5 s; rotations come at 3 s and 6 s.
        (V1_0_6, 0, "failed"),
        (V2_8_8, 0, "failed"),
        # Its execution begins at 5.0 s with a reset, so it may take until the rotation at 9 s.
        (V1_0_6, 1, "acked"),
        (V2_8_8, 1, "acked"),
        # 0.9 does not have this call.
        (V0_9_7, 1, "failed"),
    ],
)
def test_a_reset_puts_the_tuple_into_the_newest_bucket(
    version: StormVersion, resets: int, third: str
) -> None:
    scene = three_long_calls(version, resets)
    line, outcome = scene.tape.column("roots", "line"), scene.tape.column("roots", "outcome")
    assert outcome[np.argsort(line)].tolist() == ["acked", "acked", third]


def test_a_reset_is_a_message_to_the_acker_and_one_back_to_the_spout() -> None:
    executed = {}
    for resets in (0, 1):
        executed[resets] = three_long_calls(V1_0_6, resets).tape.total("__acker")
    # Three inits and three acks, and three resets.
    assert executed == {0: 6, 1: 9}


def test_a_reset_lengthens_the_call_by_one_emit() -> None:
    """A call with a reset takes as long as a call without one plus one emit."""
    taken = []
    for resets in (0, 1):
        taken.append(int(three_long_calls(V1_0_6, resets).tape.spans("start_ns", "end_ns")[0]))
    assert taken[1] - taken[0] == 3000  # PLAIN's emit
