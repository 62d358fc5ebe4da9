"""Constants that recorded runs of real Storm measure directly, so that they need no fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storm_lab.calibration.search import Values
from storm_lab.emulator.cost import CostModel
from storm_lab.live.polls import EIGHT, INTERRUPTED, ONE, OWN_EIGHT, OWN_ONE
from storm_lab.live.sampler import LAN, LOOPBACK
from storm_lab.live.suite.measure import RunTables
from storm_lab.live.suite.scene import Half, Scene, half_of
from storm_lab.model.constant import constants_of
from storm_lab.model.machines import LIVE
from storm_lab.model.version import V1_0_0, V2_0_0, StormVersion
from storm_lab.runs.live_trust import Recorded, with_measured_jvm_start

_DEFAULT_LINKS: Values = {LAN: 11.0, LOOPBACK: 9.0}
"""Measured between namespaces, and between processes, of the machine of data/live/intel-xeon. Used for runs
that were recorded before plays measured their links (`storm_lab.live.sampler`).
"""
_DEFAULT_POLLS: Values = {ONE: 21.8, EIGHT: 5.65, OWN_ONE: 12.9, OWN_EIGHT: 4.04, INTERRUPTED: 0.34}
"""Measured on the machine of data/live/amd-epyc. Used for runs recorded before plays measured polls."""
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

    ``separate_waits_per_s`` are the ends of waits in a worker's housekeeping that the emulator plays
    separately; ``idle_jvm_share`` still includes them.
    """

    constants: Mapping[str, float | None]
    separate_waits_per_s: float

    @property
    def missing(self) -> tuple[str, ...]:
        """The constants that no run measures."""
        return tuple(name for name, value in self.constants.items() if value is None)

    def added_to(self, values: Values) -> Values:
        """Return the values with the measured ones, limited to their ranges and rounded to three digits."""
        measured = {name: value for name, value in self.constants.items() if value is not None}
        if "idle_jvm_share" in measured:
            played_cores = values.get("consumer_wake_us", 0.0) * self.separate_waits_per_s / 1e6
            measured["idle_jvm_share"] = max(0.0, measured["idle_jvm_share"] - played_cores)
        highest = {constant.name: constant.high for constant in constants_of(CostModel())}
        limited = {name: min(highest[name], float(f"{value:.3g}")) for name, value in measured.items()}
        return {**values, **limited}


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
    # Before 1.0 only workers without connections count: the emulator plays timers of connections separately.
    share = _median(
        [
            share
            for recorded, tables in pairs
            for share in tables.housekeeping_shares(calibrating(recorded), alone=storm < V1_0_0)
        ]
    )
    return Measurements(
        {
            "jvm_start_cpu_s": _median(starts_s),
            "compile_s": None if compiled_s is None else compiled_s * to_reference,
            "idle_jvm_share": None if share is None else share * to_reference,
        },
        next((waits for before, waits in _SEPARATE_WAITS_PER_S if storm < before), 0.0),
    )


def links_of(recorded: Sequence[Recorded]) -> dict[str, float]:
    """Return the time of a message between hosts, and within one, in us: the median over the runs."""
    return _conditions(recorded, _DEFAULT_LINKS)


def polls_of(recorded: Sequence[Recorded], storm: StormVersion) -> dict[str, float]:
    """Return what polls cost, on a core of the reference clock: the median over the runs.

    With n polling threads on a core each poll takes a + b / n of it. `look_us` is that of one thread, and
    `look_beside` what is left of it with many. Before 2.0 these are all that a poll takes of a core; later
    they are what the polling thread's clock counts, and `interrupt_part` is what interrupts take of others.
    """
    found = _conditions(recorded, _DEFAULT_POLLS)
    clocks = [each.mhz for each in recorded] or [CostModel().reference_mhz]
    one, eight = (OWN_ONE, OWN_EIGHT) if storm >= V2_0_0 else (ONE, EIGHT)
    many = max(0.0, (8 * found[eight] - found[one]) / 7)
    alone = found[one] * clocks[0] / CostModel().reference_mhz * LIVE
    polls = {"look_us": alone, "look_beside": min(1.0, many / found[one])}
    if storm >= V2_0_0:
        polls["interrupt_part"] = found[INTERRUPTED] / 2
    return {name: float(f"{value:.3g}") for name, value in polls.items()}


def _conditions(recorded: Sequence[Recorded], defaults: Values) -> dict[str, float]:
    conditions = [each.run.manifest.conditions for each in recorded]
    return {
        name: float(np.median([facts[name] for facts in conditions if name in facts] or [value]))
        for name, value in defaults.items()
    }


def compiler_seconds(runs: Sequence[RunTables], *, c1_only: bool = False) -> float | None:
    """Return the CPU of compilers in a worker from its first tuple on, in s: the median over workers.

    Workers count if their topology's code has been compiled (with ``c1_only``, by the first compiler alone);
    None if there are none.
    """
    least = _C1_COMPILED_AFTER if c1_only else _COMPILED_AFTER
    return _median([seconds for tables in runs for seconds in tables.compiler_seconds(least)])


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def calibrating(recorded: Recorded) -> tuple[Scene, ...]:
    """Return the scenes of the calibrating half of a recorded run."""
    return tuple(scene for scene in recorded.scenes if half_of(scene.name) is Half.CALIBRATES)
