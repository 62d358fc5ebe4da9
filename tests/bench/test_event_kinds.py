"""Events counted by kind: one root tuple, played by hand."""

from __future__ import annotations

import pytest

from storm_lab.bench._kernel_model import Model, count_events
from storm_lab.bench._kernel_model import start as start_model
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.model import StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V2_8_8
from tests.emulator.scene import MS, US, chain, chain_trace, constant_work, nodes, start
from tests.emulator.test_timeline import ONE_LINE, bolt_apart, together, with_round_costs

# Spout and bolt, one acker: the messages of a root are init, data, ack and complete.
IN_A_WORKER = {
    "spout reads a line": 1,
    "spout burst ends": 2,  # nextTuple; the ack
    "spout sleep or wait ends": 1,  # the turn that finds the ack
    "bolt wakes": 1,
    "bolt burst ends": 1,
    "acker wakes": 2,  # init, ack
    "acker burst ends": 2,
}
# One for each executor that hands something out: init and data go together.
SEND_THREADS = {"send wakes": 3, "send burst ends": 3}
# Data and ack travel, each alone.
TRAVEL = {
    "transfer wakes": 2,
    "transfer burst ends": 2,
    "message arrives": 2,
    "receive wakes": 2,
    "receive burst ends": 2,
}
NETTY = {"network wakes": 2, "network burst ends": 2}


@pytest.mark.parametrize(
    ("version", "place", "expected"),
    [
        (V0_8_2, together, IN_A_WORKER | SEND_THREADS),
        (V0_8_2, bolt_apart, IN_A_WORKER | SEND_THREADS | TRAVEL),
        (V0_9_7, together, IN_A_WORKER | SEND_THREADS),
        (V0_9_7, bolt_apart, IN_A_WORKER | SEND_THREADS | TRAVEL | NETTY),
        (V2_8_8, together, IN_A_WORKER),
    ],
)
def test_a_root_is_played_by_these_events_and_no_others(version: StormVersion, place, expected) -> None:
    work = chain_trace([constant_work(300 * US, 1)])
    scene = start(chain((1, 1), ackers=1), work, ONE_LINE, nodes(2, cores=8), place, version=version)
    plane = with_round_costs(scene).plane
    plane.run_until(5 * MS)
    count = count_events(plane, 50 * MS)
    assert count.kinds == expected
    assert (count.roots, count.hops) == (1, 4)
    assert count.table()["all"] == {"per_root": sum(expected.values()), "per_hop": sum(expected.values()) / 4}


def test_counting_changes_nothing_that_is_played() -> None:
    model = Model(spouts=1, bolts=2, ackers=1, nodes=2, rate_per_s=500.0, lines=101)
    watched, alone = (start_model(model)[0] for _ in range(2))
    count = count_events(watched, NS_PER_S // 4)
    alone.run_until(NS_PER_S // 4)
    assert sum(count.kinds.values()) == watched.events == alone.events > 1000
    for name in ("seq", "roots_emitted"):
        assert watched.kernel.s[0][name] == alone.kernel.s[0][name]
    assert (watched.kernel.task["rng"] == alone.kernel.task["rng"]).all()
