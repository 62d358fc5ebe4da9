"""User code made from figures matches them on average, and is the same on every machine."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storm_lab.model import Component, Grouping, Subscription, Topology
from storm_lab.model.version import V2_8_8
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.importers.figures import (
    Emits,
    Figures,
    Keys,
    KeyShape,
    Spread,
    StatedBolt,
    StatedSpout,
)
from storm_lab.workloads.usercode import Values
from storm_lab.workloads.workload_trace import WorkloadTrace

SPOUT = Component("s", outputs={"default": ("word", "other")})


def emitted(spout: StatedSpout) -> list[tuple[object, ...]]:
    """Return what a spout emits in one pass."""
    found: list[tuple[object, ...]] = []

    def emit(
        *values: object, stream: str = "default", size: int | None = None, task: int | None = None
    ) -> None:
        found.append((stream, values, size, task))

    for record in spout.records():
        spout.next_tuple(record, emit)
    return found


def words(keys: Keys, calls: int = 4000) -> Counter[object]:
    """Return how often each key is emitted."""
    figures = Figures(Spread(1.0), {"default": Emits(1.0, 10, {"word": keys})})
    return Counter(values[0] for _, values, _, _ in emitted(StatedSpout(SPOUT, figures, calls)))  # type: ignore[index]


@given(per_call=st.floats(0, 5), calls=st.integers(1, 200))
def test_fractions_are_carried_from_call_to_call(per_call: float, calls: int) -> None:
    figures = Figures(Spread(1.0), {"default": Emits(per_call, 10)})
    assert abs(len(emitted(StatedSpout(SPOUT, figures, calls))) - per_call * calls) < 1


def test_fields_that_no_grouping_uses_are_constant() -> None:
    figures = Figures(Spread(1.0), {"default": Emits(1.0, 77, {"word": Keys(3)})})
    found = emitted(StatedSpout(SPOUT, figures, 50))
    assert {values[1] for _, values, _, _ in found} == {"other"}  # type: ignore[index]
    assert {size for _, _, size, _ in found} == {77}
    assert {values[0] for _, values, _, _ in found} == {"word-0", "word-1", "word-2"}  # type: ignore[index]


def test_uniform_keys_are_about_equally_frequent() -> None:
    counts = words(Keys(4))
    assert len(counts) == 4
    assert max(counts.values()) < 1.2 * min(counts.values())


def test_the_frequency_of_zipf_keys_falls_with_their_rank() -> None:
    counts = words(Keys(100, KeyShape.ZIPF, 1.0))
    # The first key's share is 1 / H(100), the second's half of it.
    harmonic = sum(1 / rank for rank in range(1, 101))
    assert counts["word-0"] / 4000 == pytest.approx(1 / harmonic, rel=0.1)
    assert counts["word-1"] / counts["word-0"] == pytest.approx(0.5, rel=0.2)


def test_half_normal_keys_are_those_of_storms_load_generator() -> None:
    counts = words(Keys(2048, KeyShape.HALF_NORMAL), calls=8000)
    below = sum(count for key, count in counts.items() if int(str(key)[5:]) < 2048 / 5)
    # 68.3 % of a normal distribution is within one standard deviation of its mean.
    assert below / 8000 == pytest.approx(0.683, abs=0.02)


def test_costs_have_the_mean_and_bounds_of_their_spread() -> None:
    figures = Figures(Spread(100.0, 25.0, 60.0, 140.0))
    bolt = StatedBolt(Component("b"), figures)
    costs = [bolt.cost(Values.of((), "s", "default")).cpu_us for _ in range(4000)]
    assert sum(costs) / 4000 == pytest.approx(100, rel=0.02)
    assert min(costs) == 60.0
    assert max(costs) == 140.0


def test_a_cost_may_depend_on_the_source_of_the_tuple() -> None:
    figures = Figures(Spread(1.0), input_cost_us={("a", "default"): Spread(5.0)}, server="db", server_us=9.0)
    bolt = StatedBolt(Component("b"), figures)
    assert bolt.cost(Values.of((), "a", "default")).cpu_us == 5.0
    other = bolt.cost(Values.of((), "b", "default"))
    assert (other.cpu_us, other.server, other.server_us) == (1.0, "db", 9.0)


def trace() -> WorkloadTrace:
    """Build the trace of a topology with keys, a direct stream and ticks."""
    topology = Topology(
        "t",
        (
            Component("s", outputs={"default": ("word",), "to": ("x",)}),
            Component("a", 3, inputs=(Subscription("s", "to", Grouping.DIRECT),)),
            Component(
                "b",
                2,
                inputs=(Subscription("s", grouping=Grouping.FIELDS, fields=("word",)),),
                outputs={"default": ("n",)},
                tick_seconds=1.0,
            ),
            Component("c", inputs=(Subscription("b"),)),
        ),
    )
    figures = {
        "s": Figures(Spread(1.0, 0.2), {"default": Emits(0.5, 9, {"word": Keys(10)}), "to": Emits(1.0, 5)}),
        "a": Figures(Spread(2.0)),
        "b": Figures(Spread(3.0), {"default": Emits(0.0, 4)}, tick_cost_us=7.0, tick_emits={"default": 2.0}),
        "c": Figures(Spread(4.0)),
    }
    code = {
        "s": StatedSpout(topology.component("s"), figures["s"], 60, direct={"to": 3}),
        **{n: StatedBolt(topology.component(n), figures[n]) for n in "abc"},
    }
    return build_trace(topology, code, V2_8_8)


def test_a_trace_of_figures_is_the_same_every_time() -> None:
    first = trace()
    assert first.digest == trace().digest
    # The direct stream serves its tasks in turn.
    direct = first.emissions[first.emissions["stream"] == first.streams.index(("s", "to"))]
    assert Counter(first.records["key"][direct["first_record"]]) == {0: 20, 1: 20, 2: 20}
    tick = first.records[first.ticks["b"]]
    assert (tick["cpu_ns"], tick["emissions"]) == (7000, 2)
