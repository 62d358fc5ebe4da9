"""Which run of a paper is its largest: the one that executed most, or by its parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storm_lab.bench._pace import declared_size, executions_of, largest
from storm_lab.experiments.experiment import RunSpec
from storm_lab.model.version import V0_8_2
from storm_lab.runs.execute import PlannedRun, play
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import RunWriter
from tests.runs.tiny_runs import Described


def emulate(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """A log with two windows of one task's counters."""
    executed = np.array([3, int(str(spec.parameters["executed"]))])
    zeros = np.zeros(2, np.int64)
    writer.append(
        "counts",
        {
            "start_ns": zeros,
            "end_ns": zeros + 1,
            "topology": ["t", "t"],
            "component": ["c", "c"],
            "task": np.array([1, 1], np.int32),
            **dict.fromkeys(("emitted", "transferred", "acked", "failed", "execute_ns"), zeros),
            "executed": executed,
        },
    )
    writer.finish(duration_ns=1)


def spec(variant: str, **parameters: object) -> RunSpec:
    return RunSpec("pace-test", variant, 1, parameters, Described(emulate), V0_8_2)  # type: ignore[arg-type]


SMALL, LARGE, LONG = (
    spec("small", duration_s=100.0, lines_per_s=5.0, executed=10),
    spec("large", duration_s=100.0, lines_per_s=9.0, executed=20),
    spec("long", duration_s=1000.0, executed=15),
)


def test_without_runs_on_disk_seconds_times_rate_decide(tmp_path: Path) -> None:
    assert [declared_size(run) for run in (SMALL, LARGE, LONG)] == [500.0, 900.0, 1000.0]
    assert largest([SMALL, LARGE, LONG], tmp_path) == (LONG, "declared")


def test_what_was_recorded_decides_before_what_was_declared(tmp_path: Path) -> None:
    folders = [play(PlannedRun.of(run, tmp_path)) for run in (SMALL, LARGE, LONG)]
    assert [executions_of(folder) for folder in folders] == [13, 23, 18]
    assert executions_of(tmp_path / "nothing") == 0
    assert largest([SMALL, LARGE, LONG], tmp_path) == (LARGE, "recorded")


def test_a_parameter_that_says_nothing_counts_as_one() -> None:
    # R-Storm's saturated spouts have a rate of 0: as fast as they can.
    assert declared_size(spec("saturated", duration_s=90.0, lines_per_s=0.0, executed=1)) == pytest.approx(
        90.0
    )
