"""Building a trace: word counts traced by hand, grouping keys, streams, ticks, and refused input."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from storm_lab.errors import UserError
from storm_lab.model.javahash import JavaLong, list_hash
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import V0_8_2, V0_10_0, V1_0_6, V2_8_8, StormVersion
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.text import Text
from storm_lab.workloads.usercode import (
    Bolt,
    Cost,
    Emit,
    Spout,
    SteadyBolt,
    SteadySpout,
    TupleFailedError,
    Values,
)
from storm_lab.workloads.word_count import CountWords, ReadLines, SplitSentence, StoreCounts, WordCountCosts
from storm_lab.workloads.workload_trace import FAILS, WorkloadTrace

COSTS = WordCountCosts(
    read_us=40, split_line_us=100, split_word_us=10, count_us=20, store_cpu_us=90, store_server_us=1000
)


class Lines(SteadySpout):
    def __init__(self, *records: tuple[object, ...]) -> None:
        super().__init__(Cost(1.0), records)


class Do(SteadyBolt):
    """A bolt that calls one function."""

    def __init__(
        self, execute: Callable[[Values, Emit], None] = lambda values, emit: None, cost: Cost | None = None
    ) -> None:
        super().__init__(cost or Cost(2.0))
        self._execute = execute

    def execute(self, values: Values, emit: Emit) -> None:
        self._execute(values, emit)


def spout(*fields: str) -> Component:
    return Component("spout", outputs={"default": fields})


def bolt(
    name: str,
    *inputs: Subscription,
    executors: int = 4,
    outputs: dict[str, tuple[str, ...]] | None = None,
    tick_seconds: float | None = None,
) -> Component:
    return Component(name, executors, inputs=inputs, outputs=outputs or {}, tick_seconds=tick_seconds)


def on_spout(grouping: Grouping = Grouping.SHUFFLE, *fields: str) -> Subscription:
    return Subscription("spout", grouping=grouping, fields=fields)


def trace_of(
    components: Iterable[Component], code: dict[str, Spout | Bolt], version: StormVersion = V0_8_2
) -> WorkloadTrace:
    return build_trace(Topology("t", tuple(components)), code, version)


def word_count_trace(*lines: str) -> WorkloadTrace:
    #  spout --line--> split --word--> count (by word) --word, count--> store
    return trace_of(
        [
            spout("line"),
            bolt("split", on_spout(), outputs={"default": ("word",)}),
            bolt(
                "count",
                Subscription("split", grouping=Grouping.FIELDS, fields=("word",)),
                outputs={"default": ("word", "count")},
            ),
            bolt("store", Subscription("count")),
        ],
        {
            "spout": ReadLines(Text("two", lines), COSTS),
            "split": SplitSentence(COSTS),
            "count": CountWords(COSTS),
            "store": StoreCounts(COSTS),
        },
    )


def test_word_count_of_two_lines_traced_by_hand() -> None:
    trace = word_count_trace("the cow", "")
    assert trace.streams == (("spout", "default"), ("split", "default"), ("count", "default"))
    assert trace.servers == ("mongo",)
    # row: 0 line, 1 its split, 2 count "the", 3 count "cow", 4 and 5 their stores, 6 blank line, 7 its split
    assert trace.sources["spout"].tolist() == [0, 6]
    r = trace.records
    assert r["cpu_ns"].tolist() == [40_000, 120_000, 20_000, 20_000, 90_000, 90_000, 40_000, 100_000]
    assert r["server_ns"].tolist() == [0, 0, 0, 0, 1_000_000, 1_000_000, 0, 0]
    assert r["server"].tolist() == [-1, -1, -1, -1, 0, 0, -1, -1]
    assert r["key"].tolist() == [0, 0, 114832, 98730, 0, 0, 0, 0]
    assert r["first_emission"].tolist() == [0, 1, 3, 4, 5, 5, 5, 6]
    assert r["emissions"].tolist() == [1, 2, 1, 1, 0, 0, 1, 0]
    e = trace.emissions
    assert e["first_record"].tolist() == [1, 2, 3, 4, 5, 7]
    assert e["stream"].tolist() == [0, 1, 1, 2, 2, 0]
    # Kryo: a byte for the list, then a class byte and the value: 7 and 3 letters; a word and a small number;
    # an empty text has a length byte.
    assert e["bytes"].tolist() == [9, 5, 5, 7, 7, 3]


def test_a_trace_holds_every_word_of_the_text() -> None:
    trace = word_count_trace("a rose is a rose", "", "is a rose")
    words = (trace.emissions["stream"] == 1).sum()
    assert words == 8
    assert len(trace.records) == 3 + 3 + 8 + 8


def test_the_digest_depends_on_the_input() -> None:
    assert word_count_trace("the cow").digest == word_count_trace("the cow").digest
    assert word_count_trace("the cow").digest != word_count_trace("the cat").digest


def test_subscriptions_get_records_of_their_own_in_order_of_declaration() -> None:
    seen: list[str] = []
    trace = trace_of(
        [
            bolt("late", on_spout(Grouping.FIELDS, "word")),
            spout("word"),
            bolt("early", on_spout(), on_spout(Grouping.FIELDS, "word")),
        ],
        {
            "spout": Lines(("cow",)),
            "late": Do(lambda values, emit: seen.append("late")),
            "early": Do(lambda values, emit: seen.append("early")),
        },
    )
    assert trace.emissions["first_record"].tolist() == [1]
    assert trace.records["key"].tolist() == [0, 98730, 0, 98730]
    assert seen == ["late", "early", "early"]


def test_bolts_see_component_and_stream_of_their_input() -> None:
    seen: list[tuple[str, str, object]] = []

    def fork(values: Values, emit: Emit) -> None:
        emit(values[0], stream="errors")

    trace_of(
        [
            spout("word"),
            bolt("fork", on_spout(), outputs={"default": ("word",), "errors": ("word",)}),
            bolt("sink", Subscription("fork", "errors"), Subscription("fork")),
        ],
        {
            "spout": Lines(("x",)),
            "fork": Do(fork),
            "sink": Do(lambda values, emit: seen.append((values.source, values.stream, values[0]))),
        },
    )
    assert seen == [("fork", "errors", "x")]


def test_tuples_that_a_failing_call_has_emitted_are_not_sent() -> None:
    def odd_only(values: Values, emit: Emit) -> None:
        emit("first")
        if values[0] == 2:
            raise TupleFailedError
        emit("second")

    trace = trace_of(
        [spout("n"), bolt("odd", on_spout(), outputs={"default": ("x",)}), bolt("sink", Subscription("odd"))],
        {"spout": Lines((1,), (2,), (3,)), "odd": Do(odd_only), "sink": Do()},
    )
    executed = trace.records[trace.emissions["first_record"][[0, 3, 4]]]
    assert executed["emissions"].tolist() == [2, FAILS, 2]
    assert executed["cpu_ns"].tolist() == [2000] * 3
    # Three lines, and two tuples for each of two of them.
    assert len(trace.emissions) == 7


def test_spouts_take_turns_record_by_record() -> None:
    trace = trace_of(
        [spout("n"), Component("other", outputs={"default": ("n",)})],
        {"spout": Lines((1,), (2,), (3,)), "other": Lines((9,))},
    )
    assert trace.sources["spout"].tolist() == [0, 2, 3]
    assert trace.sources["other"].tolist() == [1]
    assert trace.emissions["first_record"].tolist() == [-1] * 4


def test_a_tick_has_its_own_record_after_the_input() -> None:
    class Rank(Do):
        def tick(self, emit: Emit) -> None:
            emit("top", size=77)

        def tick_cost(self) -> Cost:
            return Cost(5.0)

    trace = trace_of(
        [spout("n"), bolt("rank", on_spout(), outputs={"default": ("best",)}, tick_seconds=2.0)],
        {"spout": Lines((1,)), "rank": Rank()},
    )
    assert trace.ticks == {"rank": 2}
    assert trace.records["cpu_ns"][2] == 5_000
    assert trace.emissions["bytes"].tolist()[-1] == 77


@pytest.mark.parametrize(
    ("word", "tasks", "candidates"),
    [
        ("the", 4, (0, 1)),
        ("cow", 4, (3, 2)),
        ("moon", 4, (2, 0)),
        ("the", 5, (2, 3)),
        ("cow", 5, (2, 3)),
        ("moon", 5, (0, 4)),
    ],
)
def test_partial_key_candidates_of_storm_2(word: str, tasks: int, candidates: tuple[int, int]) -> None:
    trace = trace_of(
        [spout("word"), bolt("sink", on_spout(Grouping.PARTIAL_KEY), executors=tasks)],
        {"spout": Lines((word,)), "sink": Do()},
        V2_8_8,
    )
    assert (trace.records["key"][1], trace.records["key2"][1]) == candidates


def test_partial_key_candidates_of_storm_1_spread_over_all_tasks() -> None:
    trace = trace_of(
        [spout("word"), bolt("sink", on_spout(Grouping.PARTIAL_KEY, "word"), executors=7)],
        {"spout": Lines(*((f"w{i}",) for i in range(700))), "sink": Do()},
        V1_0_6,
    )
    rows = trace.records[trace.emissions["first_record"]]
    for column in ("key", "key2"):
        shares = np.bincount(rows[column], minlength=7)
        assert shares.min() > 60


def test_fields_keys_follow_the_java_types() -> None:
    trace = trace_of(
        [spout("a", "b"), bolt("sink", on_spout(Grouping.FIELDS, "b", "a"))],
        {"spout": Lines((-7, "x"), (JavaLong(-7), "x")), "sink": Do()},
    )
    rows = trace.emissions["first_record"]
    assert trace.records["key"][rows].tolist() == [list_hash(["x", -7]), list_hash(["x", JavaLong(-7)])]


def test_a_direct_stream_goes_to_the_named_task() -> None:
    def send(values: Values, emit: Emit) -> None:
        emit(values[0], task=3)

    trace = trace_of(
        [
            spout("n"),
            bolt("send", on_spout(), outputs={"default": ("n",)}),
            bolt("sink", Subscription("send", grouping=Grouping.DIRECT)),
        ],
        {"spout": Lines((1,)), "send": Do(send), "sink": Do()},
    )
    assert trace.records["key"].tolist() == [0, 0, 3]


def emitting(*values: object, stream: str = "default", task: int | None = None) -> Do:
    return Do(lambda incoming, emit: emit(*values, stream=stream, task=task))


def test_a_value_of_unknown_size_or_hash_is_refused() -> None:
    with pytest.raises(UserError, match=r"spout\.default.*size of a object"):
        trace_of([spout("n")], {"spout": Lines((object(),))})
    components = [spout("n"), bolt("sink", on_spout(Grouping.FIELDS, "n"))]
    code: dict[str, Spout | Bolt] = {"spout": Lines((b"raw",)), "sink": Do()}
    assert len(trace_of(components, code, V0_10_0).records) == 2
    with pytest.raises(UserError, match=r"spout\.default to sink.*address"):
        trace_of(components, code, V0_8_2)


def test_maps_have_a_size_and_can_be_grouped_by() -> None:
    components = [spout("n"), bolt("sink", on_spout(Grouping.FIELDS, "n"), executors=100)]
    trace = trace_of(components, {"spout": Lines(({"ab": 1, "cd": None},)), "sink": Do()})
    # The list's length and a class; the map's length, and class and content of two keys and two values.
    assert trace.emissions["bytes"].tolist() == [1 + 1 + 1 + (1 + 2) + (1 + 1) + (1 + 2) + 1]
    assert trace.records["key"][1] == list_hash([{"cd": None, "ab": 1}])


SPOUT = spout("n")
SEND = bolt("send", on_spout(), outputs={"default": ("n",)})
DIRECT = bolt("sink", Subscription("send", grouping=Grouping.DIRECT))
LOOP = bolt(
    "loop",
    on_spout(),
    Subscription("loop", grouping=Grouping.FIELDS, fields=("m",)),
    outputs={"default": ("n",)},
)


def to_sink(subscription: Subscription) -> list[Component]:
    return [SPOUT, bolt("sink", subscription)]


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        (to_sink(on_spout()), {"sink": emitting("x")}, r"sink\.default: emits on a stream that it .*none"),
        (to_sink(on_spout()), {"sink": emitting("x", stream="other")}, r"sink\.other: emits on a stream"),
        *(
            (to_sink(on_spout()), {"sink": Do(cost=cost)}, r"sink\.cost: .*is not a time")
            for cost in (Cost(-1.0), Cost(float("nan")), Cost(1.0, "db", float("inf")))
        ),
        (
            to_sink(on_spout(Grouping.FIELDS, "word")),
            {"sink": Do()},
            r"sink from spout\.default = 'word'.*its fields are: n",
        ),
        (to_sink(Subscription("spout", "other")), {"sink": Do()}, r"sink from spout\.other: .*not declared"),
        (to_sink(on_spout(Grouping.PARTIAL_KEY)), {"sink": Do()}, r"0\.8\.2 has no partial-key"),
        ([SPOUT, LOOP], {"loop": Do()}, r"loop from loop\.default = 'm'"),
        *(
            ([SPOUT, SEND, DIRECT], {"send": send, "sink": Do()}, r"send\.default to sink.*needs a task")
            for send in (emitting(1, task=task) for task in (None, -1, 4))
        ),
        ([SPOUT], {"spout": Lines((1, 2))}, r"spout\.default.*emits 2 values where 1"),
        ([SPOUT], {"spout": Lines()}, "yields no record"),
        ([SPOUT], {"spout": Do()}, r"spout = 'Do'.*must be a Spout"),
        ([SPOUT], {"ghost": Do()}, r"'ghost'.*topology lacks"),
        (to_sink(on_spout()), {}, "sink: there is no code"),
    ],
)
def test_code_that_does_not_fit_its_topology_is_refused(
    components: list[Component], code: dict[str, Spout | Bolt], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        trace_of(components, {"spout": Lines((1,)), **code})


def test_a_bolt_that_reads_from_an_unknown_component_is_refused() -> None:
    with pytest.raises(UserError, match=r"from = 'nobody': component 'sink'.*there are: sink, spout"):
        trace_of(to_sink(Subscription("nobody")), {})


def looping(limit: int) -> tuple[list[Component], dict[str, Spout | Bolt]]:
    def step(values: Values, emit: Emit) -> None:
        assert isinstance(values[0], int)
        if values[0] < limit:
            emit(values[0] + 1)

    loop = bolt("loop", on_spout(), Subscription("loop"), outputs={"default": ("n",)})
    return [spout("n"), loop], {"spout": Lines((0,)), "loop": Do(step)}


def test_a_loop_that_ends_is_traced() -> None:
    components, code = looping(5)
    assert len(trace_of(components, code).records) == 1 + 6


def test_a_loop_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storm_lab.workloads.build.LARGEST_TREE", 1000)
    components, code = looping(10**9)
    with pytest.raises(UserError, match=r"loop: .*1000 executions.*loop\.default"):
        trace_of(components, code)
