"""What reproducing is expected to take, on few cores and on many."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from storm_lab.cli import cli
from storm_lab.machine.facts import usable_cores
from storm_lab.machine.options import jobs_option
from storm_lab.runs.execute import JOBS
from storm_lab.runs.expected import Cost, cost_text, notebooks_at_a_time

COSTS = (
    Cost(emulation_s=1200.0, metrics_s=60.0, notebook_s=180.0, disk_mb=500.0),
    Cost(1200.0, 60.0, 180.0, 700.0),
)


@pytest.mark.parametrize(
    ("cores", "said"),
    [
        # 2,400 s of emulation and 480 s of metrics and notebooks, one after the other.
        (1, "about 48 min on 1 cores, 1.2 GB"),
        (2, "about 24 min on 2 cores, 1.2 GB"),
        # Emulation on all cores; notebooks four at a time.
        (8, "about 7 min on 8 cores, 1.2 GB"),
    ],
)
def test_more_cores_take_less_time(cores: int, said: str) -> None:
    assert cost_text(COSTS, cores) == said


def test_notebooks_take_two_processes_and_on_many_cores_a_few_more() -> None:
    assert [notebooks_at_a_time(cores) for cores in (1, 2, 3, 64)] == [2, 2, 3, 4]


def test_runs_are_played_on_all_cores_that_the_process_may_use() -> None:
    assert JOBS == usable_cores() >= 1
    command = jobs_option(lambda: None)
    (option,) = command.__click_params__  # type: ignore[attr-defined]
    assert option.default == usable_cores()
    assert "one a core" in CliRunner().invoke(cli, ["reproduce", "--help"]).output
