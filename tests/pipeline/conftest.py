"""One Spark session and one set of tiny runs for all tests of the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.session import spark_session
from storm_lab.pipeline.summary import metrics_of
from storm_lab.pipeline.tables import Logs
from storm_lab.tuplelog import find_runs
from tests.pipeline.scenarios import write_all


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    return spark_session(brief=True)


@pytest.fixture(scope="session")
def scenario_folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_all(tmp_path_factory.mktemp("data") / "runs")


@pytest.fixture(scope="session")
def logs(spark: SparkSession, scenario_folders: list[Path]) -> Logs:
    runs, refused = find_runs(scenario_folders[0].parents[1])
    assert refused == []
    return Logs(spark, runs)


@pytest.fixture(scope="session")
def metrics(spark: SparkSession, scenario_folders: list[Path]) -> MetricTables:
    return metrics_of(scenario_folders, spark)


Table = Callable[[str, str], pd.DataFrame]


@pytest.fixture(scope="session")
def of(metrics: MetricTables) -> Table:
    """A metric table of one scenario, without the columns that are the same in all its rows."""

    def pick(name: str, scenario: str) -> pd.DataFrame:
        table: pd.DataFrame = getattr(metrics, name)
        chosen = table[table["variant"] == scenario].reset_index(drop=True)
        return chosen.drop(columns=["experiment", "variant", "seed", "run"])

    return pick
