"""Benchmark of the schedulers by size: its figures are complete, and T-Storm is as fast as promised."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from storm_lab.bench.schedulers import (
    HEURISTICS,
    Timing,
    bench_schedulers,
    bench_schedulers_command,
    growth_exponent,
    growth_text,
)
from storm_lab.schedulers import scheduler_names


def timing(executors: int, seconds: float) -> Timing:
    return Timing("x", "2.8.8", executors, executors // 10, 0, seconds, 1, 1)


def test_the_growth_exponent_of_quadratic_times_is_two() -> None:
    quadratic = [timing(n, 1e-7 * n * n) for n in (300, 1000, 3000, 10_000)]
    assert growth_exponent(quadratic) == pytest.approx(2.0)
    assert growth_exponent(quadratic[:1]) is None


def test_every_heuristic_of_the_project_is_timed() -> None:
    assert set(HEURISTICS) <= set(scheduler_names())
    growths = bench_schedulers(sizes=[(100, 10), (200, 20)])
    assert {growth.scheduler for growth in growths} == set(HEURISTICS)
    assert all(t.scheduled_topologies == t.topologies for growth in growths for t in growth.timings)
    assert len(list(growth_text(growths))) == len(growths) + 1


def test_the_command_prints_json() -> None:
    result = CliRunner().invoke(
        bench_schedulers_command, ["--json", "--scheduler", "even", "--most-executors", "300"]
    )
    assert result.exit_code == 0, result.output
    even = json.loads(result.output)["schedulers"][0]
    assert [t["executors"] for t in even["timings"]] == [100, 300]


@pytest.mark.slow
def test_tstorm_schedules_ten_thousand_executors_on_a_thousand_nodes_in_under_five_seconds() -> None:
    (growth,) = bench_schedulers(["tstorm"], [(1000, 100), (10_000, 1000)])
    assert growth.timings[-1].seconds < 5.0
    assert growth.exponent is not None
    assert growth.exponent < 2.0
