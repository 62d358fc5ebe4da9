"""User code of the Throughput Test, run to build a trace."""

from collections import Counter

from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import V0_8_2
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import FIELDS, CountById, EmitRandomTexts, Identity
from storm_lab.workloads.usercode import Bolt, Spout, Values


def test_each_executor_draws_one_identifier_and_one_text() -> None:
    pairs = list(EmitRandomTexts(5, 300, seed=7).records())
    assert len({name for name, _ in pairs}) == len({text for _, text in pairs}) == 5
    assert {len(str(text)) for _, text in pairs} == {300}
    assert len(Counter(str(pairs[0][1]))) > 40, "letters and digits of all kinds"


def test_the_seed_determines_the_texts() -> None:
    draws = [tuple(EmitRandomTexts(2, 20, seed).records()) for seed in (1, 1, 2)]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]


def test_identity_forwards_its_input_and_the_counter_counts_by_identifier() -> None:
    passed: list[tuple[object, ...]] = []
    given = Values.of(("a", "text"), "spout", "default")
    Identity().execute(given, lambda *values, **_: passed.append(values))
    assert passed == [("a", "text")]
    counter = CountById()
    for _ in range(3):
        counter.execute(given, lambda *values, **_: passed.append(values))
    assert (counter.counts, len(passed)) == ({"a": 3}, 1)


def test_a_trace_includes_the_size_of_the_text_and_the_service_time() -> None:
    topology = Topology(
        id="t",
        name="t",
        components=(
            Component("spout", 2, outputs={"default": FIELDS}),
            Component("identity", 1, inputs=(Subscription("spout"),), outputs={"default": FIELDS}),
            Component(
                "counter", 4, inputs=(Subscription("identity", grouping=Grouping.FIELDS, fields=("id",)),)
            ),
        ),
    )
    code: dict[str, Spout | Bolt] = {
        "spout": EmitRandomTexts(2, 10240, 1),
        "identity": Identity(1500.0),
        "counter": CountById(),
    }
    trace = build_trace(topology, code, V0_8_2)
    assert len(trace.records) == 2 * 3 and len(trace.emissions) == 2 * 2
    assert trace.emissions["bytes"].min() > 10240
    assert sorted(trace.records["cpu_ns"]) == [0, 0, 0, 0, 1_500_000, 1_500_000]
    keys = trace.records["key"]
    assert len(set(keys[keys != 0])) == 2, "the counters see one key for each spout executor"
