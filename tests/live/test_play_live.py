"""Topologies on real Storm: the tuples that arrive are those of the trace. Starts daemons."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.faults.commands import SetLoad
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.releases import RELEASES, find_release
from storm_lab.model import Component, Grouping, StormVersion, Subscription, Topology, executors_of
from storm_lab.schedulers.storm.even import EvenScheduler
from storm_lab.tuplelog import Run
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values
from storm_lab.workloads.workload_trace import WorkloadTrace
from tests.live.real_cluster import NODES, played

pytestmark = [pytest.mark.live, pytest.mark.slow]

LINES = 12


class Lines(Spout):
    def records(self):
        for number in range(LINES):
            yield f"key{number % 5}", number

    def cost(self, record):
        return Cost(20.0)


class Forks(Bolt):
    def execute(self, values: Values, emit: Emit) -> None:
        emit(values[0], values[1])
        emit(values[1], stream="calls", task=int(str(values[1])) % 3)

    def cost(self, values):
        return Cost(200.0, server="db", server_us=300.0)


class Ends(Bolt):
    def execute(self, values: Values, emit: Emit) -> None:
        pass

    def cost(self, values):
        return Cost(5.0)

    def tick_cost(self):
        return Cost(50.0)


def _topology(version: StormVersion) -> Topology:
    partial = Grouping.PARTIAL_KEY if version >= StormVersion((0, 10, 0)) else Grouping.NONE
    fields = ("key",)
    return Topology(
        "all-groupings",
        (
            Component("lines", executors=2, outputs={"default": ("key", "number")}),
            Component(
                "forks",
                executors=3,
                inputs=(Subscription("lines", grouping=Grouping.FIELDS, fields=fields),),
                outputs={"default": ("key", "number"), "calls": ("number",)},
            ),
            Component("every", executors=2, inputs=(Subscription("lines", grouping=Grouping.ALL),)),
            Component(
                "partial",
                executors=3,
                inputs=(
                    Subscription(
                        "lines", grouping=partial, fields=fields if partial is not Grouping.NONE else ()
                    ),
                ),
            ),
            Component(
                "one",
                executors=2,
                inputs=(Subscription("forks", grouping=Grouping.GLOBAL),),
                tick_seconds=1.0,
            ),
            Component(
                "named", executors=3, inputs=(Subscription("forks", "calls", grouping=Grouping.DIRECT),)
            ),
            Component("near", executors=2, tasks=4, inputs=(Subscription("forks"),)),
        ),
        workers=2,
        ackers=1,
        max_spout_pending=100,
        message_timeout_s=20.0,
    )


def _play(version: str, tmp_path: Path) -> tuple[Run, WorkloadTrace, Topology, StormVersion]:
    release = find_release(version)
    topology = _topology(release.storm)
    code = {name: Ends() for name in ("every", "partial", "one", "named", "near")}
    trace = build_trace(topology, {"lines": Lines(), "forks": Forks(), **code}, release.storm)
    # The line with number 7 fails at its first bolt.
    first = trace.emissions["first_record"][trace.records["first_emission"][trace.sources["lines"][7]]]
    trace.records["emissions"][first] = -1
    source = SourcePlan(SourceKind.RATE, rate_per_s=40.0, on_fail=FailurePolicy.FORGET)
    spec = EmulationSpec(
        NODES,
        release.storm,
        (TopologyPlan(topology, trace, {"lines": source}),),
        EvenScheduler(),
        duration_s=60.0,
        faults=FaultPlan((SetLoad(45.0, topology.id, "lines", 0.0),)),
        window_s=1.0,
    )
    return played(spec, version, tmp_path / "run"), trace, topology, release.storm


def _expected(
    trace: WorkloadTrace, topology: Topology, version: StormVersion, line: int
) -> Counter[tuple[str, int]]:
    """Count how often a component's tasks execute a line's tuples; task -1 if the grouping leaves it open."""
    tasks: dict[str, list[int]] = {}
    for executor in executors_of(topology, version):
        tasks.setdefault(executor.component, []).extend(executor.tasks)
    found: Counter[tuple[str, int]] = Counter()

    def follow(record: int) -> None:
        row = trace.records[record]
        for place in range(row["first_emission"], row["first_emission"] + max(0, row["emissions"])):
            emission = trace.emissions[place]
            component, stream = trace.streams[emission["stream"]]
            followers = [
                (bolt, item)
                for bolt in topology.components
                for item in bolt.inputs
                if (item.source, item.stream) == (component, stream)
            ]
            for position, (bolt, item) in enumerate(followers):
                target = int(emission["first_record"]) + position
                own = sorted(tasks[bolt.id])
                key = int(trace.records[target]["key"])
                if item.grouping in (Grouping.FIELDS, Grouping.DIRECT):
                    found[bolt.id, own[key % len(own)]] += 1
                elif item.grouping is Grouping.GLOBAL:
                    found[bolt.id, own[0]] += 1
                elif item.grouping is Grouping.ALL:
                    for task in own:
                        found[bolt.id, task] += 1
                else:
                    found[bolt.id, -1] += 1
                follow(target)

    follow(int(trace.sources["lines"][line % LINES]))
    return found


@pytest.mark.parametrize("version", list(RELEASES))
def test_every_tuple_goes_where_its_grouping_sends_it(version: str, tmp_path: Path):
    run, trace, topology, storm = _play(version, tmp_path)
    roots = {row["root_id"]: row for row in run.table("roots").to_pylist()}
    assert len(roots) > 1000
    executed: dict[int, Counter[tuple[str, int]]] = {number: Counter() for number in roots}
    open_groupings = {"partial", "near"}
    for row in run.table("executions").to_pylist():
        if row["root_id"] < 0:
            continue
        task = -1 if row["component"] in open_groupings else row["task"]
        executed[row["root_id"]][row["component"], task] += 1
    fails = acks = 0
    for number, root in roots.items():
        expected = _expected(trace, topology, storm, root["line"])
        if root["line"] % LINES == 7:
            fails += 1
            assert root["outcome"] == "failed", root
        else:
            acks += 1
            assert root["outcome"] == "acked", root
        assert executed[number] == expected, root
    assert fails > 80
    assert acks > 900
    # Both spout tasks read one queue: no line twice, none left out.
    assert sorted(root["line"] for root in roots.values()) == list(range(len(roots)))
    # 40 lines a second from the start of the run to 45 s.
    assert len(roots) in range(1799, 1803)


def test_partial_key_sends_the_tuples_of_a_key_to_its_two_candidates_only(tmp_path: Path):
    run, trace, topology, storm = _play("2.8", tmp_path)
    line_of = {row["root_id"]: (row["line"], row["spout_task"]) for row in run.table("roots").to_pylist()}
    used: dict[tuple[int, int], Counter[int]] = {}
    for row in run.table("executions").to_pylist():
        if row["component"] == "partial":
            line, spout = line_of[row["root_id"]]
            used.setdefault((line % LINES, spout), Counter())[row["task"]] += 1
    own = sorted(t for e in executors_of(topology, storm) if e.component == "partial" for t in e.tasks)
    position = [c.id for c in topology.components if any(s.source == "lines" for s in c.inputs)].index(
        "partial"
    )
    for (line, _), tasks in used.items():
        emission = trace.emissions[trace.records["first_emission"][trace.sources["lines"][line]]]
        record = trace.records[int(emission["first_record"]) + position]
        assert set(tasks) <= {own[record["key"] % 3], own[record["key2"] % 3]}
