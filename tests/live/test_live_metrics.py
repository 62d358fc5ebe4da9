"""The metrics pipeline reads live runs as it reads the emulator's."""

from pathlib import Path

import pytest

from storm_lab.live.collect import collect
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.tuplelog import RunIdentity, RunWriter
from tests.live.test_collect import Files, files, records  # noqa: F401

pytestmark = pytest.mark.spark

NAMES = ("steady_latency", "steady_thread_cpu", "execution_times_60s", "executor_traffic")


@pytest.fixture
def tables(tmp_path: Path, files: Files) -> MetricTables:  # noqa: F811
    identity = RunIdentity("live", "x", {}, 1, "2.8.3", "c", "l", {}, runtime="live")
    what = records(files.folder)
    folder = tmp_path / "runs" / "live" / identity.run
    with RunWriter(folder, identity) as log:
        collect(what, log)
        log.finish(duration_ns=what.duration_ns)
    return metrics_of([folder], names=NAMES)


def test_metrics_of_all_tables_of_the_log_are_computed(tables: MetricTables):
    latency = tables.steady_latency.iloc[0]
    assert (latency["tuples"], latency["complete_p50_ms"]) == (1, 4.0)
    cpu = tables.steady_thread_cpu
    assert cpu[cpu["component"] == "bolt1"]["cores_used"].iloc[0] == pytest.approx(0.002 / 2)
    # The time of an execution is known; how long its tuple waited before it is not.
    times = tables.execution_times_60s.set_index("component")
    assert times.loc["bolt1", "execute_mean_ms"] == 1.0
    assert times["wait_mean_ms"].isna().all()
    traffic = tables.executor_traffic
    assert set(traffic["source_component"]) == {"spout", "bolt1"}
