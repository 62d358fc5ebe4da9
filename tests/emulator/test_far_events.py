"""In a large cluster most scheduled events are kept in buckets, not in the heap; results do not change."""

from __future__ import annotations

import pytest

from storm_lab.bench._kernel_model import Model, start
from storm_lab.emulator.state.kinds import NEVER, UNSCHEDULED
from tests.emulator.uncompiled import printed

MS = 1_000_000
MANY = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=6.0, copies=80, lines=101)
FEW = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=1200.0, copies=1, lines=101)


def counts_after(model: Model, stops_ms: list[int]) -> tuple[int, ...]:
    plane, _ = start(model)
    for stop in stops_ms:
        plane.run_until(stop * MS)
    s, task = plane.kernel.s[0], plane.kernel.task
    horizon = int(s.horizon) < NEVER
    rng = int(task["rng"].sum() & 0xFFFFFFFF)
    return int(horizon), plane.events, int(s.seq), int(s.roots_emitted), int(task["execute"].sum()), rng


def test_only_a_large_cluster_has_a_horizon() -> None:
    assert counts_after(MANY, [900])[0] == 1
    assert counts_after(FEW, [900])[0] == 0


def test_every_scheduled_event_is_either_in_the_heap_or_in_a_bucket() -> None:
    plane, _ = start(MANY)
    plane.run_until(950 * MS)
    k, s = plane.kernel, plane.kernel.s[0]
    scheduled = k.slot["place"] != UNSCHEDULED
    assert s.far_n > s.heap_n > 0
    assert scheduled.sum() == s.far_n + s.heap_n
    heap = k.event[: s.heap_n]
    assert (k.slot["place"][heap["source"]] == range(s.heap_n)).all()
    assert heap["time"].max() < s.horizon <= k.slot["time"][k.slot["place"] < UNSCHEDULED].min()
    found = []
    for first in k.bucket[k.bucket >= 0]:
        while first >= 0:
            found.append(int(first))
            first = k.slot[first]["next"]
    assert len(found) == len(set(found)) == s.far_n


def test_stopping_in_between_does_not_change_the_result() -> None:
    assert counts_after(MANY, [900]) == counts_after(MANY, [*range(7, 900, 7), 900])


@pytest.mark.slow
def test_a_run_with_a_horizon_is_the_same_without_the_compiler() -> None:
    compiled = counts_after(MANY, [250])
    assert compiled[0] == 1
    assert printed(__name__, "t.counts_after(t.MANY, [250])") == str(compiled)
