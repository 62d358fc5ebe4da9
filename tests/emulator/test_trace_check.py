"""Workload traces with invalid numbers are refused in one line that names the tuples concerned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.source import LARGEST_TUPLE, LONGEST_CALL_NS, TopologyPlan, check_plan
from storm_lab.errors import UserError
from storm_lab.model import Component, Topology
from storm_lab.model.version import V1_0_6
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import FIELDS, EmitRandomTexts
from storm_lab.workloads.workload_trace import WorkloadTrace
from tests.emulator.scene import chain, chain_trace, constant_work, nodes, plane_of, rate


def play(trace: WorkloadTrace, topology: Topology | None = None) -> None:
    plan = TopologyPlan(topology or chain((1, 1)), trace, {"spout": rate(1.0, anchored=True)})
    plane_of(nodes(1), [plan], version=V1_0_6)


def with_record(row: int, field: str, value: int) -> WorkloadTrace:
    trace = chain_trace([constant_work(1, 3)])
    records = np.array(trace.records)
    records[field][row] = value
    return replace(trace, records=records)


def with_emission(field: str, value: int) -> WorkloadTrace:
    trace = chain_trace([constant_work(1, 3)])
    emissions = np.array(trace.emissions)
    emissions[field][0] = value
    return replace(trace, emissions=emissions)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu_ns", -1),
        ("cpu_ns", LONGEST_CALL_NS + 1),
        ("server_ns", -7),
        ("server", 0),
        ("server", -2),
        ("resets", 2),
        ("resets", -1),
        ("emissions", -2),
    ],
)
def test_a_bolts_record_out_of_range_is_refused_with_field_value_and_stream(field: str, value: int) -> None:
    with pytest.raises(UserError, match=r"stream 'default' of 'spout'") as caught:
        play(with_record(1, field, value))
    assert caught.value.field == field
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(("field", "value"), [("resets", 1), ("first_emission", 99), ("first_emission", -1)])
def test_a_spouts_line_out_of_range_is_refused_with_field_and_spout(field: str, value: int) -> None:
    with pytest.raises(UserError, match="a line of spout 'spout'") as caught:
        play(with_record(0, field, value))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [("bytes", -1), ("bytes", LARGEST_TUPLE + 1), ("first_record", 99), ("first_record", -1), ("stream", 7)],
)
def test_an_emission_out_of_range_is_refused(field: str, value: int) -> None:
    with pytest.raises(UserError) as caught:
        play(with_emission(field, value))
    assert caught.value.field == field
    assert str(value) in str(caught.value)


def test_a_line_without_a_record_is_refused() -> None:
    trace = chain_trace([constant_work(1, 3)])
    with pytest.raises(UserError, match="lines without a record"):
        play(replace(trace, sources={"spout": np.array([0, 1000])}))


def test_a_trace_for_another_topology_is_refused() -> None:
    with pytest.raises(UserError, match="unknown to topology"):
        play(chain_trace([constant_work(1, 1)] * 3))


def test_a_spout_without_a_source_is_refused() -> None:
    with pytest.raises(UserError, match="has no source"):
        plane_of(nodes(1), [TopologyPlan(chain((1, 1)), chain_trace([constant_work(1, 1)]), {})])


def test_a_plan_with_an_invalid_source_is_refused() -> None:
    plan = TopologyPlan(chain((1, 1)), chain_trace([constant_work(1, 1)]), {"spout": rate(-1.0)})
    with pytest.raises(UserError, match="rate_per_s"):
        check_plan(plan)


def test_switched_off_timeouts_are_refused() -> None:
    off = replace(chain((1, 1)), settings={"topology.enable.message.timeouts": False})
    with pytest.raises(UserError, match="switched off"):
        play(chain_trace([constant_work(1, 1)]), off)
    play(
        chain_trace([constant_work(1, 1)]), replace(off, settings={"topology.enable.message.timeouts": True})
    )


@pytest.mark.parametrize(
    ("executors", "tasks", "message"),
    [(0, None, "executors = 0"), (0, 3, "executors = 0"), (3, 0, "tasks = 0")],
)
def test_a_component_without_executors_or_tasks_is_refused(
    executors: int, tasks: int | None, message: str
) -> None:
    spout, bolt = chain((1, 1)).components
    with pytest.raises(UserError, match=f"{message}: component 'bolt0' of topology 't' .* give 1 to"):
        play(
            chain_trace([constant_work(1, 1)]),
            Topology("t", (spout, replace(bolt, executors=executors, tasks=tasks))),
        )


def test_a_trace_or_source_of_a_wrong_type_is_refused_with_the_field() -> None:
    with pytest.raises(UserError, match=r"trace: a plan needs a WorkloadTrace, not None"):
        play(None)  # type: ignore[arg-type]
    plan = TopologyPlan(chain((1, 1)), chain_trace([constant_work(1, 1)]), {"spout": 10.0})  # type: ignore[dict-item]
    with pytest.raises(UserError, match=r"sources\['spout'\] = 10.0: a plan needs a SourcePlan"):
        check_plan(plan)


def test_records_within_range_are_accepted() -> None:
    play(with_record(1, "resets", 1))
    play(with_record(1, "cpu_ns", LONGEST_CALL_NS))
    play(with_record(1, "emissions", -1))


def test_a_stream_without_subscribers_leads_to_no_record() -> None:
    topology = Topology("loud", (Component("spout", 1, outputs={"default": FIELDS}),), workers=1, ackers=0)
    trace = build_trace(topology, {"spout": EmitRandomTexts(1, 1, 0)}, V1_0_6)
    assert set(trace.emissions["first_record"].tolist()) == {-1}
    play(trace, topology)
