"""R-Storm's topologies and machines: how they match the recorded ones, and what they request."""

from __future__ import annotations

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Grouping
from storm_lab.model.executor import executors_of
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, scheduler_of, topology_plan
from storm_lab.papers.rstorm.layouts import MICRO, YAHOO, layout
from storm_lab.papers.rstorm.recording import load_recordings
from storm_lab.papers.rstorm.testbed import VERSION, emulab, emulab_costs
from storm_lab.papers.rstorm.usercode import Effort
from storm_lab.papers.rstorm.yahoo import EVENTS, event_lines
from storm_lab.schedulers.contract import SchedulingView


def points(name: str) -> float:
    return sum(c.executors * c.resources.cpu_points for c in layout(name).topology.components if c.resources)


def machines(name: str, scheduler: str, workers: int | None = None) -> int:
    view = SchedulingView((layout(name, workers=workers).topology,), emulab(), VERSION)
    return len(scheduler_of(scheduler).schedule(view).assignment.nodes_used())


@pytest.mark.parametrize(
    ("name", "total", "packed"),
    [
        ("linear", 560, 6),
        ("diamond", 640, 7),
        ("star", 560, 6),
        ("page-load", 570, 6),
        ("processing", 520, 6),
    ],
)
def test_r_storm_packs_the_total_demand_onto_as_many_machines_as_it_needs(
    name: str, total: float, packed: int
) -> None:
    assert points(name) == total
    assert machines(name, RSTORM) == packed


@pytest.mark.parametrize("name", MICRO + YAHOO)
def test_default_uses_all_twelve_machines_with_twelve_workers_and_one_with_one(name: str) -> None:
    assert machines(name, DEFAULT, 12) == 12
    assert machines(name, DEFAULT, 1) == 1


def test_only_the_star_keeps_storms_default_of_one_worker() -> None:
    assert {name: layout(name).topology.workers for name in MICRO + YAHOO} == {
        "linear": 12,
        "diamond": 12,
        "star": 1,
        "page-load": 12,
        "processing": 12,
    }


@pytest.mark.parametrize("name", MICRO + YAHOO)
def test_streams_and_user_code_are_those_of_the_recordings(name: str) -> None:
    recorded, own = load_recordings().topology(name), layout(name)
    assert own.definitions == recorded.definitions
    for component, other in zip(own.topology.components, recorded.topology.components, strict=True):
        assert (component.id, component.inputs) == (other.id, other.inputs)
        assert all(s.grouping is Grouping.SHUFFLE for s in component.inputs)
    assert all(len(e.tasks) == 1 for e in executors_of(own.topology, VERSION))


def test_yahoos_topologies_equal_the_recorded_ones() -> None:
    for name in YAHOO:
        recorded = load_recordings().topology(name).topology
        assert layout(name).topology.components == recorded.components


def test_output_bolts_are_those_without_subscribers() -> None:
    assert layout("linear").sinks == ("bolt_output_2",)
    assert layout("star").sinks == ("bolt_output_0", "bolt_output_1")
    assert layout("processing").sinks == ("bolt_output_1", "bolt_output_2")


def test_the_machines_are_in_two_racks_with_two_milliseconds_between_them() -> None:
    for size in (12, 24):
        nodes = emulab(size).nodes
        assert [node.rack for node in nodes] == ["vlan0"] * (size // 2) + ["vlan1"] * (size // 2)
        assert {(node.cores, node.memory_mb, node.nic_mbps) for node in nodes} == {(1, 2048.0, 100.0)}
    assert emulab_costs().inter_rack_us == 2000.0


def test_work_is_added_to_every_tuple_of_spouts_and_bolts_alike() -> None:
    made = layout("linear")
    plain, heavy = (
        topology_plan(made.topology, made.definitions, (), effort=Effort(work_us=work)).trace.records[
            "cpu_ns"
        ]
        for work in (0.0, 15000.0)
    )
    assert set(heavy - plain) == {15_000_000}


def test_only_spouts_sleep() -> None:
    made = layout("star", spout_sleep_ms=100.0)
    plan = topology_plan(made.topology, made.definitions, ())
    assert {source.sleep_ns for source in plan.sources.values()} == {100_000_000}
    assert made.definitions["center"].sleep_ms == 0


def test_page_load_runs_its_user_code_over_the_lines() -> None:
    made = layout("page-load")
    trace = topology_plan(
        made.topology, made.definitions, ("0123456789",), effort=Effort(character_us=1.0)
    ).trace
    cost = trace.records["cpu_ns"] / 1000.0
    # A line of ten characters is walked over once, when it is cut to eight.
    assert sorted(set(cost)) == [2.0, 12.0]
    sizes = {
        c: set(trace.emissions["bytes"][trace.emissions["stream"] == i])
        for i, (c, _) in enumerate(trace.streams)
    }
    assert {c: sizes[c] for c in ("spout_head", "bolt_transform", "bolt_aggregate")} == {
        "spout_head": {10 + 2},
        "bolt_transform": {8 + 2},
        "bolt_aggregate": {8 + 8 + 2},
    }


def test_event_lines_are_as_long_as_those_of_the_recorded_runs() -> None:
    assert tuple(len(line) for line in event_lines(EVENTS).lines) == load_recordings().line_lengths


def test_a_file_of_lines_is_streamed_without_its_blank_ones(tmp_path) -> None:
    path = tmp_path / "access.log"
    path.write_text('10.0.0.1 - - "GET /" 200\n\n10.0.0.2 - - "GET /a" 404\n', encoding="utf-8")
    text = event_lines(str(path))
    assert text.lines == ('10.0.0.1 - - "GET /" 200', '10.0.0.2 - - "GET /a" 404')
    assert text.digest != event_lines(EVENTS).digest


def test_a_missing_file_of_lines_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="lines"):
        event_lines(str(tmp_path / "none.log"))
