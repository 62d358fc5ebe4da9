"""Every metric on a tiny log, against numbers worked out by hand (see scenarios.py)."""

from __future__ import annotations

import pandas as pd
import pytest

from storm_lab.pipeline.bins import width_ns
from storm_lab.pipeline.events import events, stretches
from storm_lab.pipeline.latency import _packed, _unpacked, latencies, latency
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.tables import Logs
from tests.pipeline.conftest import Table

pytestmark = pytest.mark.spark


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame[list(columns)].itertuples(index=False)]


def test_complete_latency_counts_in_the_minute_of_completion(of: Table) -> None:
    minutes = of("latency_60s", "latency")
    assert rows(minutes, "topology", "t_s", "tuples") == [("wc", 0.0, 4), ("wc", 60.0, 2)]
    assert minutes["complete_mean_ms"].tolist() == [25.0, 35.0]


def test_percentiles_are_exact_with_linear_interpolation(of: Table) -> None:
    minutes = of("latency_60s", "latency")
    assert minutes["complete_p50_ms"].tolist() == pytest.approx([25.0, 35.0], abs=1e-12)
    assert minutes["complete_p95_ms"].tolist() == pytest.approx([38.5, 48.5], abs=1e-12)
    assert minutes["complete_p99_ms"].tolist() == pytest.approx([39.7, 49.7], abs=1e-12)


def test_processing_time_leaves_out_the_sleep_that_the_latency_contains(of: Table) -> None:
    minutes = of("latency_60s", "latency")
    assert minutes["processing_mean_ms"].tolist() == [20.0, 35.0]
    assert minutes["processing_p50_ms"].tolist() == [20.0, 35.0]


def test_steady_latency_leaves_out_what_completes_before_the_warm_up_ends(of: Table) -> None:
    assert rows(of("steady_latency", "latency"), "tuples", "complete_mean_ms") == [(2, 35.0)]


def test_latency_distribution_has_cells_of_equal_width_on_a_logarithmic_axis(of: Table) -> None:
    cells = of("latency_distribution", "latency")
    assert cells["tuples"].tolist() == [1, 1]
    assert cells["low_ms"].tolist() == pytest.approx([19.952623, 44.668359], abs=1e-6)
    assert cells["high_ms"].tolist() == pytest.approx([22.387211, 50.118723], abs=1e-6)


def test_a_wide_bin_is_made_of_whole_narrow_ones(logs: Logs) -> None:
    with pytest.raises(ValueError, match="not made of whole bins"):
        latencies(logs.table("roots"), logs.runs, logs.scopes, 7.0, 60.0)


def test_a_place_that_is_packed_into_a_number_comes_out_again(logs: Logs) -> None:
    most = 2**31 - 1
    places = [(0, 0, None), (0, most, 0), (most, 0, 0), (most, most, None), (most, most, 0)]
    given = logs.spark.createDataFrame(places, "scope int, narrow bigint, warm bigint")
    packed = given.select(_packed().alias("place"))
    found = _unpacked(packed)
    assert found.schema == given.schema
    assert [tuple(row) for row in found.collect()] == places


def test_any_width_of_bin_is_possible(logs: Logs) -> None:
    every = latency(logs.table("roots"), 0.05)
    narrow = logs.labelled(every).where("variant = 'latency'").orderBy("t_s")
    assert [(row.t_s, row.tuples) for row in narrow.collect()] == [
        (1.0, 1), (1.1, 1), (1.2, 1), (1.3, 1), (60.0, 2)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="bin_s"):
        width_ns(0)


def test_a_second_without_a_tuple_has_throughput_zero(of: Table) -> None:
    seconds = of("throughput_1s", "stop")
    assert rows(seconds, "t_s", "width_s", "emitted", "acked", "acked_per_s") == [
        (0.0, 1.0, 1, 1, 1.0), (1.0, 1.0, 0, 0, 0.0), (2.0, 1.0, 2, 2, 2.0), (3.0, 0.5, 0, 0, 0.0)
    ]  # fmt: skip


