"""CPU that starting a worker's JVM took on real Storm, computed by hand and for recorded runs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model.machines import LIVE
from storm_lab.runs.live_play import records_folder
from storm_lab.runs.live_trust import (
    Recorded,
    costs_of,
    recorded_runs,
    start_cpu_s,
    with_measured_jvm_start,
)
from storm_lab.tuplelog import Run, RunIdentity, RunWriter, open_run

S = 1_000_000_000
FITTED_ON = ("bare", "calls", "waiting", "light", "flood", "load")


def live_run(folder: Path, ready_s: dict[int, float], windows: list[tuple[int, float, float, float]]) -> Run:
    """Write a run: when workers are ready, and windows of worker, start, end and CPU seconds."""
    identity = RunIdentity("t", "t", {"mhz": 2000.0}, 1, "0.9.2", "c", "l", {}, runtime="live")
    with RunWriter(folder, identity) as log:
        log.append(
            "control",
            {
                "time_ns": [round(at * S) for at in ready_s.values()],
                "actor": [f"worker:{worker}" for worker in ready_s],
                "action": ["worker-ready"] * len(ready_s),
                "subject": ["n1:6700"] * len(ready_s),
                "reason": [""] * len(ready_s),
                "detail": [json.dumps({"worker": worker}) for worker in ready_s],
            },
        )
        log.append(
            "cpu",
            {
                "start_ns": np.array([round(start * S) for _, start, _, _ in windows]),
                "end_ns": np.array([round(end * S) for _, _, end, _ in windows]),
                "node": ["n1"] * len(windows),
                "topology": ["chain"] * len(windows),
                "worker": np.array([worker for worker, _, _, _ in windows], np.int32),
                "component": [""] * len(windows),
                "task": np.full(len(windows), -1, np.int32),
                "thread": ["compiler"] * len(windows),
                "cpu_ms": np.array([used * 1e3 for _, _, _, used in windows]),
            },
        )
        log.finish(duration_ns=20 * S, conditions={})
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
    found = [
        each for each in all_recorded(machine) if each.sitting.name == sitting and each.generation == "0.9"
    ]
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
