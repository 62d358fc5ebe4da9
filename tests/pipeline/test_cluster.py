"""The same code gives the same numbers on a cluster of processes, chosen by the environment alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from storm_lab.pipeline.summary import TABLE_NAMES, MetricTables

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
from pathlib import Path
from storm_lab.pipeline.session import spark_session
from storm_lab.pipeline.summary import TABLE_NAMES, metrics_of
out, *folders = map(Path, sys.argv[1:])
spark = spark_session()
metrics = metrics_of(folders, spark, cache=out / "cache")
for name in TABLE_NAMES:
    getattr(metrics, name).to_pickle(out / f"{name}.pkl")
context = spark.sparkContext
executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
print("master", context.master, "executors", executors)
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_two_worker_processes_give_the_numbers_of_one_local_session(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path
) -> None:
    master = "local-cluster[2,1,1024]"
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), *map(str, scenario_folders)]
    environment = os.environ | {"STORM_LAB_SPARK_MASTER": master}
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-2000:]
    assert answer.stdout.split() == ["master", master, "executors", "2"]
    for name in TABLE_NAMES:
        there = pd.read_pickle(tmp_path / f"{name}.pkl")
        pd.testing.assert_frame_equal(there, getattr(metrics, name), check_exact=True, obj=name)
