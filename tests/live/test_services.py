"""The emulator's services on a live cluster: they receive samples of what real workers wrote."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.live.bridge import Policy
from storm_lab.live.processes import LiveWorker
from storm_lab.live.request import Known
from storm_lab.live.services import LiveServices
from storm_lab.live.suite.sittings import SITTINGS
from storm_lab.model import Assignment, Slot, executors_of
from storm_lab.model.version import V2_8_8
from storm_lab.monitoring.online_scheduling import OnlineScheduling
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.storm.default import DefaultScheduler
from tests.live.test_collect import CHAIN, PLAN, Files, opened


@dataclass(frozen=True)
class SampleKeeper:
    """A service that keeps the samples that it receives."""

    samples: list[Any] = field(default_factory=list)
    first: threading.Event = field(default_factory=threading.Event)

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        sampler.listen(self._keep)

    def _keep(self, sample: Any) -> None:
        self.samples.append(sample)
        self.first.set()


def test_a_service_receives_samples_even_without_workers():
    heard = SampleKeeper()
    whole = SITTINGS["calibration"].describe(V2_8_8, 2000.0)
    spec = replace(whole, topologies=(), services=(heard,), window_s=0.05)
    policy = Policy(DefaultScheduler(), Known(V2_8_8, spec.cluster))
    with LiveServices(spec, policy, {}, lambda: (), time.monotonic_ns()):
        assert heard.first.wait(10), "no sample came"
    assert heard.samples[0].traffic == {}


def test_a_schedule_generator_starts_its_clock_when_all_workers_are_ready(tmp_path: Path):
    slot = Slot("n1", 6700)
    whole = SITTINGS["calibration"].describe(V2_8_8, 2000.0)
    spec = replace(whole, topologies=(PLAN,), services=(OnlineScheduling(DefaultScheduler()),), window_s=0.05)
    policy = Policy(DefaultScheduler(), Known(V2_8_8, spec.cluster))
    placed = Assignment.of((executor, slot) for executor in executors_of(CHAIN, V2_8_8))
    policy.view = SchedulingView((CHAIN,), spec.cluster, V2_8_8, present=placed)
    Files(tmp_path).worker(11, 1000, *(opened(task, 1500) for task in (2, 3, 4)))
    workers = (LiveWorker(slot, 11, "chain-1-1", 0),)
    with LiveServices(spec, policy, {CHAIN.id: tmp_path}, lambda: workers, time.monotonic_ns()) as services:
        end = time.monotonic() + 10
        while not any(each.action == "start-clock" for each in services.decisions):
            assert time.monotonic() < end, services.decisions
            time.sleep(0.02)
