"""T-Storm's Log Stream Processing, the relief of an overload, the sweep and the hand-overs, as declared."""

from typing import Any

import pandas as pd
import pytest

from storm_lab.emulator.control.migration.method import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.cost import CostModel
from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.online_scheduling import overload_rule
from storm_lab.experiments.readings import part_of
from storm_lab.model.executor import executors_of
from storm_lab.model.topology import Grouping
from storm_lab.papers.tstorm import (
    gamma_sweep,
    log_stream,
    overload_relief,
    reassign_smoothing,
    word_count,
)
from storm_lab.papers.tstorm.overload_relief import before_ms, detected_s, first_schedule_nodes
from storm_lab.papers.tstorm.reassign_smoothing import excess_ms_s, lost
from storm_lab.papers.tstorm.testbed import STORM, VERSION
from storm_lab.workloads.access_log import load_log

LOG_STREAM = log_stream.EXPERIMENT
DEFAULTS = LOG_STREAM.checked()


def test_the_topology_is_the_printed_one_with_one_acker() -> None:
    declared = log_stream.topology(DEFAULTS)
    assert {c.id: c.executors for c in declared.components} == {
        "spout": 5,
        "rules": 5,
        "indexer": 5,
        "counter": 5,
        "index-store": 2,
        "count-store": 2,
    }
    assert {s.grouping for s in declared.component("counter").inputs} == {Grouping.FIELDS}
    assert len(executors_of(declared, VERSION)) == 25, "25 executors give 7 and 5 nodes"


def test_the_plan_streams_every_line_and_stores_every_index_entry_and_count() -> None:
    made = log_stream.plan(LOG_STREAM.runs(DEFAULTS)[0])
    trace, lines = made.trace, len(load_log("generated").lines)
    assert len(trace.sources["spout"]) == lines
    assert made.sources["spout"].rate_per_s == 400
    number = {stream: trace.streams.index(stream) for stream in trace.streams}
    sent = {stream: int((trace.emissions["stream"] == number[stream]).sum()) for stream in number}
    assert sent["rules", "default"] + sent["rules", "malformed"] == lines
    assert sent["indexer", "default"] == sent["rules", "default"]
    assert sent["counter", "default"] == lines
    inserts = int((trace.records["server_ns"] > 0).sum())
    assert inserts == sent["indexer", "default"] + sent["counter", "default"]


def test_the_storm_run_depends_on_no_parameter_of_tstorm() -> None:
    (spec,) = [s for s in log_stream.figure_runs(LOG_STREAM.checked({"seeds": [1]})) if s.variant == STORM]
    assert not {"gamma", "alpha", "fetch_s", "overload_windows"} & set(spec.parameters)


@pytest.mark.parametrize(
    ("relief", "figure"), [(overload_relief.WORD_COUNT, word_count), (overload_relief.LOG_STREAM, log_stream)]
)
def test_two_streams_reach_one_worker_on_one_node(relief: Experiment, figure: Any) -> None:
    checked = relief.checked()
    spec = relief.runs(checked)[0]
    assert spec.parameters.number("lines_per_s") == 2 * checked.number("lines_per_s")
    topology = figure.topology(spec.parameters)
    placed = spec.describe(spec).placement
    assert placed is not None
    assert set(placed.slots) == set(executors_of(topology, VERSION))
    assert len(set(placed.slots.values())) == 1


def test_the_sweep_shares_the_runs_of_the_figures() -> None:
    swept = {str(spec) for spec in gamma_sweep.runs(gamma_sweep.EXPERIMENT.checked())}
    for module in (word_count, log_stream):
        assert {str(s) for s in module.figure_runs(module.EXPERIMENT.checked())} <= swept


def test_hand_overs_differ_in_one_part_each() -> None:
    assert reassign_smoothing.hand_over("plain") == Restart()
    assert reassign_smoothing.hand_over("tstorm-g1.8") == Smooth()
    assert reassign_smoothing.hand_over("no-dispatcher") == Smooth(dispatch_by_id=False)
    assert reassign_smoothing.hand_over("no-kill-delay") == Smooth(kill_delay_s=0)
    assert reassign_smoothing.hand_over("no-spout-delay") == Smooth(spout_delay_s=0)


def test_the_dispatcher_costs_a_lookup_and_eight_bytes_per_tuple() -> None:
    specs = {s.variant: s for s in reassign_smoothing.runs(reassign_smoothing.EXPERIMENT.checked())}
    usual = CostModel()
    costed = reassign_smoothing.dispatching(usual, specs["dispatcher-costed"].parameters)
    assert costed.receive_us - usual.receive_us == pytest.approx(4.0)
    assert costed.header_bytes - usual.header_bytes == 8
    assert reassign_smoothing.dispatching(usual, specs["plain"].parameters) == usual


def test_the_overload_threshold_is_close_to_the_capacity_that_algorithm_1_fills() -> None:
    rule = overload_rule(overload_relief.WORD_COUNT.checked())
    assert rule.node_fraction == pytest.approx(0.81)
    assert (rule.node_windows, rule.failure_windows, rule.queue_windows) == (3, 3, 0)


class Tables:
    """Metric tables of one run: a re-assignment at 360 s, a level of 10 ms before it and a bump after."""

    def __init__(self) -> None:
        run = {"experiment": "e", "variant": "v", "seed": 1}
        levels = {340: 10.0, 350: 10.0, 360: 12.0, 370: 110.0, 380: 10.0, 600: 900.0}
        self.latency_10s = pd.DataFrame(
            [{**run, "t_s": t, "tuples": 5, "processing_mean_ms": ms} for t, ms in levels.items()]
        )
        self.failures_10s = pd.DataFrame(
            [{**run, "t_s": t, "failed": 1, "lost": 2} for t in (100, 355, 400, 500)]
        )
        self.events = pd.DataFrame([{**run, "kind": "re-assignment", "time_s": 360.0}])
        said = [(120.0, "detect-overload", "{}"), (180.0, "detect-overload", "{}")]
        said += [(120.0, "generate-schedule", '{"nodes":7}'), (180.0, "generate-schedule", '{"nodes":5}')]
        self.control = pd.DataFrame([{**run, "time_s": t, "action": a, "detail": d} for t, a, d in said])


def test_loss_and_excess_latency_cover_the_two_minutes_after_a_re_assignment() -> None:
    tables: Any = Tables()
    assert lost(tables, "v", (1,)) == [6.0], "bins that begin at 355 and 400 s"
    # In those two bins nothing completes, and what is lost takes 30 s.
    assert excess_ms_s(tables, "v", (1,)) == [pytest.approx((2 + 100 + 0 + 2 * 29_990) * 10)]


def test_detection_time_and_node_count_come_from_the_first_schedule() -> None:
    tables: Any = Tables()
    assert detected_s(tables, "v", (1,)) == [120.0]
    assert first_schedule_nodes(tables, "v", (1,)) == [7.0]
    assert before_ms(tables, "v", (1,)) == [10.0]
    assert detected_s(tables, "other", (1,)) == [None]


def test_a_part_holds_the_rows_of_one_experiment() -> None:
    tables: Any = Tables()
    for name in ("latency_60s", "steady", "stabilisation", "spikes", "occupancy"):
        setattr(tables, name, tables.latency_10s)
    assert len(part_of(tables, "e").latency_10s) == 6
    assert len(part_of(tables, "another").latency_10s) == 0