def test_the_last_bin_ends_with_the_run(of: Table) -> None:
    assert rows(of("throughput_10s", "stop"), "t_s", "width_s", "acked", "acked_per_s") == [
        (0.0, 3.5, 3, 3 / 3.5)
    ]
    assert rows(of("throughput_60s", "stop"), "t_s", "width_s", "acked", "acked_per_s") == [
        (0.0, 3.5, 3, 3 / 3.5)
    ]


def test_failures_count_when_handled_losses_and_replays_when_emitted(of: Table) -> None:
    assert rows(of("failures_60s", "failures"), "t_s", "failed", "lost", "replayed") == [
        (0.0, 0, 1, 0), (60.0, 3, 0, 2)
    ]  # fmt: skip
    tens = of("failures_10s", "failures").set_index("t_s")
    assert len(tens) == 12
    assert tens["failed"][tens["failed"] > 0].to_dict() == {60.0: 2, 100.0: 1}
    assert tens["replayed"][tens["replayed"] > 0].to_dict() == {70.0: 2}


def test_degradation_counts_the_seconds_at_least_so_far_below_the_smooth_mean(of: Table) -> None:
    levels = of("degradation", "degradation")
    assert levels["smooth_per_s"].unique().tolist() == [10.0]
    assert rows(levels, "level", "degraded_s") == [(20, 5.0), (40, 4.0), (60, 3.0), (80, 3.0), (100, 2.0)]


def test_the_traffic_matrix_joins_tasks_of_an_executor_and_leaves_out_the_warm_up(of: Table) -> None:
    matrix = of("executor_traffic", "traffic")
    pair = ("source_component", "source_task", "target_component", "target_task")
    assert rows(matrix, *pair, "tuples", "bytes") == [
        ("split", 2, "count", 4, 60, 600), ("spout", 1, "split", 2, 40, 400)
    ]  # fmt: skip
    assert matrix["tuples_per_s"].tolist() == [60 / 50, 40 / 50]


def test_traffic_shares_follow_locality(of: Table) -> None:
    shares = of("steady_traffic_share", "traffic")
    assert rows(shares, "tuples", "process", "node", "rack", "cluster") == [(100.0, 10.0, 20.0, 30.0, 40.0)]
    assert rows(shares, "inter_node_share", "inter_process_share") == [(0.7, 0.2)]


def test_nodes_in_use_are_steps_in_which_old_and_new_worker_both_count(of: Table) -> None:
    steps = of("occupancy", "occupancy")
    alone = steps[steps["topology"] == "wc"]
    assert rows(alone, "from_s", "to_s", "nodes", "workers", "executors") == [
        (0.0, 40.0, 1, 1, 2), (40.0, 50.0, 2, 2, 3), (50.0, 100.0, 2, 2, 2)
    ]  # fmt: skip
    together = steps[steps["topology"] == ""]
    assert rows(together, "from_s", "to_s", "nodes", "workers") == [
        (0.0, 40.0, 1, 1), (40.0, 50.0, 2, 2), (50.0, 60.0, 2, 2), (60.0, 80.0, 2, 3), (80.0, 100.0, 2, 2)
    ]  # fmt: skip


def test_a_topology_uses_no_node_before_and_after_its_stay(of: Table) -> None:
    steps = of("occupancy", "occupancy")
    other = steps[steps["topology"] == "other"]
    assert rows(other, "from_s", "to_s", "nodes") == [(0.0, 60.0, 0), (60.0, 80.0, 1), (80.0, 100.0, 0)]


def test_stays_end_with_the_run(of: Table) -> None:
    stays = of("stays", "occupancy")
    assert rows(stays[stays["topology"] == "wc"], "component", "worker", "from_s", "to_s") == [
        ("a", 0, 0.0, 100.0), ("b", 0, 0.0, 50.0), ("b", 1, 40.0, 100.0)
    ]  # fmt: skip


