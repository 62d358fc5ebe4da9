"""CPU that starting a worker's JVM took on real Storm, computed by hand and for recorded runs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean, median

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model.machines import LIVE
from storm_lab.runs.live_play import records_folder
from storm_lab.runs.live_trust import Recorded, costs_of, recorded_runs, start_cpu_s, with_measured_jvm_start
from storm_lab.tuplelog import Run, open_run
from tests.tuplelog.tiny import S, write_run

FITTED_ON = ("bare", "calls", "waiting", "light", "flood", "load")


def live_run(folder: Path, ready_s: dict[int, float], windows: list[tuple[int, float, float, float]]) -> Run:
    """Write a run: when workers are ready, and windows of worker, start, end and CPU seconds."""
    ready = [
        {"time_ns": round(at * S), "action": "worker-ready", "detail": json.dumps({"worker": worker})}
        for worker, at in ready_s.items()
    ]
    cpu = [
        {"start_ns": round(start * S), "end_ns": round(end * S), "node": "n1", "topology": "chain"}
        | {"worker": worker, "task": -1, "thread": "compiler", "cpu_ms": used * 1e3}
        for worker, start, end, used in windows
    ]
    write_run(folder, {"control": ready, "cpu": cpu}, duration_s=20, runtime="live", storm_version="0.9.2")
    return open_run(folder)


def test_start_cpu_is_counted_until_the_worker_is_ready(tmp_path: Path):
    """Worker 0 uses 1.5 s by 5 s, and half of the 0.8 s in the next second. Worker 1 is never ready."""
    run = live_run(
        tmp_path / "run",
        {0: 5.5},
        [(0, 1.0, 5.0, 1.5), (0, 5.0, 6.0, 0.8), (0, 6.0, 7.0, 0.9), (1, 2.0, 6.0, 3.0)],
    )
    assert start_cpu_s(run) == pytest.approx([1.9])


def test_a_worker_without_logged_cpu_is_left_out(tmp_path: Path):
    assert start_cpu_s(live_run(tmp_path / "run", {1: 5.0}, [(0, 1.0, 5.0, 1.5)])) == []


@cache
def all_recorded(machine: str) -> list[Recorded]:
    return recorded_runs(records_folder() / machine)


def recorded(machine: str, sitting: str) -> list[Recorded]:
    found = [each for each in all_recorded(machine) if each.sitting.name == sitting and each.label == "0.9"]
    assert found
    return found


def test_an_emulated_jvm_start_costs_what_the_compared_play_measured():
    """One of four floods is of a day on which starts took half as much again, and tuples a sixth more."""
    flood = recorded("amd-epyc", "flood")
    cost = costs_of(flood, records_folder() / "amd-epyc")[""]["0.9"]
    told = [with_measured_jvm_start(cost, [each]).jvm_start_cpu_s for each in flood]
    assert told == pytest.approx([each.start_cpu_s * each.mhz * LIVE / 2000.0 for each in flood])
    assert min(told[3] / each for each in told[:3]) > 1.4
    assert with_measured_jvm_start(cost, flood).jvm_start_cpu_s == pytest.approx(sum(told) / 4)


def test_the_jvm_start_constant_is_the_median_of_the_calibrating_plays():
    """Half of the calibrating plays take less, and half more."""
    own = [each for name in FITTED_ON for each in recorded("amd-epyc", name)]
    cost = costs_of(own, records_folder() / "amd-epyc")[""]["0.9"]
    took = sorted(with_measured_jvm_start(cost, [each]).jvm_start_cpu_s for each in own)
    assert cost.jvm_start_cpu_s == pytest.approx(median(took), rel=0.01)


def test_with_the_c1_compiler_alone_a_start_takes_half_of_the_cpu():
    for machine in ("amd-epyc", "amd-epyc-2445"):
        both, first = (
            fmean(each.start_cpu_s or 0.0 for each in recorded(machine, name)) for name in ("bare", "bare-c1")
        )
        assert first / both == pytest.approx(0.5, abs=0.05)


def test_costs_are_unchanged_if_no_worker_started(tmp_path: Path):
    play = replace(recorded("amd-epyc", "bare")[0], run=live_run(tmp_path / "run", {1: 5.0}, []))
    assert with_measured_jvm_start(CostModel(), [play]) == CostModel()
