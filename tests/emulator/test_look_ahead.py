"""A large cluster's records are fetched before their events' turn; what happens does not change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.bench._kernel_model import Model, start
from storm_lab.emulator.events import parts
from storm_lab.emulator.events.calendar_queue import _LARGE
from tests.emulator.uncompiled import printed

MS = 1_000_000
MANY = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=60.0, copies=80, lines=101)
LARGE = replace(MANY, copies=600)
COUNTED = ("rng", "execute", "emitted", "transferred", "executed", "acked", "failed")


@pytest.fixture(autouse=True)
def _undivided(monkeypatch: pytest.MonkeyPatch) -> None:
    """All topologies are one part."""
    monkeypatch.setattr(parts, "LEAST_PARTS", 1000)


def counts_after(model: Model, stop_ms: int) -> tuple[int, list[list[int]]]:
    """Events in buckets, and what the tasks of the first topologies have done."""
    plane, _ = start(model)
    plane.run_until(stop_ms * MS)
    task = plane.kernel.task[: MANY.executors]
    return int(plane.kernel.s[0].far_n), [task[name].tolist() for name in COUNTED]


def test_topologies_do_the_same_among_more_of_them() -> None:
    far, looking_ahead = counts_after(LARGE, 300)
    few, plain = counts_after(MANY, 300)
    assert far >= _LARGE > few > 0
    assert sum(plain[COUNTED.index("executed")]) > 5000
    assert looking_ahead == plain


def test_every_index_on_the_way_exists() -> None:
    events = "from storm_lab.emulator.events import calendar_queue, parts; "
    always = events + "calendar_queue._LARGE = 1; parts.LEAST_PARTS = 1000"
    assert printed(__name__, "t.counts_after(t.MANY, 200)", always) == str(counts_after(MANY, 200))