def test_node_utilisation_is_cpu_time_over_cores_and_time(of: Table) -> None:
    assert rows(of("node_cpu_60s", "cpu"), "node", "cores", "t_s", "cores_used", "utilisation") == [
        ("n1", 4, 0.0, 0.8, 0.2), ("n1", 4, 60.0, 0.5, 0.125)
    ]  # fmt: skip


def test_mean_utilisation_over_used_nodes_and_over_all(of: Table) -> None:
    assert rows(of("steady_cpu", "cpu"), "cores_used", "utilisation_used_nodes", "utilisation_all_nodes") == [
        (0.5, 0.125, 0.5 / 6)
    ]  # fmt: skip


def test_each_thread_of_a_worker_is_told_apart_after_the_warm_up(of: Table) -> None:
    assert rows(of("steady_thread_cpu", "threads"), "component", "task", "thread", "cores_used") == [
        ("", -1, "transfer", 0.9), ("spout", 1, "main", 0.5), ("spout", 1, "send", 0.2)
    ]  # fmt: skip


def test_capacity_is_time_in_execute_over_time_up(of: Table) -> None:
    minute = of("capacity_60s", "capacity")
    first = minute[minute["t_s"] == 0.0]
    assert rows(first, "component", "task", "executed", "capacity") == [
        ("__acker", 9, 5.0, 1 / 60), ("split", 2, 150.0, 0.3), ("split", 4, 10.0, 0.5)
    ]  # fmt: skip
    halves = minute[(minute["task"] == 2) & (minute["t_s"] > 0)]
    assert rows(halves, "t_s", "capacity") == [(240.0, 0.5), (300.0, 0.5)]


def test_waiting_and_executing_are_told_apart(of: Table) -> None:
    times = of("execution_times_60s", "execution")
    assert rows(times, "component", "executions", "wait_mean_ms", "execute_mean_ms", "wait_max_ms") == [
        ("split", 2, 3.0, 3.0, 4.0)
    ]  # fmt: skip


def test_elapsed_time_runs_from_the_roots_emit_by_component_and_last_hop(of: Table) -> None:
    elapsed = of("steady_elapsed", "elapsed")
    assert rows(elapsed, "topology", "component", "locality", "tuples") == [
        ("wc", "count", "process", 1),
        ("wc", "split", "rack", 2),
    ]
    assert elapsed["enqueue_mean_ms"].tolist() == pytest.approx([7.0, 3.0], abs=1e-9)
    assert elapsed["end_mean_ms"].tolist() == pytest.approx([8.0, 6.0], abs=1e-9)


def test_a_run_is_stable_from_the_first_bin_after_which_all_are_near_the_final_level(of: Table) -> None:
    assert rows(of("stabilisation", "settling"), "stretch", "from_s", "to_s", "level", "stable_s") == [
        (0, 0.0, 60.0, 10.0, 20.0), (1, 60.0, 120.0, 10.0, 80.0)
    ]  # fmt: skip


def test_a_stretch_without_a_tuple_in_its_last_third_has_no_level_and_never_settles(of: Table) -> None:
    found = of("stabilisation", "gaps")
    assert rows(found, "from_s", "to_s") == [(0.0, 40.0), (40.0, 90.0)]
    assert found[["level", "stable_s"]].isna().all(axis=None)


def test_a_spike_is_the_peak_after_an_event_against_the_level_before(of: Table) -> None:
    found = of("spikes", "settling")
    assert rows(found, "event", "time_s", "before", "peak", "peak_s", "ratio", "is_spike") == [
        (1, 60.0, 20.0, 40.0, 60.0, 2.0, True)
    ]  # fmt: skip


def test_a_bin_ends_after_its_own_length_where_no_tuple_follows(of: Table) -> None:
    # At 40 s the bins from 0 and 10 s are over; after 90 s there is none.
    found = of("spikes", "gaps")
    assert rows(found, "time_s", "before", "peak", "peak_s", "is_spike") == [(40.0, 30.0, 30.0, 60.0, False)]


