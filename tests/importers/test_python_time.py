"""Virtual time of Python components: the rates that follow from sleeping, and ticks."""

from pathlib import Path

import pytest

from tests.importers.reading import assumptions, overlay_of, ready
from tests.importers.streamparse_shapes import ran


@pytest.mark.parametrize(
    ("body", "rate_per_s"),
    [
        ("self.emit([self.n])\n        if self.n % 50 == 0:\n            time.sleep(0.5)", 100.0),
        ("if self.n % 2:\n            time.sleep(0.1)\n        else:\n            self.emit([1])", 10.0),
        ("for n in range(5000):\n            self.emit([n])\n        time.sleep(2)", 2500.0),
    ],
    ids=["after a batch of calls", "before every record", "after one call with many"],
)
def test_a_rate_counts_only_the_time_that_a_spout_sleeps(
    tmp_path: Path, body: str, rate_per_s: float
) -> None:
    source = f"""
import time
class S(Spout):
    outputs = ["n"]
    n = 0
    def next_tuple(self):
        self.n += 1
        {body}

class T(Topology):
    s = S.spec()
"""
    imported = ran(tmp_path, source)
    assert ready(imported).sources["s"].rate_per_s == pytest.approx(rate_per_s)


@pytest.mark.parametrize("sleeping", ["self.n == 1", "self.n > 500"], ids=["at its start", "at its end"])
def test_a_spout_that_sleeps_only_when_it_emits_nothing_has_no_rate_of_its_own(
    tmp_path: Path, sleeping: str
) -> None:
    source = f"""
import time
class S(Spout):
    outputs = ["n"]
    n = 0
    def next_tuple(self):
        self.n += 1
        if {sleeping}:
            time.sleep(0.1)
        else:
            self.emit([self.n])

class T(Topology):
    s = S.spec()
"""
    imported = ran(tmp_path, source)
    assert ("s", "rate of all its executors") in assumptions(imported)


BATCHES = """
class Batch(KIND):
    outputs = ["size"]
    secs_between_batches = 1
    ticks_between_batches = 2
    def process_batch(self, key, tups):
        self.emit([len(tups)])

class T(Topology):
    s = Ones.spec()
    batch = Batch.spec(inputs=[s], config={"topology.tick.tuple.freq.secs": 5})
"""


@pytest.mark.parametrize(
    ("kind", "overlay"), [("TicklessBatchingBolt", ""), ("BatchingBolt", "{batch: {tick: {every_s: 0.333}}}")]
)
def test_batches_are_those_of_a_timer_or_of_the_ticks_of_an_overlay(
    tmp_path: Path, kind: str, overlay: str
) -> None:
    figures = overlay_of(tmp_path, f"components: {overlay}") if overlay else None
    playable = ready(ran(tmp_path, BATCHES.replace("KIND", kind), overlay=figures))
    # A batch a second, at every third tick of the overlay's, of 100 records per second.
    assert playable.topology.component("batch").tick_seconds == pytest.approx(1.0, rel=0.1)
    assert playable.calls.ticks["batch"].emits[0].values[0] == pytest.approx(100, abs=2)
