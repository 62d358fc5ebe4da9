"""The bench measures what it says: real rows, the same metrics, and engines that agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from storm_lab.bench import _pipeline_engine as engine
from storm_lab.bench.pipeline import ENGINES, compare, complete_log, replicate
from storm_lab.tuplelog import open_run
from tests.pipeline.conftest import Table

pytestmark = pytest.mark.spark


@pytest.fixture
def settling(scenario_folders: list[Path]) -> Path:
    return next(folder for folder in scenario_folders if folder.name == "settling")


@pytest.mark.parametrize("name", ["duckdb", "pandas"])
def test_other_engines_find_the_pipelines_numbers(name: str, scenario_folders: list[Path], of: Table) -> None:
    pytest.importorskip(name)
    folder = next(folder for folder in scenario_folders if folder.name == "latency")
    latency, throughput, _ = {"duckdb": engine._duckdb, "pandas": engine._pandas}[name](folder)
    ours = of("latency_60s", "latency").itertuples(index=False)
    for theirs, mine in zip(latency(), ours, strict=True):
        assert theirs[0] == mine[0]
        assert theirs[1:] == pytest.approx(list(mine)[1:], rel=1e-12)
    seconds = of("throughput_1s", "latency")
    busy = seconds[seconds["acked"] > 0]
    assert [(row[1], row[2]) for row in throughput()] == list(zip(busy["t_s"], busy["acked"], strict=True))


def test_copies_of_a_run_are_a_whole_run_with_values_of_their_own(settling: Path, tmp_path: Path) -> None:
    log = replicate(open_run(settling), tmp_path / "log", 30)
    latencies = log.table("roots")["latency_ns"].to_pylist()
    assert len(latencies) == 24
    assert len(set(latencies)) == 2 * len(set(latencies[:12]))
    assert open_run(tmp_path / "log", verify=True).manifest.duration_ns == 120_000_000_000


def test_ratios_are_named_by_what_they_divide() -> None:
    figures = {"start_s": 1.0, "start_and_first_s": 3.0, "peak_mb": 900.0}
    engines = {
        name: figures
        | {"cold_s": cold, "warm_s": warm, "cold_cpu_s": 3 * cold, "warm_cpu_s": 2 * warm}
        | {"results": [[["wc", 1.0]]]}
        for name, cold, warm in zip(ENGINES, (8.0, 1.0, 4.0), (4.0, 2.0, 16.0), strict=True)
    }
    result = compare(engines)
    assert (result["ratio_duckdb_warm"], result["ratio_pandas_wall"]) == (2.0, 0.25)
    assert result["ratio_pandas_wall_cold"] == 2.0
    assert (result["ratio_duckdb_warm_cpu"], result["ratio_pandas_cpu"]) == (2.0, 0.25)
    assert (result["driver_peak_mb"], result["results_equal"]) == (900.0, True)
    engines["pandas"]["results"] = [[["wc", 1.1]]]
    assert compare(engines)["results_equal"] is False


@pytest.mark.slow
def test_the_rows_are_those_of_a_run_with_every_execution_in_its_log(tmp_path: Path) -> None:
    manifest = complete_log(tmp_path).manifest
    assert (manifest.identity.experiment, manifest.identity.sample_every) == ("tstorm-word-count", 1)
    # A line of some eight words is split once, and each word counted and stored once, if it got so far.
    assert 10 < manifest.tables["executions"].rows / manifest.tables["roots"].rows < 18
