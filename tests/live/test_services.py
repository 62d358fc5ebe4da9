"""Services of the emulator beside a live cluster: they hear samples of what real workers wrote."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.service import Sampler
from storm_lab.live.bridge import Policy
from storm_lab.live.request import Known
from storm_lab.live.services import LiveServices
from storm_lab.live.suite.sittings import SITTINGS
from storm_lab.model.version import V2_8_8
from storm_lab.schedulers.storm.default import DefaultScheduler


@dataclass(frozen=True)
class Heard:
    """A service that keeps the samples that it hears."""

    samples: list[Any] = field(default_factory=list)
    first: threading.Event = field(default_factory=threading.Event)

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        sampler.listen(self._keep)

    def _keep(self, sample: Any) -> None:
        self.samples.append(sample)
        self.first.set()


def test_a_service_hears_a_sample_each_window_even_without_workers():
    heard = Heard()
    whole = SITTINGS["calibration"].describe(V2_8_8, 2000.0)
    spec = replace(whole, topologies=(), services=(heard,), window_s=0.05)
    policy = Policy(DefaultScheduler(), Known(V2_8_8, spec.cluster))
    with LiveServices(spec, policy, {}, lambda: (), time.monotonic_ns()):
        assert heard.first.wait(10), "no sample came"
    assert heard.samples[0].traffic == {}