def test_entries_of_one_decision_are_one_event_and_other_actions_are_none(of: Table) -> None:
    assert rows(of("events", "settling"), "event", "time_s", "subject") == [(1, 60.0, "wc")]
    assert rows(of("events", "degradation"), "event", "time_s") == [(1, 10.0)]
    assert len(of("control", "degradation")) == 3


def test_rebalances_faults_and_moves_disturb_but_first_and_idle_assignments_do_not(of: Table) -> None:
    assert rows(of("events", "disturbed"), "event", "kind", "time_s") == [
        (1, "rebalance", 20.0), (2, "fault", 60.0), (3, "re-assignment", 90.0)
    ]  # fmt: skip


def test_stretches_lie_between_disturbances(logs: Logs) -> None:
    cut = stretches(logs.runs, events(logs.table("control")))
    found = logs.labelled(cut).where("variant = 'disturbed'").orderBy("from_s").collect()
    assert [(row.stretch, row.from_s, row.to_s) for row in found] == [
        (0, 0.0, 20.0), (1, 20.0, 60.0), (2, 60.0, 90.0), (3, 90.0, 120.0)
    ]  # fmt: skip


def test_component_throughput_is_dealt_out_by_overlap_and_filled_with_zeros(of: Table) -> None:
    tens = of("component_throughput_10s", "capacity")
    busy = tens[(tens["component"] == "split") & (tens["t_s"].isin([0.0, 30.0, 60.0, 250.0]))]
    third = 10 / 3
    assert busy["executed"].tolist() == pytest.approx([25, 25 + third, 0, 5], abs=1e-6)
    assert busy["executed_per_s"].tolist() == pytest.approx([2.5, 2.5 + third / 10, 0, 0.5], abs=1e-6)
    assert busy["emitted_per_s"].tolist() == pytest.approx([5, 5 + third / 5, 0, 1], abs=1e-6)


def test_steady_rates_leave_out_warm_up_and_storms_own_components(of: Table) -> None:
    (line,) = of("steady", "capacity").to_dict("records")
    # 30 of the 60 tuples that straddle the end of the warm-up, and 30 later ones, in 600 s.
    assert (line["measured_s"], line["executed_per_s"], line["acked"]) == (600.0, 0.1, 0)
    (line,) = of("steady", "latency").to_dict("records")
    assert (line["acked"], line["failed"], line["acked_per_s"]) == (2, 0, 2 / 60)


def test_throughput_per_node_divides_by_the_nodes_in_use_on_average(of: Table) -> None:
    lines = of("steady", "occupancy").set_index("topology")
    assert lines.loc["wc", "nodes_mean"] == (20 * 1 + 60 * 2) / 80
    assert (lines.loc["wc", "nodes_last"], lines.loc["wc", "workers_last"]) == (2, 2)
    (line,) = of("steady", "silent").to_dict("records")
    assert (line["executed_per_s"], line["executed_per_s_per_node"]) == (2.0, 2.0)


def test_a_topology_without_anchored_tuples_has_no_latency_but_a_throughput(of: Table) -> None:
    assert len(of("latency_60s", "silent")) == 0
    assert rows(of("throughput_60s", "silent"), "t_s", "acked") == [(0.0, 0)]
    assert rows(of("component_throughput_60s", "silent"), "component", "executed_per_s") == [("split", 2.0)]


def test_every_table_names_experiment_variant_seed_and_run(metrics: MetricTables) -> None:
    names = dict(zip(metrics.runs["run"], metrics.runs["variant"], strict=True))
    for name in ("latency_60s", "occupancy", "nodes", "control"):
        table = getattr(metrics, name)
        assert table.columns[:4].tolist() == ["experiment", "variant", "seed", "run"]
        assert table["variant"].tolist() == [names[run] for run in table["run"]]
