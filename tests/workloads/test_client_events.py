"""Client events: every event is distributed and counted once; reports hold the users of a second."""

from __future__ import annotations

from collections import Counter

from storm_lab.papers.twitter.testbed import VERSION, client_event_count
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.client_events import AddReports, ClientEventCosts, CountUsers, Distribute, ReadEvents
from storm_lab.workloads.usercode import Values

COSTS = ClientEventCosts(read_us=20.0, distribute_us=10.0, count_us=5.0, aggregate_us=1.0, event_bytes=150)


def test_every_event_is_read_distributed_and_counted_once() -> None:
    trace = build_trace(
        client_event_count(ackers=1),
        {
            "spout": ReadEvents(50, 1000, 1, COSTS),
            "distributor": Distribute(COSTS),
            "user-count": CountUsers(COSTS),
            "aggregator": AddReports(COSTS),
        },
        VERSION,
    )
    costs = Counter(int(ns) for ns in trace.records["cpu_ns"])
    # The tick's record, which emits the report, costs a count; the aggregator has its own cost.
    assert costs == {20_000: 50, 10_000: 50, 5_000: 51, 1_000: 1}
    assert set(trace.emissions["bytes"][:-1]) == {150}


def test_each_user_is_counted_once_per_second() -> None:
    counter = CountUsers(COSTS)
    reports: list[tuple[object, ...]] = []

    def emit(*values: object, **_: object) -> None:
        reports.append(values)

    for second, user in ((1, "a"), (1, "b"), (1, "a"), (2, "a")):
        counter.execute(Values.of((second, user), "distributor", "default"), emit)
        counter.tick(emit)
    assert reports == [(1, 1), (1, 2), (1, 2), (2, 1)]


def test_reports_are_summed_by_second() -> None:
    adder = AddReports(COSTS)
    for report in ((1, 3), (2, 1), (1, 4)):
        adder.execute(Values.of(report, "user-count", "default"), lambda *values, **_: None)
    assert adder.total == {1: 7, 2: 1}


def test_another_seed_draws_other_users_in_the_same_seconds() -> None:
    first, second = (list(ReadEvents(2000, 10**6, seed, COSTS).records()) for seed in (1, 2))
    assert [event[0] for event in first] == [event[0] for event in second]
    assert first != second
    assert first == list(ReadEvents(2000, 10**6, 1, COSTS).records())
