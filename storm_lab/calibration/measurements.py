"""Constants that recorded runs of real Storm measure directly, so that they need no fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storm_lab.calibration.search import Values
from storm_lab.emulator.constant import constants_of
from storm_lab.emulator.cost import CostModel
from storm_lab.live.links import LAN, LOOPBACK
from storm_lab.live.suite.measure import RunTables
from storm_lab.live.suite.scene import Half, Scene, half_of
from storm_lab.model.machines import LIVE
from storm_lab.model.version import V1_0_0, V2_0_0
from storm_lab.runs.live_trust import Recorded, with_measured_jvm_start

_DEFAULT_LINKS: Values = {LAN: 11.0, LOOPBACK: 9.0}
"""Measured between namespaces, and between processes, of the machine of data/live/intel-xeon. Used for runs
that were recorded before plays measured their links (`storm_lab.live.links`).
"""
_SEPARATE_WAITS_PER_S = ((V1_0_0, 200.0), (V2_0_0, 2000.0))
"""Ends of waits per second in a worker's housekeeping that the emulator plays separately, before each
version. Two threads of the system executor wait 10 ms at a time; the two that flush batches in 1.x wait 1 ms.
"""
_COMPILED_AFTER, _C1_COMPILED_AFTER = 20_000, 2_000
"""Executions after which a topology's code has been compiled, except for rarely used parts: by both
compilers, and by the first one alone, which begins much earlier.
"""


@dataclass(frozen=True, slots=True)
class Measurements:
    """Constants that recorded runs measure, on a core of the reference clock; None where no run does.

    ``housekeeping`` are the cores that a worker's housekeeping takes, ``separate_waits_per_s`` the ends of
    waits in it that the emulator plays separately.
    """

    jvm_start_cpu_s: float | None
    compile_s: float | None
    housekeeping: float | None
    separate_waits_per_s: float

    @property
    def missing(self) -> tuple[str, ...]:
        """The constants that no run measures."""
        found = {
            "jvm_start_cpu_s": self.jvm_start_cpu_s,
            "compile_s": self.compile_s,
            "idle_jvm_share": self.housekeeping,
        }
        return tuple(name for name, value in found.items() if value is None)

    def added_to(self, values: Values) -> Values:
        """Return the values with the measured ones, limited to their ranges and rounded to three digits."""
        measured = {}
        if self.jvm_start_cpu_s is not None:
            measured["jvm_start_cpu_s"] = self.jvm_start_cpu_s
        if self.compile_s is not None:
            measured["compile_s"] = self.compile_s
        if self.housekeeping is not None:
            played_cores = values.get("consumer_wake_us", 0.0) * self.separate_waits_per_s / 1e6
            measured["idle_jvm_share"] = max(0.0, self.housekeeping - played_cores)
        highest = {constant.name: constant.high for constant in constants_of(CostModel())}
        return {
            **values,
            **{name: min(highest[name], float(f"{value:.3g}")) for name, value in measured.items()},
        }


def measurements_of(own: Sequence[Recorded]) -> Measurements:
    """Return what the runs of one generation measure; all have the clock of the first."""
    pairs = [(each, each.tables()) for each in own]
    storm = own[0].release.storm
    to_reference = own[0].mhz / CostModel().reference_mhz * LIVE
    starts_s = [
        with_measured_jvm_start(CostModel(), [each]).jvm_start_cpu_s
        for each in own
        if each.start_cpu_s is not None
    ]
    compiled_s = compiler_seconds([tables for _, tables in pairs], c1_only=own[0].sitting.c1_only)
    share = housekeeping_share(pairs, alone=storm < V1_0_0)
    return Measurements(
        jvm_start_cpu_s=float(np.median(starts_s)) if starts_s else None,
        compile_s=None if compiled_s is None else compiled_s * to_reference,
        housekeeping=None if share is None else share * to_reference,
        separate_waits_per_s=next((waits for before, waits in _SEPARATE_WAITS_PER_S if storm < before), 0.0),
    )


def links_of(recorded: Sequence[Recorded]) -> dict[str, float]:
    """Return the time of a message between hosts, and within one, in us: the median over the runs."""
    conditions = [each.run.manifest.conditions for each in recorded]
    return {
        name: float(np.median([facts[name] for facts in conditions if name in facts] or [us]))
        for name, us in _DEFAULT_LINKS.items()
    }


def compiler_seconds(runs: Sequence[RunTables], *, c1_only: bool = False) -> float | None:
    """Return the CPU of compilers in a worker from its first tuple on, in s: the median over workers.

    Workers count if their topology has executed `_COMPILED_AFTER` tuples, or with the first compiler alone
    `_C1_COMPILED_AFTER`; None if there are none.
    """
    least = _C1_COMPILED_AFTER if c1_only else _COMPILED_AFTER
    found = [seconds for tables in runs for seconds in tables.compiler_seconds(least)]
    return float(np.median(found)) if found else None


def housekeeping_share(runs: Sequence[tuple[Recorded, RunTables]], *, alone: bool) -> float | None:
    """Return the cores that a worker's housekeeping takes: the median over calibrating scenes, if any.

    With ``alone``, only workers without connections count: the emulator plays the timers of connections
    separately.
    """
    found = [
        share
        for recorded, tables in runs
        for share in tables.housekeeping_shares(calibrating(recorded), alone=alone)
    ]
    return float(np.median(found)) if found else None


def calibrating(recorded: Recorded) -> tuple[Scene, ...]:
    """Return the scenes of the calibrating half of a recorded run."""
    return tuple(scene for scene in recorded.scenes if half_of(scene.name) is Half.CALIBRATES)
