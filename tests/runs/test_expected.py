"""The expected cost of a reproduction, on few cores and on many, and the order of notebooks that follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from storm_lab.cli import cli
from storm_lab.machine.facts import usable_cores
from storm_lab.papers.registry import experiments
from storm_lab.runs import expected
from storm_lab.runs.execute import JOBS
from storm_lab.runs.expected import Cost, cost_text, expected_costs, notebooks_at_a_time
from storm_lab.runs.reproduce import costs_together, longest_first
from storm_lab.runs.study import Study

COSTS = (
    Cost(emulation_s=1200.0, metrics_s=60.0, notebook_s=180.0, disk_mb=500.0),
    Cost(1200.0, 60.0, 180.0, 700.0),
)


@pytest.mark.parametrize(
    ("cores", "said"),
    [
        # 2,400 s of emulation and 480 s of metrics and notebooks, one after the other.
        (1, "about 48 min on 1 core, 1.2 GB"),
        (2, "about 24 min on 2 cores, 1.2 GB"),
        # Emulation on all cores; notebooks four at a time.
        (8, "about 7 min on 8 cores, 1.2 GB"),
    ],
)
def test_the_expected_time_falls_with_the_number_of_cores(cores: int, said: str) -> None:
    assert cost_text(COSTS, cores) == said


def test_a_rewritten_table_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "_TABLE", tmp_path / "expected.csv")
    try:
        for cost in COSTS:
            expected.write_expected({"one": cost})
            assert expected.expected_costs() == {"one": cost}
    finally:
        expected.expected_costs.cache_clear()


def test_two_notebooks_run_at_a_time_and_a_few_more_on_many_cores() -> None:
    assert [notebooks_at_a_time(cores) for cores in (1, 2, 3, 64)] == [2, 2, 3, 4]


_ON_ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from storm_lab.machine.options import jobs_option
from storm_lab.papers.registry import experiments
from storm_lab.runs import expected
from storm_lab.runs.execute import JOBS
print(JOBS, jobs_option(lambda: None).__click_params__[0].default)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no process can be held to a core here")
def test_the_default_number_of_jobs_is_the_number_of_cores_that_the_process_may_use() -> None:
    assert usable_cores() == JOBS == len(os.sched_getaffinity(0))
    held = subprocess.run([sys.executable, "-c", _ON_ONE_CORE], capture_output=True, text=True, check=True)
    assert held.stdout.split() == ["1", "1"]


def test_help_says_how_many_runs_are_played_at_a_time() -> None:
    assert "one per core" in CliRunner().invoke(cli, ["reproduce", "--help"]).output


def test_the_longest_notebooks_start_first() -> None:
    studies = [Study.of(item.slug) for item in experiments()]
    places = longest_first(studies, range(len(studies)))
    seconds = [expected_costs()[studies[place].experiment.slug].notebook_s for place in places]
    assert seconds == sorted(seconds, reverse=True)
    assert sorted(places) == list(range(len(studies)))
    assert len(set(seconds)) > 1, "a table of equal numbers would prove nothing"


def test_runs_that_two_experiments_share_cost_time_once() -> None:
    alone, sharing = (Study.of(f"nstorm-{name}") for name in ("multi-migration", "delayed-kill"))
    first, second = (expected_costs()[study.experiment.slug] for study in (alone, sharing))
    keys, others = ({spec.key for spec in study.specs()} for study in (sharing, alone))
    assert keys & others, "an example without shared runs would prove nothing"
    assert costs_together([alone, Study.of("tstorm-log-stream")])[0] == first
    own = len(keys - others) / len(keys)
    assert costs_together([alone, sharing])[1].emulation_s == pytest.approx(second.emulation_s * own)
    assert costs_together([sharing])[0] == second
