"""Executions are grouped by numbers; whose they were, the placements tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from storm_lab.pipeline.execution import execution_times
from storm_lab.pipeline.tables import Logs
from storm_lab.tuplelog import open_run
from tests.pipeline.scenarios import place
from tests.tuplelog.tiny import S, write_run

pytestmark = pytest.mark.spark


def test_two_topologies_may_number_their_tasks_alike(spark: SparkSession, tmp_path: Path) -> None:
    write_run(
        tmp_path / "run",
        {
            "placements": [
                place("split", 2, 3, worker=0, topology="one"),
                place("count", 2, worker=1, topology="two"),
                place("split", 2, 3, worker=2, topology="one", start_s=30),
            ],
            "executions": [
                {"task": task, "worker": worker, "enqueue_ns": 0, "start_ns": 0, "end_ns": S}
                for task, worker in ((2, 0), (3, 0), (2, 1), (3, 2))
            ],
        },
        duration_s=60,
    )
    logs = Logs(spark, [open_run(tmp_path / "run")])
    found = execution_times(logs.table("executions"), logs.table("placements"), 60)
    rows = sorted(tuple(row) for row in found.select("topology", "component", "executions").collect())
    assert rows == [("one", "split", 3), ("two", "count", 1)]


def test_an_execution_where_its_task_was_never_placed_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_run(
        tmp_path / "run",
        {
            "placements": [place("split", 2)],
            "executions": [{"task": 7, "worker": 0, "enqueue_ns": 0, "start_ns": 0, "end_ns": S}],
        },
        duration_s=60,
    )
    logs = Logs(spark, [open_run(tmp_path / "run")])
    with pytest.raises(PySparkException, match="executions without a placement: worker 0"):
        execution_times(logs.table("executions"), logs.table("placements"), 60).collect()
