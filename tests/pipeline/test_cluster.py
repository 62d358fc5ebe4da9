"""The same code gives the same numbers on a cluster of processes and on a Spark Connect server, chosen by the
environment alone.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyspark
import pytest

from storm_lab.machine.java import activate_java
from storm_lab.pipeline.metric_tables import TABLE_NAMES, MetricTables
from storm_lab.pipeline.session import MASTER_VARIABLE, REMOTE_VARIABLE

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
from pathlib import Path
from storm_lab.pipeline.session import spark_session
from storm_lab.pipeline.metric_tables import TABLE_NAMES
from storm_lab.pipeline.summary import metrics_of
out, *folders = map(Path, sys.argv[1:])
spark = spark_session()
metrics = metrics_of(folders, spark, cache=out / "cache")
for name in TABLE_NAMES:
    getattr(metrics, name).to_pickle(out / f"{name}.pkl")
"""

CLUSTER = """
context = spark.sparkContext
executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
print("master", context.master, "executors", executors)
spark.stop()
"""

REMOTE = "print(type(spark).__module__)"


@pytest.mark.slow
@pytest.mark.spark
def test_two_worker_processes_give_the_numbers_of_one_local_session(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path
) -> None:
    master = "local-cluster[2,1,1024]"
    said = _computed_by(SCRIPT + CLUSTER, tmp_path, scenario_folders, {MASTER_VARIABLE: master})
    assert said == ["master", master, "executors", "2"]
    _compare(tmp_path, metrics)


@pytest.fixture
def connect_server(tmp_path: Path) -> Iterator[str]:
    """Address of a server made of PySpark's own jars, in a process of its own."""
    home = Path(pyspark.__file__).parent
    (jar,) = (home / "jars").glob("spark-connect_*.jar")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.ui.enabled": "false",
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", str(jar)]
    activate_java()
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip
        try:
            _wait_for(port, server, tmp_path / "server.log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()[-2000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"no answer on port {port}: {log.read_text()[-2000:]}")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(importlib.util.find_spec("grpc_status") is None, reason="pip install 'pyspark[connect]'")
def test_a_connect_server_gives_the_numbers_of_a_local_session(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path, connect_server: str
) -> None:
    said = _computed_by(SCRIPT + REMOTE, tmp_path, scenario_folders, {REMOTE_VARIABLE: connect_server})
    assert said == ["pyspark.sql.connect.session"]
    _compare(tmp_path, metrics)


def _computed_by(script: str, out: Path, folders: list[Path], environment: dict[str, str]) -> list[str]:
    """Have a process of its own compute the metrics of some runs; what it said."""
    command = [sys.executable, "-c", script, str(out), *map(str, folders)]
    answer = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return answer.stdout.split()


def _compare(folder: Path, metrics: MetricTables) -> None:
    for name in TABLE_NAMES:
        there = pd.read_pickle(folder / f"{name}.pkl")
        pd.testing.assert_frame_equal(there, getattr(metrics, name), check_exact=True, obj=name)
